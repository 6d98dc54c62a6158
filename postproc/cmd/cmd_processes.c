#include "cmd.h"
#include "processes.h"
#include "reports.h"

static const struct mpr_cmdline cmdline = {
    .doc =
        "Shows the processes of a run as a tree: the memory of each at its peak and at the end, its lifetime, and how it ended."
        "\vExamples:\n"
        "  memprof-report processes logs/\n"
        "  memprof-report processes --unfold --format csv logs/",
};

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    return mpr_processes_add(to, path, progress, error);
}

int mpr_cmd_processes(int argc, char **argv)
{
    struct mpr_args a = mpr_args_default();
    struct mpr_document doc;
    struct mpr_processes processes = { 0 };
    bool incomplete = false;
    int status = MPR_EXIT_FAILURE;
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    mpr_logs_choose(&a.logs);
    mpr_logs_each(&a.logs, add, &processes);
    mpr_processes_finish(&processes);
    for (size_t i = 0; i < processes.count; i++) incomplete |= processes.at[i].summary.incomplete;
    if (processes.count) {
        mpr_output_begin(&a.output, &doc);
        mpr_report_processes(&doc, &processes);
        status = mpr_output_document(&a.output, &doc, incomplete);
    }
    mpr_processes_free(&processes);
    return mpr_args_close(&a, status);
}
