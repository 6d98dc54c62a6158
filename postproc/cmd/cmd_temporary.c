#include "cmd.h"
#include "reports.h"
#include "temporary.h"

struct args {
    struct mpr_args common;
    struct mpr_temporary_options temporary;
};

static const struct mpr_option options[] = {
    { "by", 'b', MPR_BY_WORDS, "group by " MPR_BY_HELP, MPR_TO_BY(struct args, temporary.by) },
    { "heap", 0, "NAME", MPR_HEAP_HELP, MPR_TO_HEAP(struct args, temporary.heap) },
    { "within", 0, "TIME",
      "blocks that lived at most this long are temporary, such as 50us or 2s (default: 1ms)",
      MPR_TO_LENGTH(struct args, temporary.within_ns) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .doc =
        "Shows the code that allocates blocks which are freed soon: the number of these blocks, all bytes that the code allocated, and the median lifetime."
        "\vExamples:\n"
        "  memprof-report temporary memprof.n03.4242.zst\n"
        "  memprof-report temporary --within 50us --heap host/heap LOG",
    .options = options,
    .has_stacks = true,
};

static int make(struct mpr_log_report *report)
{
    const struct args *a = (const struct args *)report->args;
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
    struct args a = { mpr_args_default(), { .by = MPR_GROUP_AUTO, .within_ns = 1000000 } };
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    return mpr_log_report_run(&a.common, a.temporary.heap, make);
}
