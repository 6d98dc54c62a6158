/* insights, and the summary, which shows the same in short. */
#include "cmd.h"
#include "insights.h"
#include "reports.h"

static struct mpr_insights insights;
static struct mpr_processes family; /* count 0: one log was given */

static void read_family(const struct mpr_paths *paths, const struct mpr_progress *progress)
{
    mpr_processes_read(&family, (const char *const *)paths->at, paths->count, progress);
}

static void *read_log(void *chosen, const char *path, const struct mpr_progress *progress,
                      bool *incomplete, struct mpr_error *error)
{
    (void)chosen;
    const struct mpr_processes *run = family.count ? &family : NULL;
    if (mpr_insights_read(&insights, path, run, NULL, progress, error) != 0) return NULL;
    *incomplete = insights.peaks.log[0].summary.incomplete;
    return &insights;
}

static void release(void *result)
{
    mpr_insights_free(result);
    mpr_processes_free(&family);
}

static void describe_insights(struct mpr_document *doc, const void *result)
{
    mpr_report_insights(doc, result);
}

static void describe_summary(struct mpr_document *doc, const void *result)
{
    mpr_report_summary(doc, result);
}

int mpr_cmd_insights(int argc, char **argv)
{
    static const struct mpr_one one = {
        .doc =
            "Says what is worth a change: each finding with the numbers that it rests on, what to do, and what that would save."
            "\vExamples:\n  memprof-report insights memprof.n03.4242.zst\n  memprof-report insights --format json LOG\n\n"
            "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        .beside = read_family,
        .read = read_log,
        .describe = describe_insights,
        .free = release,
        .has_stacks = true,
    };
    return mpr_one_run(&one, argc, argv);
}

int mpr_cmd_summary(int argc, char **argv)
{
    static const struct mpr_one one = {
        .doc =
            "Says what happened on one screen: how it ended, what devices and heaps held at their peaks, who held most, what is worth a "
            "change. The command need not be named: memprof-report LOG."
            "\vExamples:\n  memprof-report memprof.n03.4242.zst\n  memprof-report logs/\n\n"
            "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        .beside = read_family,
        .read = read_log,
        .describe = describe_summary,
        .free = release,
        .has_stacks = true,
    };
    return mpr_one_run(&one, argc, argv);
}
