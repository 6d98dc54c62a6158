#include <string.h>

#include "calltree.h"
#include "cmd.h"
#include "logs.h"
#include "options.h"
#include "selection.h"

struct arguments {
    struct mpr_output output;
    struct mpr_calltree_options tree;
    struct mpr_logs logs;
    const char *path, *at;
};

static void set_by(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    a->tree.python = strcmp(text, "python") == 0;
    if (!a->tree.python && strcmp(text, "stack") != 0)
        argp_error(state, "--%s=%s: stack or python is wanted", name, text);
}

static void set_folded(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    (void)text, (void)name, (void)state;
    a->output.renderer = &mpr_render_folded;
}

static const struct mpr_option options[] = {
    { "by", 'b', "stack|python", "stack (default: native call stacks) or python", .set = set_by },
    { "heap", 0, "NAME",
      "this heap, for example host/heap; otherwise the one with the largest peak that has call stacks",
      MPR_TO_HEAP(struct arguments, tree.heap) },
    { "at", 0, "TIME", MPR_INSTANTS " (default: peak, the heap's)",
      MPR_TO(mpr_set_instant_or_peak, const char *, struct arguments, at) },
    { "bottom-up", 0, NULL, "from who allocated towards main, not from main down",
      MPR_TO_FLAG(struct arguments, tree.bottom_up) },
    { "folded", 0, NULL,
      "--format=folded: one line a stack, a;b;c bytes, for tools that draw flame graphs",
      .set = set_folded },
    { 0 },
};

static const struct mpr_takes takes = {
    .doc = "Shows the live bytes of a heap by call stack, as a tree."
           "\vExamples:\n"
           "  memprof-report stacks memprof.n03.4242.zst\n"
           "  memprof-report stacks --bottom-up --at step:12.end LOG\n"
           "  memprof-report stacks --folded LOG | flamegraph.pl --countname bytes >stacks.svg\n\n"
           "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
    .options = options,
    .which = &mpr_logs_argp,
    .logs = offsetof(struct arguments, logs),
    .output = offsetof(struct arguments, output),
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
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    a.logs.heap = a.tree.heap;
    a.path = mpr_logs_one(&a.logs);
    return mpr_logs_close(&a.logs, a.path ? report(&a) : MPR_EXIT_FAILURE);
}
