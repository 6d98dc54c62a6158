#include "cmd.h"
#include "info.h"
#include "reports.h"

static struct mpr_info info;

static void *read_log(void *chosen, const char *path, const struct mpr_progress *progress,
                      bool *incomplete, struct mpr_error *error)
{
    (void)chosen;
    if (mpr_info_read(&info, path, progress, error) != 0) return NULL;
    *incomplete = info.summary.incomplete;
    return &info;
}

static void describe(struct mpr_document *doc, const void *result) { mpr_report_info(doc, result); }

static void release(void *result) { mpr_info_free(result); }

int mpr_cmd_info(int argc, char **argv)
{
    static const struct mpr_one one = {
        .doc =
            "Shows what a log holds: its header, events by kind, threads, ranges, losses, and memprof's own memory."
            "\vExamples:\n  memprof-report info memprof.n03.4242.zst\n  memprof-report info --format json LOG\n\n"
            "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        .read = read_log,
        .describe = describe,
        .free = release,
    };
    return mpr_one_run(&one, argc, argv);
}
