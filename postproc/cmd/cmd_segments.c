#include <string.h>

#include "cmd.h"
#include "logs.h"
#include "reports.h"
#include "segments.h"
#include "selection.h"

enum { KEY_AT = 256 };

static const struct argp_option options[] = {
    { "at", KEY_AT, "TIME", 0,
      "oom: when memory ran out; peak: each device's (default: oom where there was one); or 12.5s, 00:01:30.250, step:12, step:12.end",
      1 },
    { 0 },
};

struct arguments {
    struct mpr_output output;
    struct mpr_logs logs;
    const char *path, *at;
};

static bool is_instant(const char *at)
{
    return !at || strcmp(at, "peak") == 0 || strcmp(at, "oom") == 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    case KEY_AT:
        if (!is_instant(arg)) mpr_selection_check_instant(arg, "at", state);
        a->at = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 },
                                              { &mpr_output_argp, 0, "Output:", 2 },
                                              { 0 } };
static const struct argp argp = {
    options,
    parse,
    NULL,
    "Shows the segments of PyTorch's caching allocator at one instant: what is live in them, their holes by pool, and what pins the "
    "free bytes."
    "\vExamples:\n"
    "  memprof-report segments memprof.n03.4242.zst\n"
    "  memprof-report segments --at peak LOG\n"
    "  memprof-report segments --at step:12.end --format json LOG\n\n"
    "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
    children,
    NULL,
    NULL,
};

static int read_log(const struct arguments *a, struct mpr_segments *segments,
                    struct mpr_error *error)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_segments_options chosen = { .which = MPR_SEGMENTS_AT_WORST };
    int status = 0;
    if (a->at && strcmp(a->at, "peak") == 0) chosen.which = MPR_SEGMENTS_AT_PEAK;
    if (a->at && strcmp(a->at, "oom") == 0) chosen.which = MPR_SEGMENTS_AT_OOM;
    if (!is_instant(a->at)) {
        chosen.which = MPR_SEGMENTS_AT_TIME;
        status = mpr_selection_instant(a->at, 0, a->path, NULL, &progress, &chosen.at, error);
    }
    if (status == 0) status = mpr_segments_read(segments, a->path, &chosen, &progress, error);
    mpr_bar_clear();
    return status;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_segments(doc, result);
}

static int report(struct arguments *a)
{
    struct mpr_segments segments;
    struct mpr_error error;
    if (read_log(a, &segments, &error) != 0) {
        mpr_cmd_error(&error);
        return MPR_EXIT_FAILURE;
    }
    const int status =
        mpr_output_document(&a->output, describe, &segments, segments.summary.incomplete);
    mpr_segments_free(&segments);
    return status;
}

int mpr_cmd_segments(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    mpr_cmd_parse(&argp, argc, argv, &a);
    a.path = mpr_logs_one(&a.logs);
    return mpr_logs_close(&a.logs, a.path ? report(&a) : MPR_EXIT_FAILURE);
}
