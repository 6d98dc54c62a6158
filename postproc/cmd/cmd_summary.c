/* summary: what happened, on one screen; with --all every finding. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "cmd.h"
#include "insights.h"
#include "ranks.h"
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

/* The ranks of the job that the reported log belongs to. */
struct job {
    struct mpr_digests digests;
    struct mpr_ranks ranks;
    bool exists;
};

enum { MANY = 8 }; /* digests take long to make */

/* Compares the ranks of the log's run, if the log is that of one of several ranks. */
static void read_job(struct job *job, const struct mpr_log_report *report,
                     const struct mpr_processes *all)
{
    const struct mpr_process_run *run = mpr_processes_run_of(all, report->path);
    const char **path = mpr_alloc(all->count, sizeof *path);
    size_t paths = 0;
    bool is_rank = false;
    for (size_t i = 0; run && i < all->count; i++) {
        if (!*all->at[i].summary.process.rank || !mpr_process_is_in(&all->at[i], run)) continue;
        path[paths++] = all->at[i].summary.path;
        is_rank |= strcmp(all->at[i].summary.path, report->path) == 0;
    }
    if (paths > 1 && is_rank) {
        mpr_digests_add(&job->digests, path, paths, &report->args->output);
        mpr_digests_say_made(&job->digests, MANY);
        mpr_ranks_make(&job->ranks, job->digests.at, job->digests.count);
        job->exists = job->ranks.ranks > 1;
    }
    free(path);
}

/* A run of several processes has findings about them. */
static int make(struct mpr_log_report *report)
{
    const struct args *args = (const struct args *)report->args;
    const struct mpr_paths *logs = &report->args->logs.given;
    struct mpr_processes run = { 0 };
    struct job job = { .exists = false };
    struct mpr_insights insights;
    if (logs->count > 1)
        mpr_processes_read(&run, (const char *const *)logs->at, logs->count, &report->progress);
    const int status = mpr_insights_read(&insights, report->path, run.count ? &run : NULL, false,
                                         &report->progress, &report->error);
    if (status == 0) {
        read_job(&job, report, &run);
        if (job.exists) mpr_ranks_findings(&job.ranks, &insights);
        struct mpr_document *doc = mpr_log_report_begin(report);
        if (args->all) mpr_report_insights(doc, &insights);
        else mpr_report_summary(doc, &insights, job.exists ? &job.ranks : NULL);
        mpr_log_report_end(report, insights.peaks.log[0].summary.incomplete);
        mpr_insights_free(&insights);
    }
    mpr_ranks_free(&job.ranks);
    mpr_digests_free(&job.digests);
    mpr_processes_free(&run);
    return status;
}

int mpr_cmd_summary(int argc, char **argv)
{
    struct args args = { .common = mpr_args_default() };
    mpr_cmdline_parse(&cmdline, argc, argv, &args);
    return mpr_log_report_run(&args.common, MPF_HEAP_NONE, make);
}
