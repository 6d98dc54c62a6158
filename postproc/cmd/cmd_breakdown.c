#include <string.h>

#include "breakdown.h"
#include "cmd.h"
#include "logs.h"
#include "reports.h"
#include "selection.h"

enum { KEY_AT = 256 };

static const struct argp_option options[] = {
    { "at", KEY_AT, "TIME", 0,
      "peak (default): of what PyTorch held, on each device; or 12.5s, 00:01:30.250, step:12, step:12.end",
      1 },
    { 0 },
};

struct arguments {
    struct mpr_output output;
    struct mpr_logs logs;
    const char *path, *at;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    case KEY_AT:
        if (strcmp(arg, "peak") == 0) return 0;
        mpr_selection_check_instant(arg, "at", state);
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
    "Shows a training step's device memory by role: parameters, gradients, optimizer state, activations and so on, told by when each of "
    "PyTorch's blocks was made and when it went."
    "\vExamples:\n"
    "  memprof-report breakdown memprof.n03.4242.zst\n"
    "  memprof-report breakdown --at step:12 LOG\n"
    "  memprof-report breakdown --top 20 LOG\n\n"
    "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
    children,
    NULL,
    NULL,
};

static int read_log(const struct arguments *a, struct mpr_breakdown *breakdown,
                    struct mpr_error *error)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_instant at = MPR_INSTANT_PEAK;
    int status = 0;
    if (a->at) status = mpr_selection_instant(a->at, 0, a->path, NULL, &progress, &at, error);
    if (status == 0) status = mpr_breakdown_read(breakdown, a->path, at, &progress, error);
    mpr_bar_clear();
    return status;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_breakdown(doc, result);
}

static int report(struct arguments *a)
{
    struct mpr_breakdown breakdown;
    struct mpr_error error;
    if (read_log(a, &breakdown, &error) != 0) {
        mpr_cmd_error(&error);
        return MPR_EXIT_FAILURE;
    }
    const int status =
        mpr_output_document(&a->output, describe, &breakdown, breakdown.summary.incomplete);
    mpr_breakdown_free(&breakdown);
    return status;
}

int mpr_cmd_breakdown(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    mpr_cmd_parse(&argp, argc, argv, &a);
    a.path = mpr_logs_one(&a.logs);
    return mpr_logs_close(&a.logs, a.path ? report(&a) : MPR_EXIT_FAILURE);
}
