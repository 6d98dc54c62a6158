#include "cmd.h"
#include "ooms.h"
#include "reports.h"

struct args {
    struct mpr_args common;
    enum mpr_group by;
    bool backward_of;
};

static const struct mpr_option options[] = {
    { "by", 'b', MPR_BY_WORDS, "group PyTorch's live blocks by " MPR_BY_HELP,
      MPR_TO_BY(struct args, by) },
    { "backward-of", 0, NULL, MPR_BACKWARD_OF_HELP, MPR_TO_FLAG(struct args, backward_of) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .doc =
        "Shows each out-of-memory event: the request and its call site, the free memory, the owners of the used memory, and the changes that would have made the request fit."
        "\vExamples:\n"
        "  memprof-report oom memprof.n03.4242.zst\n"
        "  memprof-report oom --format json logs/",
    .options = options,
    .has_stacks = true,
};

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    return mpr_ooms_add(to, path, progress, error);
}

int mpr_cmd_oom(int argc, char **argv)
{
    struct args a = { .common = mpr_args_default(), .by = MPR_GROUP_AUTO };
    struct mpr_document doc;
    bool incomplete = false;
    int status = MPR_EXIT_FAILURE;
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    struct mpr_ooms ooms = { .by = a.by, .backward_of = a.backward_of };
    mpr_logs_choose(&a.common.logs);
    mpr_logs_each(&a.common.logs, add, &ooms);
    const struct mpr_progress progress = mpr_bar();
    mpr_ooms_finish(&ooms, &progress);
    mpr_bar_clear();
    for (size_t i = 0; i < ooms.logs; i++) incomplete |= ooms.log[i].summary.incomplete;
    if (ooms.logs) {
        mpr_output_begin(&a.common.output, &doc);
        mpr_report_ooms(&doc, &ooms);
        status = mpr_output_document(&a.common.output, &doc, incomplete);
    }
    mpr_ooms_free(&ooms);
    return mpr_args_close(&a.common, status);
}
