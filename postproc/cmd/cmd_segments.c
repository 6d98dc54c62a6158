#include <string.h>

#include "cmd.h"
#include "options.h"
#include "reports.h"
#include "segments.h"
#include "selection.h"

static bool is_instant(const char *at)
{
    return !at || strcmp(at, "peak") == 0 || strcmp(at, "oom") == 0;
}

static const struct mpr_option options[] = {
    { "at", 0, "TIME",
      MPR_INSTANTS " (default: oom where memory ran out, else peak, each device's)",
      .set = mpr_set_instant },
    { 0 },
};

static void *read_log(void *chosen, const char *path, const struct mpr_progress *progress,
                      bool *incomplete, struct mpr_error *error)
{
    static struct mpr_segments segments;
    const char *const at = *(const char *const *)chosen;
    struct mpr_segments_options wanted = { .which = MPR_SEGMENTS_AT_WORST };
    if (at && strcmp(at, "peak") == 0) wanted.which = MPR_SEGMENTS_AT_PEAK;
    if (at && strcmp(at, "oom") == 0) wanted.which = MPR_SEGMENTS_AT_OOM;
    if (!is_instant(at)) {
        wanted.which = MPR_SEGMENTS_AT_TIME;
        if (mpr_selection_instant(at, 0, path, MPF_HEAP_NONE, progress, &wanted.at, error) != 0)
            return NULL;
    }
    if (mpr_segments_read(&segments, path, &wanted, progress, error) != 0) return NULL;
    *incomplete = segments.summary.incomplete;
    return &segments;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_segments(doc, result);
}

static void release(void *result) { mpr_segments_free(result); }

int mpr_cmd_segments(int argc, char **argv)
{
    const char *chosen = NULL; /* the instant; NULL: where it was worst */
    const struct mpr_one one = {
        .doc =
            "Shows the segments of PyTorch's caching allocator at one instant: what is live in them, their holes by pool, and what pins the "
            "free bytes."
            "\vExamples:\n"
            "  memprof-report segments memprof.n03.4242.zst\n"
            "  memprof-report segments --at peak LOG\n"
            "  memprof-report segments --at step:12.end --format json LOG\n\n"
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
