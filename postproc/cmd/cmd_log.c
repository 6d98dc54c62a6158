/* log info, verify, recover and symbolize. */
#include <inttypes.h>
#include <stdio.h>

#include "arena.h"
#include "cmd.h"
#include "info.h"
#include "recover.h"
#include "reports.h"
#include "symbolize.h"
#include "units.h"
#include "utf8.h"
#include "verify.h"

/* ---- info */

static const struct mpr_cmdline info_cmdline = {
    .doc =
        "Shows what a log holds: its header, events by kind, threads, ranges, losses, and memprof's own memory."
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
        "Checks every frame of each log and says up to which offset and time it is good."
        "\vExamples:\n  memprof-report log verify memprof.n03.4242.zst\n  memprof-report log verify logs/",
    .exit = "0 good, 1 failure, 2 wrong usage, 3 a log is incomplete",
};

static int add_verified(void *to, const char *path, const struct mpr_progress *progress,
                        struct mpr_error *error)
{
    return mpr_verify_add(to, path, progress, error);
}

int mpr_cmd_verify(int argc, char **argv)
{
    struct mpr_args a = mpr_args_default();
    struct mpr_document doc;
    struct mpr_verify verify = { 0 };
    int status = MPR_EXIT_FAILURE;
    mpr_cmdline_parse(&verify_cmdline, argc, argv, &a);
    mpr_logs_choose(&a.logs);
    mpr_logs_each(&a.logs, add_verified, &verify);
    if (verify.logs) {
        mpr_output_begin(&a.output, &doc);
        mpr_report_verify(&doc, &verify);
        status = mpr_output_document(&a.output, &doc, verify.incomplete);
    }
    mpr_verify_free(&verify);
    return mpr_args_close(&a, status);
}

/* ---- recover */

struct recover_args {
    struct mpr_args common;
    bool dead;
};

static const struct mpr_option recover_options[] = {
    { "dead", 0, NULL,
      "The process has ended, and if the log is a copy, had ended before it was copied: for logs that do not show it",
      MPR_TO_FLAG(struct recover_args, dead) },
    { 0 },
};

static const struct mpr_cmdline recover_cmdline = {
    .doc =
        "Folds the journal of a dead process into its log, ends the log and removes the journal."
        "\vReports read a journal beside its log anyway; this makes the log stand alone, for example before it is moved. "
        "A process that may still run is left alone, and so are logs of other users.\n\n"
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
    const char *merged = recovery.merged ? "; its fold is in it now" : "";
    mpr_utf8_write_escaped(stdout, path);
    switch (recovery.outcome) {
    case MPR_RECOVER_WHOLE: printf(": complete already%s\n", merged); break;
    case MPR_RECOVER_NOTHING:
        printf(": no journal found%s\n", *merged ? merged : "; the log stays as it is");
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
    { "quiet", 'q', NULL, "print nothing but errors", MPR_TO_FLAG(struct symbolize_args, quiet) },
    { 0 },
};

static const struct mpr_cmdline symbolize_cmdline = {
    .doc =
        "Stores beside each log, as LOG.symbols, the names of the calls in its native stacks: function, file, line and "
        "inlined calls. Reports take them from there where the program's files are not: on another machine, or when the "
        "container is gone."
        "\vRun it where the program ran; memprof run --symbols does. Copy LOG.symbols with LOG. Names that cannot be "
        "found any more, but are in the file already, stay in it.\n\n"
        "Example:\n"
        "  memprof-report log symbolize logs/",
    .options = symbolize_options,
    .no_output = true,
};

static void say_symbolized(const char *log, const struct mpr_symbolized *s)
{
    struct mpr_number named, calls, objects, size;
    mpr_utf8_write_escaped(stdout, log);
    if (!s->calls) printf(": no native call stacks in it\n");
    else if (!s->bytes) printf(": no call has a name, and nothing is stored\n");
    else
        printf(".symbols: %s of %s calls, in %s object file%s; %s\n",
               mpr_units_count(&named, s->named), mpr_units_count(&calls, s->calls),
               mpr_units_count(&objects, s->objects), s->objects == 1 ? "" : "s",
               mpr_units_size(&size, s->bytes));
    for (size_t i = 0; i < s->notes; i++) {
        fputs("  ", stdout);
        mpr_utf8_write_escaped(stdout, s->note[i]);
        putchar('\n');
    }
    if (s->left_out)
        printf("  %s calls are left out, for the file has no room for them\n",
               mpr_units_count(&calls, s->left_out));
}

static int symbolize(void *args, const char *log, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct symbolize_args *a = args;
    struct mpr_arena arena = { 0 };
    struct mpr_symbolized symbolized;
    const int status = mpr_symbolize(&symbolized, &arena, log, progress, error);
    mpr_bar_clear();
    a->incomplete |= symbolized.incomplete;
    if (status == 0 && !a->quiet) say_symbolized(log, &symbolized);
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
