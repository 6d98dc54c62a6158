#include "cmd.h"
#include "logs.h"

struct arguments {
    error_t (*parse)(void *chosen, int key, char *arg, struct argp_state *state); /* NULL: none */
    void *chosen;
    struct mpr_output output;
    struct mpr_logs logs;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    }
    return a->parse ? a->parse(a->chosen, key, arg, state) : ARGP_ERR_UNKNOWN;
}

static void parse_all(struct arguments *a, const char *doc, const struct argp_option *options,
                      int argc, char **argv)
{
    static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 },
                                                  { &mpr_output_argp, 0, "Output:", 3 },
                                                  { 0 } };
    const struct argp argp = {
        .options = options, .parser = parse, .doc = doc, .children = children
    };
    mpr_cmd_parse(&argp, argc, argv, a);
}

/* ---- one log */

static int report(const struct mpr_one *one, struct arguments *a, const char *path)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_error error;
    bool incomplete;
    if (one->beside && a->logs.paths.count > 1) one->beside(&a->logs.paths, &progress);
    void *result = one->read(one->chosen, path, &progress, &incomplete, &error);
    mpr_bar_clear();
    if (!result) {
        mpr_cmd_error(&error);
        return MPR_EXIT_FAILURE;
    }
    const int status = mpr_output_document(&a->output, one->describe, result, incomplete);
    one->free(result);
    return status;
}

int mpr_one_run(const struct mpr_one *one, int argc, char **argv)
{
    struct arguments a = { .parse = one->parse,
                           .chosen = one->chosen,
                           .output = mpr_output_default() };
    a.output.has_stacks = one->has_stacks;
    parse_all(&a, one->doc, one->options, argc, argv);
    if (one->heap) a.logs.heap = *one->heap;
    const char *path = mpr_logs_one(&a.logs);
    const int status = path ? report(one, &a, path) : MPR_EXIT_FAILURE;
    return mpr_logs_close(&a.logs, status);
}

/* ---- all logs */

int mpr_all_run(const struct mpr_all *all, int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    bool incomplete = false;
    int status = MPR_EXIT_FAILURE;
    parse_all(&a, all->doc, NULL, argc, argv);
    mpr_logs_choose(&a.logs);
    mpr_logs_each(&a.logs, all->add, all->result);
    if (all->finish(all->result, &incomplete))
        status = mpr_output_document(&a.output, all->describe, all->result, incomplete);
    all->free(all->result);
    return mpr_logs_close(&a.logs, status);
}
