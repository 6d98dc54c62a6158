#include "cmd.h"
#include "logs.h"
#include "options.h"

struct arguments {
    struct mpr_output output;
    struct mpr_logs logs;
};

static struct mpr_takes takes_of(const char *doc, const struct mpr_option *options)
{
    return (struct mpr_takes){ .doc = doc,
                               .options = options,
                               .which = &mpr_logs_argp,
                               .logs = offsetof(struct arguments, logs),
                               .output = offsetof(struct arguments, output) };
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
    const struct mpr_takes takes = takes_of(one->doc, one->options);
    struct arguments a = { .output = mpr_output_default() };
    a.output.has_stacks = one->has_stacks;
    mpr_takes_parse(&takes, argc, argv, &a, one->chosen);
    if (one->heap) a.logs.heap = *one->heap;
    const char *path = mpr_logs_one(&a.logs);
    const int status = path ? report(one, &a, path) : MPR_EXIT_FAILURE;
    return mpr_logs_close(&a.logs, status);
}

/* ---- all logs */

int mpr_all_run(const struct mpr_all *all, int argc, char **argv)
{
    const struct mpr_takes takes = takes_of(all->doc, NULL);
    struct arguments a = { .output = mpr_output_default() };
    bool incomplete = false;
    int status = MPR_EXIT_FAILURE;
    mpr_takes_parse(&takes, argc, argv, &a, NULL);
    mpr_logs_choose(&a.logs);
    mpr_logs_each(&a.logs, all->add, all->result);
    if (all->finish(all->result, &incomplete))
        status = mpr_output_document(&a.output, all->describe, all->result, incomplete);
    all->free(all->result);
    return mpr_logs_close(&a.logs, status);
}
