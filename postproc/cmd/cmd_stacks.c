#include <string.h>

#include "calltree.h"
#include "cmd.h"
#include "logs.h"
#include "selection.h"

enum { KEY_HEAP = 256, KEY_AT, KEY_BOTTOM_UP, KEY_FOLDED };

static const struct argp_option options[] = {
    { "by", 'b', "stack|python", 0, "stack (default: native call stacks) or python", 1 },
    { "heap", KEY_HEAP, "NAME", 0,
      "this heap, for example host/heap; otherwise the one with the largest peak that has call stacks",
      1 },
    { "at", KEY_AT, "TIME", 0, MPR_INSTANTS " (default: peak, the heap's)", 1 },
    { "bottom-up", KEY_BOTTOM_UP, NULL, 0, "from who allocated towards main, not from main down",
      1 },
    { "folded", KEY_FOLDED, NULL, 0,
      "--format=folded: one line a stack, a;b;c bytes, for tools that draw flame graphs", 1 },
    { 0 },
};

struct arguments {
    struct mpr_output output;
    struct mpr_calltree_options tree;
    struct mpr_logs logs;
    const char *path, *at;
};

static void set_by(struct arguments *a, const char *arg, struct argp_state *state)
{
    a->tree.python = strcmp(arg, "python") == 0;
    if (!a->tree.python && strcmp(arg, "stack") != 0)
        argp_error(state, "--by=%s: stack or python is wanted", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    case 'b': set_by(a, arg, state); return 0;
    case KEY_HEAP: a->tree.heap = mpr_selection_heap(arg, MPR_HEAPS_WANTED, state); return 0;
    case KEY_AT:
        if (strcmp(arg, "peak") == 0) return 0;
        mpr_selection_check_instant(arg, "at", state);
        a->at = arg;
        return 0;
    case KEY_BOTTOM_UP: a->tree.bottom_up = true; return 0;
    case KEY_FOLDED: a->output.renderer = &mpr_render_folded; return 0;
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
    "Shows the live bytes of a heap by call stack, as a tree."
    "\vExamples:\n"
    "  memprof-report stacks memprof.n03.4242.zst\n"
    "  memprof-report stacks --bottom-up --at step:12.end LOG\n"
    "  memprof-report stacks --folded LOG | flamegraph.pl --countname bytes >stacks.svg\n\n"
    "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
    children,
    NULL,
    NULL,
};

static int read_log(struct arguments *a, struct mpr_calltree *tree, struct mpr_error *error)
{
    const struct mpr_progress progress = mpr_bar();
    int status = mpr_selection_instant(a->at, MPR_PEAK_TIME, a->path, a->tree.heap, &progress,
                                       &a->tree.at, error);
    if (status == 0) status = mpr_calltree_read(tree, a->path, &a->tree, &progress, error);
    mpr_bar_clear();
    return status;
}

static void render(const struct mpr_renderer *renderer, FILE *out, const void *result,
                   const struct mpr_style *style)
{
    renderer->stacks(out, result, style);
}

static int report(struct arguments *a)
{
    struct mpr_calltree tree;
    struct mpr_error error;
    if (read_log(a, &tree, &error) != 0) {
        mpr_cmd_error(&error);
        return MPR_EXIT_FAILURE;
    }
    const int status = mpr_output_report(&a->output, render, &tree, tree.summary.incomplete);
    mpr_calltree_free(&tree);
    return status;
}

int mpr_cmd_stacks(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    a.output.has_stacks = true;
    mpr_cmd_parse(&argp, argc, argv, &a);
    a.logs.heap = a.tree.heap;
    a.path = mpr_logs_one(&a.logs);
    return mpr_logs_close(&a.logs, a.path ? report(&a) : MPR_EXIT_FAILURE);
}
