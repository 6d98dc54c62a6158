#include "cmd.h"
#include "logs.h"
#include "reports.h"
#include "selection.h"
#include "steps.h"

enum { KEY_HEAP = 256, KEY_RANGE };

static const struct argp_option options[] = {
    { "range", KEY_RANGE, "NAME", 0,
      "the instances of this range: its name or path (step, \"epoch > step\"), with or without numbers; otherwise the outermost one that repeats",
      2 },
    { "heap", KEY_HEAP, "NAME", 0, "this heap only, for example host/heap", 2 },
    { 0 },
};

struct arguments {
    struct mpr_output output;
    struct mpr_logs logs;
    struct mpr_instances_options steps;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    case KEY_RANGE: a->steps.range = arg; return 0;
    case KEY_HEAP:
        a->steps.heap = mpr_selection_heap(
            arg,
            "host/heap, host/mmap, host/shm, host/pinned or, of a GPU, gpu0/device, gpu0/torch, ...",
            state);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 },
                                              { &mpr_output_argp, 0, "Output:", 3 },
                                              { 0 } };
static const struct argp argp = {
    options,
    parse,
    NULL,
    "Shows what each instance of a repeated range, as a training step is, took and kept, and which of them stand out."
    "\vExamples:\n"
    "  memprof-report steps memprof.n03.4242.zst\n"
    "  memprof-report steps --range \"epoch > step\" --heap gpu0/torch LOG\n"
    "  memprof-report steps --unfold --format csv LOG\n\n"
    "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
    children,
    NULL,
    NULL,
};

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_steps(doc, result);
}

static int report(struct arguments *a, const char *path)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_steps steps;
    struct mpr_error error;
    int status = mpr_steps_read(&steps, path, &a->steps, &progress, &error);
    mpr_bar_clear();
    if (status != 0) {
        mpr_cmd_error(&error);
        return MPR_EXIT_FAILURE;
    }
    status = mpr_output_document(&a->output, describe, &steps, steps.instances.summary.incomplete);
    mpr_steps_free(&steps);
    return status;
}

int mpr_cmd_steps(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    mpr_cmd_parse(&argp, argc, argv, &a);
    const char *path = mpr_logs_one(&a.logs);
    return mpr_logs_close(&a.logs, path ? report(&a, path) : MPR_EXIT_FAILURE);
}
