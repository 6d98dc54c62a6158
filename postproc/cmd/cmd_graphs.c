#include "cmd.h"
#include "graphs.h"
#include "reports.h"

static struct mpr_graphs graphs;

static void *read_log(void *chosen, const char *path, const struct mpr_progress *progress,
                      bool *incomplete, struct mpr_error *error)
{
    (void)chosen;
    if (mpr_graphs_read(&graphs, path, progress, error) != 0) return NULL;
    *incomplete = graphs.summary.incomplete;
    return &graphs;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_graphs(doc, result);
}

static void release(void *result) { mpr_graphs_free(result); }

int mpr_cmd_graphs(int argc, char **argv)
{
    static const struct mpr_one one = {
        .doc =
            "Shows what CUDA graphs cost: captures by burst, what PyTorch took for their memory pools, and the device memory of their "
            "executables and first launches."
            "\vExamples:\n  memprof-report graphs memprof.n03.4242.zst\n  memprof-report graphs --format json LOG\n\n"
            "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        .read = read_log,
        .describe = describe,
        .free = release,
        .has_stacks = true,
    };
    return mpr_one_run(&one, argc, argv);
}
