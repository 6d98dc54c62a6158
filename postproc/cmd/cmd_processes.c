#include "cmd.h"
#include "processes.h"
#include "reports.h"

static int add(void *result, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    return mpr_processes_add(result, path, progress, error);
}

static bool finish(void *result, bool *incomplete)
{
    struct mpr_processes *all = result;
    mpr_processes_finish(all);
    for (size_t i = 0; i < all->count; i++) *incomplete |= all->at[i].summary.incomplete;
    return all->count;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_processes(doc, result);
}

static void release(void *result) { mpr_processes_free(result); }

int mpr_cmd_processes(int argc, char **argv)
{
    struct mpr_processes processes = { 0 };
    const struct mpr_all all = {
        .doc =
            "Shows the processes of a run as a tree: what each held at its peak and at the end, how long it lived and how it ended."
            "\vExamples:\n"
            "  memprof-report processes logs/\n"
            "  memprof-report processes --unfold --format csv logs/\n\n"
            "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
        .add = add,
        .finish = finish,
        .describe = describe,
        .free = release,
        .result = &processes,
    };
    return mpr_all_run(&all, argc, argv);
}
