#include "run.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "library.h"
#include "logs.h"
#include "oom.h"
#include "report.h"
#include "run_id.h"
#include "settings.h"
#include "target.h"
#include "tell.h"
#include "thinner.h"
#include "tree.h"

struct options {
    const char *directory;
    struct mpl_settings settings;
    char run_id[MPF_RUN_ID];
    char *journal_dir; /* absolute, as the library requires; malloc'ed */
    bool quiet, no_recover, digest, symbols;
    char **command;
};

enum { OPT_JOURNAL_DIR = 256, OPT_NO_RECOVER, OPT_DIGEST, OPT_SYMBOLS };

static const struct argp_option argp_options[] = {
    { "output", 'o', "DIR", 0,
      "Directory for the logs, created if it does not exist (default: memprof.PROGRAM.PID)", 0 },
    { "journal-dir", OPT_JOURNAL_DIR, "DIR", 0,
      "Directory for the journals, while the processes run", 0 },
    { "no-recover", OPT_NO_RECOVER, NULL, 0,
      "Leave the journals of killed processes next to their logs", 0 },
    { "digest", OPT_DIGEST, NULL, 0,
      "After the command has ended, store a summary of each log's reports next to it, as LOG.digest",
      0 },
    { "symbols", OPT_SYMBOLS, NULL, 0,
      "After the command has ended, store the names of the calls in each log's native stacks next to it, as "
      "LOG.symbols. Reports use them on machines without the program's files",
      0 },
    { "quiet", 'q', NULL, 0, "Print only errors", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->settings; return 0;
    case 'o': o->directory = arg; return 0;
    case 'q': o->quiet = true; return 0;
    case OPT_JOURNAL_DIR:
        free(o->journal_dir);
        o->journal_dir = realpath(arg, NULL);
        if (!o->journal_dir) argp_failure(state, MPL_STATUS_FAILURE, errno, "%s", arg);
        return 0;
    case OPT_NO_RECOVER: o->no_recover = true; return 0;
    case OPT_DIGEST: o->digest = true; return 0;
    case OPT_SYMBOLS: o->symbols = true; return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "expected a command"); return 0;
    case ARGP_KEY_ARG:
        o->command = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpl_settings_argp, 0, NULL, 0 }, { 0 } };
static const struct argp argp = {
    .options = argp_options,
    .parser = parse,
    .children = children,
    .args_doc = "-- COMMAND [ARGUMENT...]",
    .doc =
        "Records the memory of a command and of all processes that it starts, one log each, in one directory."
        "\vExamples:\n"
        "  memprof run -- python3 train.py\n"
        "  memprof run -o logs --program 'python*' -- ./job.sh\n"
        "  memprof run --stacks=all -- ./server\n"
        "  memprof-report logs\n\n"
        "Exit status: that of the command, or 128 plus the number of the signal that ended it; 127 if the command does "
        "not exist, 126 if it cannot be executed, 2 for wrong usage, 1 if memprof fails or the command cannot be "
        "recorded.",
};

/* ---- before the command */

static int open_logs(struct mpl_logs *logs, const struct options *o,
                     const struct mpl_target *target)
{
    char reason[PATH_MAX + 256];
    if (mpl_logs_open(logs, o->directory, mpl_target_name(target->path), getpid(), reason,
                      sizeof reason) == 0) {
        logs->run = o->run_id;
        return 0;
    }
    mpl_say("%s", reason);
    return -1;
}

/* ---- while the command runs */

/* Returns true if the launcher reports on each process at the end, so that the processes print
 * nothing. */
static bool launcher_reports(const struct options *o)
{
    return !o->no_recover && !getenv("MEMPROF_SUMMARY");
}

/* Records a process tree, even inside another recorded process. */
static int run_command(const struct options *o, const struct mpl_target *target,
                       const char *preload, const char *template, bool thins, struct mpl_tree *tree)
{
    struct mpl_variable variables[10 + MPL_SETTINGS], *v = variables;
    char *const asan =
        mpl_library_asan_options(&target->object, getenv("LD_PRELOAD"), getenv("ASAN_OPTIONS"));
    *v++ = (struct mpl_variable){ "LD_PRELOAD", preload };
    *v++ = (struct mpl_variable){ "MEMPROF_ROOT", NULL };
    if (template) *v++ = (struct mpl_variable){ "MEMPROF_OUT", template };
    v += mpl_settings_variables(&o->settings, v);
    *v++ = (struct mpl_variable){ "MEMPROF_RUN", o->run_id };
    if (o->journal_dir) *v++ = (struct mpl_variable){ "MEMPROF_JOURNAL_DIR", o->journal_dir };
    if (thins) *v++ = (struct mpl_variable){ "MEMPROF_FOLDER", "1" };
    if (template && launcher_reports(o)) *v++ = (struct mpl_variable){ "MEMPROF_SUMMARY", "0" };
    if (o->quiet) *v++ = (struct mpl_variable){ "MEMPROF_QUIET", "1" };
    if (asan) *v++ = (struct mpl_variable){ "ASAN_OPTIONS", asan };
    *v = (struct mpl_variable){ 0 };
    const int status =
        mpl_child_run(&(struct mpl_command){ target->path, o->command, variables }, tree);
    free(asan);
    return status;
}

/* Runs the prepared command and reports its end. Returns its wait status, or -1. */
static int record(const struct options *o, const struct mpl_target *target, const char *library,
                  const char *preload, struct mpl_logs *logs)
{
    char *template = logs ? mpl_logs_template(logs) : NULL;
    const long kills = mpl_oom_kills();
    const char *keep = logs ? mpl_settings_keep(&o->settings) : NULL;
    const pid_t thinner = keep ? mpl_thinner_start(logs->path, o->run_id) : -1;
    struct mpl_tree tree;
    mpl_tree_open(&tree, mpl_target_name(library), logs ? logs->dir : -1, o->run_id);
    const int status = run_command(o, target, preload, template, thinner > 0, &tree);
    mpl_thinner_end(thinner);
    free(template);
    if (status < 0) {
        mpl_say("%s: cannot start it: %s", o->command[0], strerror(errno));
        mpl_tree_close(&tree, false);
        return status;
    }
    if (!o->quiet) {
        mpl_tell_end(o->command[0], status);
        mpl_tell_oom(&tree, kills >= 0 ? mpl_oom_kills() - kills : 0);
        mpl_tell_unseen(&tree);
    }
    if (logs) mpl_logs_survey(logs, !o->no_recover);
    mpl_tree_close(&tree, logs && (logs->count || logs->running));
    if (!logs) return status;
    if (o->symbols) mpl_report_symbols(logs);
    if (o->digest) mpl_report_digest(logs);
    if (!o->quiet)
        mpl_tell_logs(logs, o->directory ? o->directory : mpl_target_name(logs->path),
                      launcher_reports(o));
    mpl_logs_close(logs);
    return status;
}

static int prepare_and_record(const struct options *o, const struct mpl_target *target, int *status)
{
    char library[PATH_MAX], reason[PATH_MAX + 256];
    struct mpl_logs logs;
    /* the user's template may lead to any directory, so no directory is read afterwards */
    const bool directory_known = o->directory || !getenv("MEMPROF_OUT");
    if (mpl_library_find(library, reason, sizeof reason) != 0) {
        mpl_say("%s", reason);
        return -1;
    }
    if (directory_known && o->no_recover && mpl_settings_keep(&o->settings)) {
        mpl_say(
            "--no-recover cannot be combined with --keep or MEMPROF_KEEP, because thinned logs must be merged");
        return -1;
    }
    if (!directory_known && (o->digest || o->symbols)) {
        mpl_say(
            "--%s needs --output, because MEMPROF_OUT is set and memprof does not search the paths that it "
            "names",
            o->digest ? "digest" : "symbols");
        return -1;
    }
    if (directory_known && open_logs(&logs, o, target) != 0) return -1;
    const bool by_name =
        mpl_settings_cuda(&o->settings, "interpose") ||
        (mpl_library_below_nsys(target->path) && !mpl_settings_cuda(&o->settings, "off"));
    char *preload = mpl_library_preload(library, &target->object, getenv("LD_PRELOAD"), by_name);
    *status = preload ? record(o, target, library, preload, directory_known ? &logs : NULL) : -1;
    free(preload);
    return *status < 0 ? -1 : 0;
}

static int exit_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? MPL_STATUS_SIGNAL + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
}

int mpl_run(int argc, char **argv)
{
    struct options o = { 0 };
    struct mpl_target target;
    argv[0] = (char *)"memprof run"; /* the name in its messages */
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o) != 0) return MPL_STATUS_FAILURE;
    mpl_run_id(o.run_id, mpl_settings_run(&o.settings));
    const int refusal = mpl_target_find(&target, o.command[0]);
    if (refusal) mpl_say("%s: %s", o.command[0], target.reason);
    int status = 0;
    const bool failed = refusal || prepare_and_record(&o, &target, &status) != 0;
    mpl_target_close(&target);
    free(o.journal_dir);
    if (refusal) return refusal;
    return failed ? MPL_STATUS_FAILURE : exit_status(status);
}
