#include "cmd.h"
#include "diff.h"
#include "reports.h"
#include "verdict.h"

struct args {
    struct mpr_args common;
    struct mpr_peaks_options peaks;
    size_t base;       /* number of operands, from the first one, that are runs of the base */
    const char *at[2]; /* the base's instant, and the new side's or NULL if it is the same */
    bool has_new;      /* --new was given */
};

static void begin_new(void *value, const struct mpr_given *given)
{
    struct args *a = value;
    if (a->has_new)
        argp_error(given->state, "expected --%s once, because there are two sides",
                   given->option->name);
    a->has_new = true;
    a->base = a->common.operands;
}

static void set_at(void *value, const struct mpr_given *given)
{
    struct args *a = value;
    if (a->at[1])
        argp_error(given->state, "expected --%s at most twice, once for each side",
                   given->option->name);
    mpr_set_instant(&a->at[a->at[0] != NULL], given);
}

/* Without --new the second of two runs is the new one.  With two instants one run may be both. */
static void check(void *args, struct argp_state *state)
{
    struct args *a = args;
    const size_t runs = a->common.operands;
    const bool twice = a->at[1] && runs == 1 && !a->has_new;
    if (!a->has_new) a->base = 1;
    if (!twice && (!a->base || a->base >= runs || (!a->has_new && runs != 2)))
        argp_error(state, "expected BASE NEW, or BASE... --new NEW..., or --at TIME --at TIME LOG");
}

static const struct mpr_option options[] = {
    { "new", 0, NULL,
      "the runs after it are the new side; several runs of a side show how much runs differ without a "
      "change",
      .set = begin_new },
    { "by", 'b', MPR_BY_WORDS, "group by " MPR_BY_HELP, MPR_TO_BY(struct args, peaks.by) },
    { "heap", 0, "NAME", MPR_HEAP_HELP, MPR_TO_HEAP(struct args, peaks.heap) },
    { "at", 0, "TIME",
      "compare at TIME (" MPR_INSTANTS
      "), not at the peak of each heap; a second --at is for the new side, and with it one log can be "
      "both sides",
      .set = set_at },
    { "backward-of", 0, NULL, MPR_BACKWARD_OF_HELP, MPR_TO_FLAG(struct args, peaks.backward_of) },
    { "no-inherit", 0, NULL, MPR_NO_INHERIT_HELP, MPR_TO_FLAG(struct args, peaks.no_inherit) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .operands = "BASE NEW\nBASE... --new NEW...\n--at TIME --at TIME LOG",
    .doc =
        "Shows the differences between two runs, or between two sides of several runs: the peak of each heap, and the rows that "
        "grew or shrank in it."
        "\vA run is a log or a directory. From a directory, diff takes the log of the process that failed first, else the log with "
        "the largest peak, or the one that --rank and --pid select. Rows are matched by range, or by function and file, whatever "
        "their line number.\n\n"
        "Examples:\n"
        "  memprof-report diff base.zst new.zst\n"
        "  memprof-report diff --heap gpu0/torch --by stack base.zst new.zst\n"
        "  memprof-report diff --at step:6.end --at step:7.end run.zst\n"
        "  memprof-report diff base1.zst base2.zst base3.zst --new new1.zst new2.zst",
    .exit = "0 fine, even if the runs differ, 1 failure, 2 wrong usage, 3 a log is incomplete",
    .options = options,
    .takes = MPR_TAKES_PROCESSES,
    .in_order = true,
    .check = check,
    .has_stacks = true,
};

/* Returns true if a run of either side has the heap. */
static bool any_has_heap(const struct args *a)
{
    const struct mpr_logs *selected = &a->common.logs;
    struct mpr_logs all = { .pid = selected->pid, .rank = selected->rank, .heap = a->peaks.heap };
    bool good = true;
    if (!all.heap) return true;
    for (size_t i = 0; good && i < a->common.operands; i++)
        good = mpr_paths_add(&all.paths, a->common.operand[i]);
    good = good && mpr_logs_choose(&all);
    return mpr_logs_close(&all, good ? MPR_EXIT_FINE : MPR_EXIT_FAILURE) == MPR_EXIT_FINE;
}

/* Adds the one log of a run to a side. */
static bool add_run(struct mpr_diff *diff, const struct args *a, const char *run, bool base)
{
    const char *at = a->at[base || !a->at[1] ? 0 : 1];
    struct mpr_logs logs = { .pid = a->common.logs.pid,
                             .rank = a->common.logs.rank,
                             .heap = a->peaks.heap,
                             .heap_may_be_absent = true };
    struct mpr_instant instant;
    struct mpr_error error;
    bool good = false;
    logs.failed = !mpr_paths_add(&logs.paths, run);
    const char *path = mpr_logs_one(&logs);
    if (path) {
        const struct mpr_progress progress = mpr_bar();
        good = mpr_instant_find(at, MPR_PEAK_TIME, path, a->peaks.heap, &progress, &instant,
                                &error) == 0 &&
               mpr_diff_add(diff, base, path, instant, &progress, &error) == 0;
        mpr_bar_clear();
        if (!good) mpr_cmd_error(&error);
    }
    return mpr_logs_close(&logs, good ? MPR_EXIT_FINE : MPR_EXIT_FAILURE) == MPR_EXIT_FINE;
}

int mpr_cmd_diff(int argc, char **argv)
{
    struct args a = { .common = mpr_args_default(),
                      .peaks = { .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK } };
    struct mpr_document doc;
    struct mpr_diff diff;
    int status = MPR_EXIT_FAILURE;
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    bool good = any_has_heap(&a);
    mpr_diff_init(&diff, &a.peaks);
    for (size_t i = 0; good && i < a.common.operands; i++)
        good = add_run(&diff, &a, a.common.operand[i], i < a.base);
    if (good && a.common.operands == 1) good = add_run(&diff, &a, a.common.operand[0], false);
    if (good) {
        mpr_diff_finish(&diff, a.common.output.naming.user_frames);
        struct mpr_verdict verdict;
        const struct mpr_progress progress = mpr_bar();
        mpr_verdict_read(&verdict, &diff, &a.common.output.naming, &progress);
        mpr_bar_clear();
        mpr_output_begin(&a.common.output, &doc);
        mpr_report_diff(&doc, &diff, &verdict);
        status = mpr_output_document(&a.common.output, &doc, mpr_peaks_incomplete(&diff.peaks));
        mpr_verdict_free(&verdict);
    }
    mpr_diff_free(&diff);
    return mpr_args_close(&a.common, status);
}
