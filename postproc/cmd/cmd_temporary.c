#include "cmd.h"
#include "options.h"
#include "reports.h"
#include "selection.h"
#include "temporary.h"

static const struct mpr_option options[] = {
    { "by", 'b', MPR_BY_WORDS, MPR_BY_HELP, MPR_TO_BY(struct mpr_temporary_options, by) },
    { "heap", 0, "NAME", MPR_HEAP_HELP, MPR_TO_HEAP(struct mpr_temporary_options, heap) },
    { "within", 0, "TIME",
      "blocks that lived no longer were temporary: 1ms (default), 50us, 2s, ...",
      MPR_TO_LENGTH(struct mpr_temporary_options, within_ns) },
    { 0 },
};

static void *read_log(void *chosen, const char *path, const struct mpr_progress *progress,
                      bool *incomplete, struct mpr_error *error)
{
    static struct mpr_temporary temporary;
    if (mpr_temporary_read(&temporary, path, chosen, progress, error) != 0) return NULL;
    *incomplete = temporary.peaks.log[0].summary.incomplete;
    return &temporary;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_temporary(doc, result);
}

static void release(void *result) { mpr_temporary_free(result); }

int mpr_cmd_temporary(int argc, char **argv)
{
    struct mpr_temporary_options chosen = { .by = MPR_GROUP_AUTO, .within_ns = 1000000 };
    const struct mpr_one one = {
        .doc =
            "Shows who makes blocks that are freed soon: how many, their share, all bytes that were ever allocated there, and how long half of the blocks lived."
            "\vExamples:\n"
            "  memprof-report temporary memprof.n03.4242.zst\n"
            "  memprof-report temporary --within 50us --heap host/heap LOG\n\n"
            "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        .read = read_log,
        .describe = describe,
        .free = release,
        .has_stacks = true,
        .options = options,
        .chosen = &chosen,
        .heap = &chosen.heap,
    };
    return mpr_one_run(&one, argc, argv);
}
