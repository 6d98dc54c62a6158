/* leaks, steps and temporary: what grows over the time of a run, and what is freed soon. */
#include <string.h>

#include "cmd.h"
#include "leaks.h"
#include "lifetimes.h"
#include "reports.h"
#include "steps.h"

/* ---- leaks */

struct leaks_args {
    struct mpr_args common;
    struct mpr_leaks_options leaks;
    const char *at;
};

static const struct mpr_option leaks_options[] = {
    { "by", 'b', MPR_BY_WORDS, "group by " MPR_BY_HELP, MPR_TO_BY(struct leaks_args, leaks.by) },
    { "at", 0, "TIME", "live blocks at TIME, and growth up to it: " MPR_INSTANTS " (default: end)",
      MPR_TO_INSTANT(struct leaks_args, at) },
    { "range", 0, "NAME",
      "measure growth from instance to instance of this range (step, \"epoch > step\"), with or "
      "without numbers (default: the outermost range that repeats)",
      MPR_TO_TEXT(struct leaks_args, leaks.range) },
    { "every", 0, "TIME", "measure growth by the clock, every 1s or 500ms for example",
      MPR_TO_LENGTH(struct leaks_args, leaks.every) },
    { "heap", 0, "NAME", MPR_HEAP_HELP, MPR_TO_HEAP(struct leaks_args, leaks.heap) },
    { 0 },
};

static const struct mpr_cmdline leaks_cmdline = {
    .doc =
        "Shows the live blocks at the end, or at another time, by site and range, and the sites that grow with each instance of a repeated range."
        "\vExamples:\n"
        "  memprof-report leaks memprof.n03.4242.zst\n"
        "  memprof-report leaks --range request --by stack LOG\n"
        "  memprof-report leaks --every 1s --at 00:10:00 LOG",
    .options = leaks_options,
    .has_stacks = true,
};

static int make_leaks(struct mpr_log_report *report)
{
    struct leaks_args *a = (struct leaks_args *)report->args;
    struct mpr_leaks leaks;
    a->leaks.at_end = strcmp(a->at, "end") == 0;
    if ((!a->leaks.at_end &&
         mpr_instant_find(a->at, 0, report->path, a->leaks.heap, &report->progress, &a->leaks.at,
                          &report->error) != 0) ||
        mpr_leaks_read(&leaks, report->path, &a->leaks, &report->progress, &report->error) != 0)
        return -1;
    mpr_report_leaks(mpr_log_report_begin(report), &leaks);
    mpr_log_report_end(report, leaks.peaks.log[0].summary.incomplete);
    mpr_leaks_free(&leaks);
    return 0;
}

int mpr_cmd_leaks(int argc, char **argv)
{
    struct leaks_args a = { mpr_args_default(), .leaks = { .by = MPR_GROUP_AUTO }, .at = "end" };
    mpr_cmdline_parse(&leaks_cmdline, argc, argv, &a);
    return mpr_log_report_run(&a.common, a.leaks.heap, make_leaks);
}

/* ---- steps */

struct steps_args {
    struct mpr_args common;
    struct mpr_steps_options steps;
};

static const struct mpr_option steps_options[] = {
    { "range", 0, "NAME",
      "the range whose instances are shown: its name or path (step, \"epoch > step\"), with or without "
      "numbers (default: the outermost range that repeats)",
      MPR_TO_TEXT(struct steps_args, steps.instances.range) },
    { "by", 'b', MPR_BY_WORDS, "compare the outlier with the median instance by " MPR_BY_HELP,
      MPR_TO_BY(struct steps_args, steps.by) },
    { "heap", 0, "NAME", MPR_HEAP_HELP, MPR_TO_HEAP(struct steps_args, steps.instances.heap) },
    { 0 },
};

static const struct mpr_cmdline steps_cmdline = {
    .doc =
        "Shows the peak and the kept bytes of each instance of a repeated range, such as a training step, and the outliers among them."
        "\vExamples:\n"
        "  memprof-report steps memprof.n03.4242.zst\n"
        "  memprof-report steps --range \"epoch > step\" --heap gpu0/torch LOG\n"
        "  memprof-report steps --by thread LOG\n"
        "  memprof-report steps --unfold --format csv LOG",
    .options = steps_options,
    .has_stacks = true,
};

static int make_steps(struct mpr_log_report *report)
{
    const struct steps_args *a = (const struct steps_args *)report->args;
    struct mpr_steps steps;
    if (mpr_steps_read(&steps, report->path, &a->steps, &report->progress, &report->error) != 0)
        return -1;
    mpr_report_steps(mpr_log_report_begin(report), &steps);
    mpr_log_report_end(report, steps.instances.summary.incomplete);
    mpr_steps_free(&steps);
    return 0;
}

int mpr_cmd_steps(int argc, char **argv)
{
    struct steps_args a = { mpr_args_default(), .steps = { .by = MPR_GROUP_AUTO } };
    mpr_cmdline_parse(&steps_cmdline, argc, argv, &a);
    return mpr_log_report_run(&a.common, a.steps.instances.heap, make_steps);
}

/* ---- temporary */

struct temporary_args {
    struct mpr_args common;
    struct mpr_temporary_options temporary;
};

static const struct mpr_option temporary_options[] = {
    { "by", 'b', MPR_BY_WORDS, "group by " MPR_BY_HELP,
      MPR_TO_BY(struct temporary_args, temporary.by) },
    { "heap", 0, "NAME", MPR_HEAP_HELP, MPR_TO_HEAP(struct temporary_args, temporary.heap) },
    { "within", 0, "TIME",
      "blocks that lived at most this long are temporary, such as 50us or 2s (default: 1ms)",
      MPR_TO_LENGTH(struct temporary_args, temporary.within_ns) },
    { 0 },
};

static const struct mpr_cmdline temporary_cmdline = {
    .doc =
        "Shows the code that allocates blocks which are freed soon: the number of these blocks, all bytes that the code allocated, and the median lifetime."
        "\vExamples:\n"
        "  memprof-report temporary memprof.n03.4242.zst\n"
        "  memprof-report temporary --within 50us --heap host/heap LOG",
    .options = temporary_options,
    .has_stacks = true,
};

static int make_temporary(struct mpr_log_report *report)
{
    const struct temporary_args *a = (const struct temporary_args *)report->args;
    struct mpr_temporary temporary;
    if (mpr_temporary_read(&temporary, report->path, &a->temporary, &report->progress,
                           &report->error) != 0)
        return -1;
    mpr_report_temporary(mpr_log_report_begin(report), &temporary);
    mpr_log_report_end(report, temporary.peaks.log[0].summary.incomplete);
    mpr_temporary_free(&temporary);
    return 0;
}

int mpr_cmd_temporary(int argc, char **argv)
{
    struct temporary_args a = { mpr_args_default(),
                                { .by = MPR_GROUP_AUTO, .within_ns = 1000000 } };
    mpr_cmdline_parse(&temporary_cmdline, argc, argv, &a);
    return mpr_log_report_run(&a.common, a.temporary.heap, make_temporary);
}
