#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "compact.h"
#include "follow.h"
#include "options.h"
#include "recover.h"
#include "units.h"
#include "utf8.h"

struct arguments {
    char **path; /* ended by NULL */
    struct keeping {
        struct mpf_keep keep;
        bool given;
    } keeping;
    const char *run; /* NULL: logs of any */
    struct following {
        bool on;
        pid_t process; /* 0: those of the logs */
    } following;
};

static void set_keep(void *value, char *text, const char *name, struct argp_state *state)
{
    struct keeping *k = value;
    k->given = mpf_keep_read(text, &k->keep);
    if (!k->given) argp_error(state, "--%s=%s: " MPF_KEEP_WANTED, name, text);
}

static void set_follow(void *value, char *text, const char *name, struct argp_state *state)
{
    struct following *f = value;
    f->on = true;
    if (!text) return;
    const long pid = *text && !text[strspn(text, "0123456789")] ? strtol(text, NULL, 10) : 0;
    if (pid <= 0 || (pid_t)pid != pid)
        argp_error(state, "--%s=%s: a process is wanted", name, text);
    f->process = (pid_t)pid;
}

static const struct mpr_option options[] = {
    { "keep", 0, "SIZE|TIME",
      "How much of each log is kept: 2G in all, or 30min of its newest time whole (default: what MEMPROF_KEEP was when it was recorded)",
      MPR_TO(set_keep, struct keeping, struct arguments, keeping) },
    { "follow", 0, "PID",
      "Go on until the logs' processes have ended, at the lowest priority; with PID, as long as that process runs",
      MPR_TO(set_follow, struct following, struct arguments, following), .optional = true },
    { "run", 0, "ID",
      "Touch only logs of that run and this machine that were recorded with MEMPROF_KEEP",
      MPR_TO_TEXT(struct arguments, run) },
    { 0 },
};

static error_t take(void *arguments, int key, char *text, struct argp_state *state)
{
    struct arguments *a = arguments;
    (void)text;
    if (key != ARGP_KEY_ARGS) return ARGP_ERR_UNKNOWN;
    a->path = state->argv + state->next;
    return 0;
}

static const struct mpr_takes takes = {
    .options = options,
    .word = take,
    .words = "LOG|DIR...",
    .need = MPR_NEED_LOG,
    .no_output = true,
    .doc =
        "Keeps logs within a size or a time, also while their processes run: the newest part stays whole, what is older is "
        "thinned into LOG.fold, and its room is given back."
        "\vOnce a process has ended its log and LOG.fold are made one file, as memprof-report recover does it. Until then "
        "the two belong together.\n\n"
        "Example:\n  memprof-report compact --keep 2G logs\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage.",
};

static void tell(const char *path, const struct mpr_compaction *done)
{
    struct mpr_number before, after;
    if (done->outcome == MPR_COMPACT_OTHER) return;
    mpr_utf8_escaped(stdout, path);
    switch (done->outcome) {
    case MPR_COMPACT_LITTLE: puts(": what is older is not worth folding"); break;
    case MPR_COMPACT_READ: puts(": somebody reads it; not folded now"); break;
    case MPR_COMPACT_OTHER: break;
    case MPR_COMPACT_FOLDED:
        printf(": %s are folded, to %s\n", mpr_units_size(&before, done->before),
               mpr_units_size(&after, done->after));
        break;
    }
}

static int compact(const char *path, const struct mpf_keep *keep, const char *run)
{
    struct mpr_compaction done;
    struct mpr_recovery recovery;
    struct mpr_error error;
    if (mpr_compact(path, keep, run, &done, &error) != 0 ||
        (done.ended && mpr_recover(path, false, &recovery, &error) != 0)) {
        mpr_cmd_error(&error);
        return -1;
    }
    tell(path, &done);
    return 0;
}

static int compact_all(char *const *argument, const struct mpf_keep *keep, const char *run)
{
    struct mpr_paths paths = { 0 };
    bool failed = false;
    for (; *argument; argument++) failed |= !mpr_paths_add(&paths, *argument);
    for (size_t i = 0; i < paths.count; i++) failed |= compact(paths.at[i], keep, run) != 0;
    mpr_paths_free(&paths);
    return failed ? -1 : 0;
}

int mpr_cmd_compact(int argc, char **argv)
{
    struct arguments a = { 0 };
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    const struct mpf_keep *keep = a.keeping.given ? &a.keeping.keep : NULL;
    const int result = a.following.on ? mpr_follow(a.path, keep, a.run, a.following.process)
                                      : compact_all(a.path, keep, a.run);
    return result != 0 || fflush(stdout) != 0 ? MPR_EXIT_FAILURE : MPR_EXIT_FINE;
}
