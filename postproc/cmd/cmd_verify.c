#include "cmd.h"
#include "logs.h"
#include "reports.h"
#include "verify.h"

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
        "Checks every frame of each log and says up to which offset and time it is good."
        "\vExamples:\n  memprof-report verify memprof.n03.4242.zst\n  memprof-report verify logs/\n\n"
        "Exit status: 0 good, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    .children = children,
};

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_verify(doc, result);
}

static void read_logs(struct mpr_logs *logs, struct mpr_verify *verify)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_error error;
    for (size_t i = 0; i < logs->paths.count; i++) {
        if (mpr_verify_add(verify, logs->paths.at[i], &progress, &error) == 0) continue;
        mpr_cmd_error(&error);
        logs->failed = true;
    }
    mpr_bar_clear();
}

int mpr_cmd_verify(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    struct mpr_verify verify = { 0 };
    int status = MPR_EXIT_FAILURE;
    mpr_cmd_parse(&argp, argc, argv, &a);
    mpr_logs_choose(&a.logs);
    read_logs(&a.logs, &verify);
    if (verify.logs) status = mpr_output_document(&a.output, describe, &verify, verify.incomplete);
    mpr_verify_free(&verify);
    return mpr_logs_close(&a.logs, status);
}
