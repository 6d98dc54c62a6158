#include "cmd.h"
#include "reports.h"
#include "selection.h"
#include "steps.h"

enum { KEY_HEAP = 256, KEY_RANGE };

static const struct argp_option options[] = {
    { "range", KEY_RANGE, "NAME", 0,
      "the instances of this range: its name or path (step, \"epoch > step\"), with or without numbers; otherwise the outermost one that repeats",
      1 },
    { "by", 'b', MPR_BY_WORDS, 0, "what the one that stands out is compared by: " MPR_BY_HELP, 1 },
    { "heap", KEY_HEAP, "NAME", 0, "this heap only, for example host/heap", 1 },
    { 0 },
};

static error_t parse(void *chosen, int key, char *arg, struct argp_state *state)
{
    struct mpr_steps_options *a = chosen;
    switch (key) {
    case KEY_RANGE: a->instances.range = arg; return 0;
    case 'b': a->by = mpr_selection_by(arg, state); return 0;
    case KEY_HEAP: a->instances.heap = mpr_selection_heap(arg, MPR_HEAPS_WANTED, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void *read_log(void *chosen, const char *path, const struct mpr_progress *progress,
                      bool *incomplete, struct mpr_error *error)
{
    static struct mpr_steps steps;
    if (mpr_steps_read(&steps, path, chosen, progress, error) != 0) return NULL;
    *incomplete = steps.instances.summary.incomplete;
    return &steps;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_steps(doc, result);
}

static void release(void *result) { mpr_steps_free(result); }

int mpr_cmd_steps(int argc, char **argv)
{
    struct mpr_steps_options chosen = { .by = MPR_GROUP_AUTO };
    const struct mpr_one one = {
        .doc =
            "Shows what each instance of a repeated range, as a training step is, took and kept, and which of them stand out."
            "\vExamples:\n"
            "  memprof-report steps memprof.n03.4242.zst\n"
            "  memprof-report steps --range \"epoch > step\" --heap gpu0/torch LOG\n"
            "  memprof-report steps --by thread LOG\n"
            "  memprof-report steps --unfold --format csv LOG\n\n"
            "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        .read = read_log,
        .describe = describe,
        .free = release,
        .has_stacks = true,
        .options = options,
        .parse = parse,
        .chosen = &chosen,
        .heap = &chosen.instances.heap,
    };
    return mpr_one_run(&one, argc, argv);
}
