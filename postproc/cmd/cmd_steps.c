#include "cmd.h"
#include "options.h"
#include "reports.h"
#include "selection.h"
#include "steps.h"

static const struct mpr_option options[] = {
    { "range", 0, "NAME",
      "the instances of this range: its name or path (step, \"epoch > step\"), with or without numbers; otherwise the outermost one that repeats",
      MPR_TO_TEXT(struct mpr_steps_options, instances.range) },
    { "by", 'b', MPR_BY_WORDS, "what the one that stands out is compared by: " MPR_BY_HELP,
      MPR_TO_BY(struct mpr_steps_options, by) },
    { "heap", 0, "NAME", MPR_HEAP_HELP, MPR_TO_HEAP(struct mpr_steps_options, instances.heap) },
    { 0 },
};

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
        .chosen = &chosen,
        .heap = &chosen.instances.heap,
    };
    return mpr_one_run(&one, argc, argv);
}
