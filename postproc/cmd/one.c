#include "cmd.h"

struct arguments {
    struct mpr_output output;
    const char *path;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->output; return 0;
    case ARGP_KEY_ARG:
        if (a->path) argp_error(state, "one log is wanted");
        a->path = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "a log is needed"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int mpr_one_run(const struct mpr_one *one, int argc, char **argv)
{
    static const struct argp_child children[] = { { &mpr_output_argp, 0, "Output:", 1 }, { 0 } };
    const struct argp argp = {
        .parser = parse, .args_doc = "LOG", .doc = one->doc, .children = children
    };
    struct arguments a = { mpr_output_default(), NULL };
    struct mpr_error error;
    bool incomplete;
    mpr_cmd_parse(&argp, argc, argv, &a);
    const struct mpr_progress progress = mpr_bar();
    void *result = one->read(a.path, &progress, &incomplete, &error);
    mpr_bar_clear();
    if (!result) {
        mpr_cmd_error(&error);
        return MPR_EXIT_FAILURE;
    }
    const int status = mpr_output_document(&a.output, one->describe, result, incomplete);
    one->free(result);
    return status;
}
