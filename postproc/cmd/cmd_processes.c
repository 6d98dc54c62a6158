#include "cmd.h"
#include "logs.h"
#include "processes.h"
#include "reports.h"

struct arguments {
    struct mpr_output output;
    struct mpr_logs logs;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    (void)arg;
    if (key != ARGP_KEY_INIT) return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = &a->logs;
    state->child_inputs[1] = &a->output;
    return 0;
}

static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 },
                                              { &mpr_output_argp, 0, "Output:", 2 },
                                              { 0 } };
static const struct argp argp = {
    .parser = parse,
    .doc =
        "Shows the processes of a run as a tree: what each held at its peak and at the end, how long it lived and how it ended."
        "\vExamples:\n"
        "  memprof-report processes logs/\n"
        "  memprof-report processes --unfold --format csv logs/\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    .children = children,
};

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_processes(doc, result);
}

static void read_logs(struct mpr_logs *logs, struct mpr_processes *all)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_error error;
    for (size_t i = 0; i < logs->paths.count; i++) {
        if (mpr_processes_add(all, logs->paths.at[i], &progress, &error) == 0) continue;
        mpr_cmd_error(&error);
        logs->failed = true;
    }
    mpr_processes_finish(all);
    mpr_bar_clear();
}

static int report(struct arguments *a, const struct mpr_processes *all)
{
    bool incomplete = false;
    for (size_t i = 0; i < all->count; i++) incomplete |= all->at[i].summary.incomplete;
    return mpr_output_document(&a->output, describe, all, incomplete);
}

int mpr_cmd_processes(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    struct mpr_processes all = { 0 };
    mpr_cmd_parse(&argp, argc, argv, &a);
    mpr_logs_choose(&a.logs);
    read_logs(&a.logs, &all);
    const int status = all.count ? report(&a, &all) : MPR_EXIT_FAILURE;
    mpr_processes_free(&all);
    return mpr_logs_close(&a.logs, status);
}
