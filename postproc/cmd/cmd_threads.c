#include "cmd.h"
#include "logs.h"
#include "reports.h"
#include "selection.h"
#include "thread_use.h"

enum { KEY_HEAP = 256 };

static const struct argp_option options[] = {
    { "heap", KEY_HEAP, "NAME", 0, "this heap only, for example host/heap", 1 },
    { 0 },
};

struct arguments {
    struct mpr_output output;
    struct mpr_logs logs;
    const char *heap;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    case KEY_HEAP:
        a->heap =
            mpr_selection_heap(arg, "a heap such as host/heap, host/mmap or gpu0/device", state);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 },
                                              { &mpr_output_argp, 0, "Output:", 2 },
                                              { 0 } };
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc =
        "Shows what each thread held at each heap's peak and at the end, what it allocated in all, and when it lived."
        "\vExamples:\n"
        "  memprof-report threads memprof.n03.4242.zst\n"
        "  memprof-report threads --heap host/heap --format csv LOG\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
    .children = children,
};

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_threads(doc, result);
}

static int report(struct arguments *a, const char *path)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_thread_use use;
    struct mpr_error error;
    const int failed = mpr_thread_use_read(&use, path, a->heap, &progress, &error);
    mpr_bar_clear();
    if (failed) {
        mpr_cmd_error(&error);
        return MPR_EXIT_FAILURE;
    }
    const int status =
        mpr_output_document(&a->output, describe, &use, use.peaks.log[0].summary.incomplete);
    mpr_thread_use_free(&use);
    return status;
}

int mpr_cmd_threads(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    mpr_cmd_parse(&argp, argc, argv, &a);
    const char *path = mpr_logs_one(&a.logs);
    return mpr_logs_close(&a.logs, path ? report(&a, path) : MPR_EXIT_FAILURE);
}
