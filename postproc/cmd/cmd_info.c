#include "cmd.h"
#include "info.h"

static struct mpr_info info;

static void *read_log(const char *path, const struct mpr_progress *progress, bool *incomplete, struct mpr_error *error)
{
    if (mpr_info_read(&info, path, progress, error) != 0) return NULL;
    *incomplete = info.summary.incomplete;
    return &info;
}

static void render(const struct mpr_renderer *renderer, FILE *out, const void *result, const struct mpr_style *style)
{
    renderer->info(out, result, style);
}

static void release(void *result) { mpr_info_free(result); }

int mpr_cmd_info(int argc, char **argv)
{
    static const struct mpr_one one = {
        "Shows what a log holds: its header, events by kind, threads, ranges, losses, and memprof's own memory."
        "\vExamples:\n  memprof-report info memprof.n03.4242.zst\n  memprof-report info --format json LOG\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        read_log, render, release,
    };
    return mpr_one_run(&one, argc, argv);
}
