#include "cmd.h"
#include "logs.h"
#include "reports.h"
#include "selection.h"
#include "temporary.h"

enum { KEY_HEAP = 256, KEY_WITHIN };

static const struct argp_option options[] = {
    { "by", 'b', "WHAT", 0, MPR_BY_HELP, 1 },
    { "heap", KEY_HEAP, "NAME", 0, "this heap only, for example host/heap", 1 },
    { "within", KEY_WITHIN, "TIME", 0,
      "blocks that lived no longer were temporary: 1ms (default), 50us, 2s, ...", 1 },
    { 0 },
};

struct arguments {
    struct mpr_output output;
    struct mpr_logs logs;
    struct mpr_temporary_options temporary;
};

static void set_within(struct arguments *a, const char *arg, struct argp_state *state)
{
    struct mpr_instant length;
    if (!mpr_instant_parse(arg, &length))
        argp_error(state, "--within=%s: a time such as 1ms, 50us or 2s is wanted", arg);
    a->temporary.within_ns = length.from;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    case 'b': a->temporary.by = mpr_selection_by(arg, state); return 0;
    case KEY_HEAP:
        a->temporary.heap =
            mpr_selection_heap(arg, "a heap such as host/heap, gpu0/torch or gpu0/device", state);
        return 0;
    case KEY_WITHIN: set_within(a, arg, state); return 0;
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
        "Shows who makes blocks that are freed soon: how many, their share, all bytes that were ever allocated there, and how long half of the blocks lived."
        "\vExamples:\n"
        "  memprof-report temporary memprof.n03.4242.zst\n"
        "  memprof-report temporary --within 50us --heap host/heap LOG\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
    .children = children,
};

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_temporary(doc, result);
}

static int report(struct arguments *a, const char *path)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_temporary temporary;
    struct mpr_error error;
    const int failed = mpr_temporary_read(&temporary, path, &a->temporary, &progress, &error);
    mpr_bar_clear();
    if (failed) {
        mpr_cmd_error(&error);
        return MPR_EXIT_FAILURE;
    }
    const int status = mpr_output_document(&a->output, describe, &temporary,
                                           temporary.peaks.log[0].summary.incomplete);
    mpr_temporary_free(&temporary);
    return status;
}

int mpr_cmd_temporary(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default(),
                           .temporary = { .by = MPR_GROUP_AUTO, .within_ns = 1000000 } };
    mpr_cmd_parse(&argp, argc, argv, &a);
    const char *path = mpr_logs_one(&a.logs);
    return mpr_logs_close(&a.logs, path ? report(&a, path) : MPR_EXIT_FAILURE);
}
