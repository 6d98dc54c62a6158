/* Digests of logs: those that ranks and summary read, and the command log digest. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "amount.h"
#include "basename.h"
#include "cmd.h"
#include "digest.h"
#include "exports.h"
#include "file.h"
#include "processes.h"
#include "reports.h"

static const char ending[] = ".digest";

static int make_digest(struct mpr_digest *d, const char *log, const struct mpr_output *output,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_digest_words words = { &output->naming, mpr_report_ending, mpr_finding_text };
    return mpr_digest_make(d, log, &words, progress, error);
}

/* Reads LOG.digest.  If the log exists, a digest is trusted only if the log's owner, this user or
 * root owns it. */
static enum mpr_digest_found read_digest(struct mpr_digest *d, const char *log, const char *path,
                                         struct mpr_arena *arena, const char **why)
{
    struct stat st;
    *why = "it belongs to neither the log's owner, nor you, nor root";
    if (stat(path, &st) == 0 && access(log, F_OK) == 0 && !mpr_file_trusted(&st, log))
        return MPR_DIGEST_FOREIGN;
    return mpr_digest_read(d, path, arena, why);
}

/* ---- digests for ranks */

static void fail(struct mpr_digests *all, const char *path, const char *why)
{
    mpr_cmd_say("%s: %s", path, why);
    all->failed = true;
}

/* A list of logs, each of which may exist, or its digest, or both. */
struct log_names {
    char **at;
    size_t count, cap;
};

/* Adds the name of a log, or of its digest without the ending.  Takes ownership of the text. */
static void add_name(struct log_names *logs, char *path)
{
    if (mpr_path_ends_with(path, ending)) path[strlen(path) - strlen(ending)] = 0;
    *MPR_ADD(logs->at, logs->count, logs->cap) = path;
}

static void add_operand(struct log_names *logs, struct mpr_digests *all, const char *operand)
{
    struct stat st;
    if (stat(operand, &st) != 0 || !S_ISDIR(st.st_mode)) {
        add_name(logs, mpr_text_copy(operand));
        return;
    }
    DIR *dir = opendir(operand);
    const size_t before = logs->count;
    if (!dir) {
        fail(all, operand, strerror(errno));
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (mpr_path_ends_with(entry->d_name, ending) || mpr_path_ends_with(entry->d_name, ".zst"))
            add_name(logs, mpr_text_format("%s/%s", operand, entry->d_name));
    closedir(dir);
    if (logs->count == before)
        fail(all, operand, "this directory has neither digests (*.digest) nor logs (*.zst)");
}

MPR_COMPARE(by_name, char *, strcmp(*a, *b))

static void add_digest(struct mpr_digests *all, const char *log, const struct mpr_output *output,
                       const struct mpr_progress *progress)
{
    struct mpr_arena arena = { 0 };
    struct mpr_error error;
    const char *why;
    char *path = mpr_text_format("%s%s", log, ending);
    const bool log_exists = access(log, F_OK) == 0;
    MPR_GROW(all->at, all->count, all->cap);
    struct mpr_digest *d = &all->at[all->count];
    const bool good = read_digest(d, log, path, &arena, &why) == MPR_DIGEST_GOOD;
    if (good && (!log_exists || mpr_digest_is_fresh(d, log))) all->count++;
    else {
        if (good) mpr_digest_free(d);
        if (!log_exists) fail(all, access(path, F_OK) == 0 ? path : log, why);
        else if (make_digest(d, log, output, progress, &error) == 0) {
            all->count++;
            all->made++;
        } else {
            mpr_cmd_error(&error);
            all->failed = true;
        }
    }
    mpr_arena_free(&arena);
    free(path);
}

void mpr_digests_add(struct mpr_digests *all, const char *const *operand, size_t operands,
                     const struct mpr_output *output)
{
    const struct mpr_progress progress = mpr_bar();
    struct log_names logs = { 0 };
    for (size_t i = 0; i < operands; i++) add_operand(&logs, all, operand[i]);
    if (logs.count) qsort(logs.at, logs.count, sizeof *logs.at, by_name);
    for (size_t i = 0; i < logs.count; i++)
        if (!i || strcmp(logs.at[i - 1], logs.at[i]) != 0)
            add_digest(all, logs.at[i], output, &progress);
    mpr_bar_clear();
    for (size_t i = 0; i < logs.count; i++) free(logs.at[i]);
    free(logs.at);
}

void mpr_digests_say_made(const struct mpr_digests *all, size_t max)
{
    if (all->made > max)
        mpr_cmd_say(
            "%zu of %zu digests were made for this report only; memprof-report log digest stores them",
            all->made, all->count);
}

void mpr_digests_free(struct mpr_digests *all)
{
    for (size_t i = 0; i < all->count; i++) mpr_digest_free(&all->at[i]);
    free(all->at);
}

/* ---- the job of a rank */

void mpr_job_read(struct mpr_job *job, const char *log, const struct mpr_processes *all,
                  const struct mpr_output *output)
{
    enum { MANY = 8 }; /* digests take long to make */
    const struct mpr_process_run *run = mpr_processes_run_of(all, log);
    const char **path = mpr_alloc(all->count, sizeof *path);
    size_t paths = 0;
    bool is_rank = false;
    for (size_t i = 0; run && i < all->count; i++) {
        if (!*all->at[i].summary.process.rank || !mpr_process_is_in(&all->at[i], run)) continue;
        path[paths++] = all->at[i].summary.path;
        is_rank |= strcmp(all->at[i].summary.path, log) == 0;
    }
    if (paths > 1 && is_rank) {
        mpr_digests_add(&job->digests, path, paths, output);
        mpr_digests_say_made(&job->digests, MANY);
        mpr_ranks_make(&job->ranks, job->digests.at, job->digests.count);
        job->exists = job->ranks.ranks > 1;
    }
    free(path);
}

void mpr_job_free(struct mpr_job *job)
{
    mpr_ranks_free(&job->ranks);
    mpr_digests_free(&job->digests);
}

/* ---- log digest */

struct args {
    struct mpr_args common;
    bool incomplete;
};

static void set_output(void *value, const struct mpr_given *given)
{
    struct args *a = value;
    if (strcmp(given->text, "-") == 0)
        argp_error(given->state, "--%s=- is not available: a digest needs a file",
                   given->option->name);
    a->common.output.path = given->text;
}

static const struct mpr_option options[] = {
    { "output", 'o', "FILE", "write the digest of one log to FILE, and replace an existing file",
      .set = set_output },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .doc =
        "Writes a summary of each log's reports next to it, as LOG.digest: a small SQLite database, for ranks and for queries "
        "over many processes. A digest that is up to date is not written again."
        "\vExamples:\n"
        "  memprof-report log digest logs/\n"
        "  memprof-report log digest -o rank7.digest memprof.n03.4242.zst\n"
        "  memprof-report ranks logs/",
    .options = options,
    .no_output = true,
};

/* Returns 1 if LOG.digest is up to date, and -1 with *error filled if that file is not a digest, or
 * one that this program cannot make.  Otherwise returns 0.  Reads the file only once, because
 * another process may make it at any time. */
static int is_stored(const char *log, const char *path, struct mpr_error *error)
{
    struct mpr_arena arena = { 0 };
    struct mpr_digest old;
    const char *why;
    const enum mpr_digest_found found = read_digest(&old, log, path, &arena, &why);
    int stored = 0;
    if (found == MPR_DIGEST_GOOD) {
        stored = mpr_digest_is_fresh(&old, log);
        mpr_digest_free(&old);
    } else if (found != MPR_DIGEST_DAMAGED && found != MPR_DIGEST_MISSING)
        stored = mpr_fail(error, "%s: %s; this file was not changed. Remove it, or give -o FILE",
                          path, why);
    mpr_arena_free(&arena);
    return stored;
}

static int store(struct args *a, const char *log, const struct mpr_database_place *place,
                 const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_digest digest;
    if (make_digest(&digest, log, &a->common.output, progress, error) != 0) return -1;
    a->incomplete |= digest.process->incomplete;
    const char *why = mpr_digest_write(&digest, place);
    mpr_digest_free(&digest);
    if (!why || strcmp(why, MPR_FILE_BUSY) == 0) return 0; /* another process writes it just now */
    return mpr_fail(error, "%s: cannot write: %s", place->path, why);
}

/* Stores the digest in --output, or as LOG.digest in a directory that other users cannot change.
 * LOG.digest gets the log's read permissions, because it has the log's names. */
static int add(void *to, const char *log, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    struct args *a = to;
    const struct mpr_database_place named = { a->common.output.path, AT_FDCWD, 0666 };
    struct stat st;
    const char *name;
    if (named.path) return store(a, log, &named, progress, error);
    char *path = mpr_text_format("%s%s", log, ending);
    int status = is_stored(log, path, error);
    if (status == 0) {
        const int directory = mpr_file_directory(path, &name, error);
        const bool known = directory >= 0 && fstatat(directory, mpr_basename(log), &st, 0) == 0;
        const struct mpr_database_place place = { path, directory,
                                                  known ? st.st_mode & 0666 : 0600 };
        status = directory < 0 ? -1 : store(a, log, &place, progress, error);
        if (directory >= 0) close(directory);
    }
    free(path);
    return status < 0 ? -1 : 0;
}

int mpr_cmd_digest(int argc, char **argv)
{
    struct args a = { .common = mpr_args_default() };
    struct mpr_logs *logs = &a.common.logs;
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    const char *path = a.common.output.path;
    mpr_logs_choose(logs);
    if (!mpr_database_available()) {
        mpr_cmd_say(MPR_NO_SQLITE);
        logs->failed = true;
    } else if (path && logs->paths.count > 1) {
        mpr_cmd_say("--output=%s takes the digest of one log, and there are %zu logs", path,
                    logs->paths.count);
        logs->failed = true;
    } else mpr_logs_each(logs, add, &a);
    return mpr_args_close(&a.common, a.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE);
}
