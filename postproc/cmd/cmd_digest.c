#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "basename.h"
#include "cmd.h"
#include "database.h"
#include "digest_file.h"
#include "digests.h"
#include "file.h"
#include "logs.h"
#include "options.h"

struct arguments {
    struct mpr_logs logs;
    struct mpr_output output;
    bool incomplete;
};

static void set_output(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    if (strcmp(text, "-") == 0) argp_error(state, "--%s=-: a digest needs a file", name);
    a->output.path = text;
}

static const struct mpr_option options[] = {
    { "output", 'o', "FILE", "write the one digest there; what was there is replaced",
      .set = set_output },
    { 0 },
};

static const struct mpr_takes takes = {
    .doc =
        "Writes beside each log, as LOG.digest, what reports say of it: a small database of SQLite, for ranks and for "
        "questions to many processes at once. One that was made of the log as it is now stays as it is."
        "\vExamples:\n"
        "  memprof-report digest logs/\n"
        "  memprof-report digest -o rank7.digest memprof.n03.4242.zst\n"
        "  memprof-report ranks logs/\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    .options = options,
    .which = &mpr_logs_argp,
    .logs = offsetof(struct arguments, logs),
    .no_output = true,
};

/* Returns 1 if LOG.digest is as new as the log, -1 with *error filled if that file is not a digest,
 * or one that this program cannot make, else 0.  Another process may make
 * the digest at any time, so a file that was missing when it was read is not looked for again. */
static int leave(const char *log, const char *path, struct mpr_error *error)
{
    struct mpr_arena arena = { 0 };
    struct mpr_digest old;
    const char *why;
    const enum mpr_digest_found found = mpr_digests_read(&old, log, path, &arena, &why);
    int left = 0;
    if (found == MPR_DIGEST_GOOD) {
        left = mpr_digests_is_fresh(&old, log);
        mpr_digest_free(&old);
    } else if (found != MPR_DIGEST_DAMAGED && found != MPR_DIGEST_MISSING)
        left = mpr_fail(error, "%s: %s: it stays, remove it or give -o FILE", path, why);
    mpr_arena_free(&arena);
    return left;
}

static int make(struct arguments *a, const char *log, const struct mpr_database_place *place,
                const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_digest digest;
    if (mpr_digests_make(&digest, log, &a->output, progress, error) != 0) return -1;
    a->incomplete |= digest.process->incomplete;
    const char *why = mpr_digest_write(&digest, place);
    mpr_digest_free(&digest);
    if (!why || strcmp(why, MPR_FILE_BUSY) == 0) return 0; /* it will be there all the same */
    return mpr_fail(error, "%s: cannot write: %s", place->path, why);
}

/* In a folder that others may not change, and for those who may read the log: a digest has its
 * names. */
static int make_beside(struct arguments *a, const char *log, const char *path,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    struct stat st;
    const char *name;
    const int directory = mpr_file_directory(path, &name, error);
    if (directory < 0) return -1;
    const bool known = fstatat(directory, mpr_basename(log), &st, 0) == 0;
    const struct mpr_database_place place = { path, directory, known ? st.st_mode & 0666 : 0600 };
    const int status = make(a, log, &place, progress, error);
    close(directory);
    return status;
}

static int add_beside(struct arguments *a, const char *log, const struct mpr_progress *progress,
                      struct mpr_error *error)
{
    char *path = mpr_digests_beside(log);
    const int left = leave(log, path, error),
              status = left ? left : make_beside(a, log, path, progress, error);
    free(path);
    return status < 0 ? -1 : 0;
}

static int add(void *to, const char *log, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    struct arguments *a = to;
    const struct mpr_database_place named = { a->output.path, AT_FDCWD, 0666 };
    return named.path ? make(a, log, &named, progress, error) : add_beside(a, log, progress, error);
}

static bool is_usable(const struct arguments *a)
{
    if (!mpr_database_available())
        mpr_cmd_say("built without SQLite: install its header (apt-get install libsqlite3-dev), "
                    "then configure and build memprof again");
    else if (a->output.path && a->logs.paths.count > 1)
        mpr_cmd_say("--output=%s is for one log, and there are %zu", a->output.path,
                    a->logs.paths.count);
    else return true;
    return false;
}

int mpr_cmd_digest(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    mpr_logs_choose(&a.logs);
    if (is_usable(&a)) mpr_logs_each(&a.logs, add, &a);
    else a.logs.failed = true;
    return mpr_logs_close(&a.logs, a.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE);
}
