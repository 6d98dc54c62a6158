#include "cmd.h"
#include "options.h"
#include "recover.h"
#include "utf8.h"

struct arguments {
    struct mpr_paths paths;
    bool dead, failed;
};

static const struct mpr_option options[] = {
    { "dead", 0, NULL,
      "The process has ended, and if the log is a copy, had ended before it was copied: for logs that do not show it",
      MPR_TO_FLAG(struct arguments, dead) },
    { 0 },
};

static error_t add(void *arguments, int key, char *text, struct argp_state *state)
{
    struct arguments *a = arguments;
    (void)state;
    if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
    a->failed |= !mpr_paths_add(&a->paths, text);
    return 0;
}

static const struct mpr_takes takes = {
    .options = options,
    .word = add,
    .words = "LOG|DIR...",
    .need = MPR_NEED_LOG,
    .no_output = true,
    .doc =
        "Folds the journal of a dead process into its log, ends the log and removes the journal."
        "\vReports read a journal beside its log anyway; this makes the log stand alone, for example before it is moved. "
        "A process that may still run is left alone, and so are logs of other users.\n\n"
        "Example:\n  memprof-report recover memprof.n03.4242.zst\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage.",
};

static int recover(const char *path, bool dead)
{
    struct mpr_error error;
    struct mpr_recovery recovery;
    if (mpr_recover(path, dead, &recovery, &error) != 0) {
        mpr_cmd_error(&error);
        return -1;
    }
    const char *merged = recovery.merged ? "; its fold is in it now" : "";
    mpr_utf8_escaped(stdout, path);
    switch (recovery.outcome) {
    case MPR_RECOVER_WHOLE: printf(": complete already%s\n", merged); break;
    case MPR_RECOVER_NOTHING:
        printf(": no journal found%s\n", *merged ? merged : "; the log stays as it is");
        break;
    case MPR_RECOVER_DONE:
        printf(": %llu events recovered%s\n", (unsigned long long)recovery.events, merged);
        break;
    }
    if (*recovery.left.text) mpr_cmd_error(&recovery.left);
    return 0;
}

int mpr_cmd_recover(int argc, char **argv)
{
    struct arguments a = { 0 };
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    for (size_t i = 0; i < a.paths.count; i++) a.failed |= recover(a.paths.at[i], a.dead) != 0;
    mpr_paths_free(&a.paths);
    return a.failed || fflush(stdout) != 0 ? MPR_EXIT_FAILURE : MPR_EXIT_FINE;
}
