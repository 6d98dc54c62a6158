/* summary: what happened, on one screen; with --all every finding. */
#include "cmd.h"
#include "insights.h"
#include "processes.h"
#include "reports.h"

struct args {
    struct mpr_args common;
    bool all;
};

static const struct mpr_option options[] = {
    { "all", 0, NULL,
      "show all findings instead of the summary, each with its numbers, advice, and the bytes that it "
      "would save",
      MPR_TO_FLAG(struct args, all) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .doc =
        "Shows an overview on one screen: how the process ended, the peaks of devices and heaps, the owners of the largest heap, "
        "and the largest findings. The name of this command is optional: memprof-report LOG."
        "\vExamples:\n"
        "  memprof-report memprof.n03.4242.zst\n"
        "  memprof-report logs/\n"
        "  memprof-report summary --all --format json LOG",
    .options = options,
    .has_stacks = true,
};

/* A run of several processes has findings about them. */
static int make(struct mpr_log_report *report)
{
    const struct args *args = (const struct args *)report->args;
    const struct mpr_paths *logs = &report->args->logs.given;
    struct mpr_processes run = { 0 };
    struct mpr_job job = { .exists = false };
    struct mpr_insights insights;
    if (logs->count > 1)
        mpr_processes_read(&run, (const char *const *)logs->at, logs->count, &report->progress);
    const int status = mpr_insights_read(&insights, report->path, run.count ? &run : NULL, false,
                                         &report->progress, &report->error);
    if (status == 0) {
        mpr_job_read(&job, report->path, &run, &args->common.output);
        if (job.exists) mpr_ranks_findings(&job.ranks, &insights);
        struct mpr_document *doc = mpr_log_report_begin(report);
        if (args->all) mpr_report_insights(doc, &insights);
        else mpr_report_summary(doc, &insights, job.exists ? &job.ranks : NULL);
        mpr_log_report_end(report, insights.peaks.log[0].summary.incomplete);
        mpr_insights_free(&insights);
    }
    mpr_job_free(&job);
    mpr_processes_free(&run);
    return status;
}

int mpr_cmd_summary(int argc, char **argv)
{
    struct args args = { .common = mpr_args_default() };
    mpr_cmdline_parse(&cmdline, argc, argv, &args);
    return mpr_log_report_run(&args.common, MPF_HEAP_NONE, make);
}
