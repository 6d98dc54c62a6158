/* log info, verify, recover and symbolize. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "arena.h"
#include "cmd.h"
#include "info.h"
#include "recover.h"
#include "reports.h"
#include "summary.h"
#include "symbolize.h"
#include "units.h"
#include "utf8.h"

/* ---- info */

static const struct mpr_cmdline info_cmdline = {
    .doc =
        "Shows the header of a log, its events by kind, threads, ranges and losses, and memprof's own memory."
        "\vExamples:\n  memprof-report log info memprof.n03.4242.zst\n  memprof-report log info --format json LOG",
};

static int make_info(struct mpr_log_report *report)
{
    struct mpr_info info;
    if (mpr_info_read(&info, report->path, &report->progress, &report->error) != 0) return -1;
    mpr_report_info(mpr_log_report_begin(report), &info);
    mpr_log_report_end(report, info.summary.incomplete);
    mpr_info_free(&info);
    return 0;
}

int mpr_cmd_info(int argc, char **argv)
{
    struct mpr_args a = mpr_args_default();
    mpr_cmdline_parse(&info_cmdline, argc, argv, &a);
    return mpr_log_report_run(&a, MPF_HEAP_NONE, make_info);
}

/* ---- verify */

static const struct mpr_cmdline verify_cmdline = {
    .doc =
        "Checks every frame of each log, and prints the offset and the time up to which the log is good."
        "\vExamples:\n  memprof-report log verify memprof.n03.4242.zst\n  memprof-report log verify logs/",
    .exit = "0 good, 1 failure, 2 wrong usage, 3 a log is incomplete",
};

struct verified {
    struct mpr_arena arena;
    struct mpr_summary *log;
    size_t logs, cap;
    bool incomplete;
};

static int verify(void *to, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error)
{
    struct verified *v = to;
    MPR_GROW(v->log, v->logs, v->cap);
    if (mpr_summary_read(&v->log[v->logs], &v->arena, path, progress, error) != 0) return -1;
    v->incomplete |= v->log[v->logs++].incomplete;
    return 0;
}

int mpr_cmd_verify(int argc, char **argv)
{
    struct mpr_args a = mpr_args_default();
    struct mpr_document doc;
    struct verified verified = { 0 };
    int status = MPR_EXIT_FAILURE;
    mpr_cmdline_parse(&verify_cmdline, argc, argv, &a);
    mpr_logs_choose(&a.logs);
    mpr_logs_each(&a.logs, verify, &verified);
    if (verified.logs) {
        mpr_output_begin(&a.output, &doc);
        mpr_report_verify(&doc, verified.log, verified.logs);
        status = mpr_output_document(&a.output, &doc, verified.incomplete);
    }
    free(verified.log);
    mpr_arena_free(&verified.arena);
    return mpr_args_close(&a, status);
}

/* ---- recover */

struct recover_args {
    struct mpr_args common;
    bool dead;
};

static const struct mpr_option recover_options[] = {
    { "dead", 0, NULL,
      "the process has ended, and if the log is a copy, it had ended before the copy was made; for "
      "logs whose files do not show it",
      MPR_TO_FLAG(struct recover_args, dead) },
    { 0 },
};

static const struct mpr_cmdline recover_cmdline = {
    .doc =
        "Merges the journal of a dead process into its log, ends the log and removes the journal."
        "\vReports also read a log together with its journal. A recovered log can be moved without the "
        "journal. Logs of processes that may still run and logs of other users are not changed.\n\n"
        "Example:\n  memprof-report log recover memprof.n03.4242.zst",
    .exit = "0 fine, 1 failure, 2 wrong usage",
    .options = recover_options,
    .takes = MPR_TAKES_PATHS,
    .no_output = true,
};

static int recover(void *args, const char *path, const struct mpr_progress *progress,
                   struct mpr_error *error)
{
    const struct recover_args *a = args;
    struct mpr_recovery recovery;
    (void)progress;
    if (mpr_recover(path, a->dead, &recovery, error) != 0) return -1;
    const char *merged = recovery.merged ? "; LOG.fold was merged into it" : "";
    mpr_utf8_write_escaped(stdout, path);
    switch (recovery.outcome) {
    case MPR_RECOVER_WHOLE: printf(": already complete%s\n", merged); break;
    case MPR_RECOVER_NOTHING:
        printf(": no journal found%s\n", *merged ? merged : "; the log was not changed");
        break;
    case MPR_RECOVER_DONE:
        printf(": %" PRIu64 " events recovered%s\n", recovery.events, merged);
        break;
    }
    if (*recovery.left.text) mpr_cmd_error(&recovery.left);
    return 0;
}

int mpr_cmd_recover(int argc, char **argv)
{
    struct recover_args a = { 0 };
    mpr_cmdline_parse(&recover_cmdline, argc, argv, &a);
    mpr_logs_each(&a.common.logs, recover, &a);
    const int status = fflush(stdout) == 0 ? MPR_EXIT_FINE : MPR_EXIT_FAILURE;
    return mpr_args_close(&a.common, status);
}

/* ---- symbolize */

struct symbolize_args {
    struct mpr_args common;
    bool quiet, incomplete;
};

static const struct mpr_option symbolize_options[] = {
    { "quiet", 'q', NULL, "print only errors", MPR_TO_FLAG(struct symbolize_args, quiet) },
    { 0 },
};

static const struct mpr_cmdline symbolize_cmdline = {
    .doc =
        "Stores the names of the calls in each log's native stacks next to it, as LOG.symbols: function, file, line and inlined "
        "calls. Reports use them if the program's files are missing: on another machine, or when the container is gone."
        "\vRun it on the machine where the program ran, as memprof run --symbols does. Copy LOG.symbols with LOG. Stored names "
        "that cannot be found any more stay in the file.\n\n"
        "Example:\n"
        "  memprof-report log symbolize logs/",
    .options = symbolize_options,
    .no_output = true,
};

static int symbolize(void *args, const char *log, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct symbolize_args *a = args;
    struct mpr_arena arena = { 0 };
    struct mpr_symbolized s;
    struct mpr_number named, calls, objects, size;
    const int status = mpr_symbolize(&s, &arena, log, progress, error);
    mpr_bar_clear();
    a->incomplete |= s.incomplete;
    if (status == 0 && !a->quiet) {
        mpr_utf8_write_escaped(stdout, log);
        if (!s.calls) printf(": no native call stacks in this log\n");
        else if (!s.bytes) printf(": no call has a name, so nothing was stored\n");
        else
            printf(".symbols: %s of %s calls, in %s object file%s; %s\n",
                   mpr_units_count(&named, s.named), mpr_units_count(&calls, s.calls),
                   mpr_units_count(&objects, s.objects), s.objects == 1 ? "" : "s",
                   mpr_units_size(&size, s.bytes));
        for (size_t i = 0; i < s.notes; i++) {
            fputs("  ", stdout);
            mpr_utf8_write_escaped(stdout, s.note[i]);
            putchar('\n');
        }
        if (s.left_out)
            printf("  %s calls were omitted, because the file has no room for them\n",
                   mpr_units_count(&calls, s.left_out));
    }
    mpr_arena_free(&arena);
    return status;
}

int mpr_cmd_symbolize(int argc, char **argv)
{
    struct symbolize_args a = { 0 };
    mpr_cmdline_parse(&symbolize_cmdline, argc, argv, &a);
    mpr_logs_choose(&a.common.logs);
    mpr_logs_each(&a.common.logs, symbolize, &a);
    if (fflush(stdout) != 0) a.common.logs.failed = true;
    return mpr_args_close(&a.common, a.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE);
}
