#include <string.h>

#include "breakdown.h"
#include "cmd.h"
#include "options.h"
#include "reports.h"
#include "selection.h"

static const struct mpr_option options[] = {
    { "at", 0, "TIME", MPR_INSTANTS " (default: peak, of what PyTorch held on each device)",
      .set = mpr_set_instant_or_peak },
    { 0 },
};

static void *read_log(void *chosen, const char *path, const struct mpr_progress *progress,
                      bool *incomplete, struct mpr_error *error)
{
    static struct mpr_breakdown breakdown;
    const char *const *at = chosen;
    struct mpr_instant instant = MPR_INSTANT_PEAK;
    if (*at && mpr_selection_instant(*at, 0, path, MPF_HEAP_NONE, progress, &instant, error) != 0)
        return NULL;
    if (mpr_breakdown_read(&breakdown, path, instant, false, progress, error) != 0) return NULL;
    *incomplete = breakdown.summary.incomplete;
    return &breakdown;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_breakdown(doc, result);
}

static void release(void *result) { mpr_breakdown_free(result); }

int mpr_cmd_breakdown(int argc, char **argv)
{
    const char *chosen = NULL; /* the instant; NULL: the peak */
    const struct mpr_one one = {
        .doc =
            "Shows a training step's device memory by role: parameters, gradients, optimizer state, activations and so on, told by when each of "
            "PyTorch's blocks was made and when it went."
            "\vExamples:\n"
            "  memprof-report breakdown memprof.n03.4242.zst\n"
            "  memprof-report breakdown --at step:12 LOG\n"
            "  memprof-report breakdown --top 20 LOG\n\n"
            "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        .read = read_log,
        .describe = describe,
        .free = release,
        .has_stacks = true,
        .options = options,
        .chosen = &chosen,
    };
    return mpr_one_run(&one, argc, argv);
}
