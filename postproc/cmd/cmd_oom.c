#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "logs.h"
#include "ooms.h"
#include "options.h"
#include "reports.h"
#include "selection.h"

struct arguments {
    struct mpr_output output;
    struct mpr_logs logs;
    enum mpr_group by;
    bool backward_of;
};

static const struct mpr_option options[] = {
    { "by", 'b', MPR_BY_WORDS, "PyTorch's live blocks by " MPR_BY_HELP,
      MPR_TO_BY(struct arguments, by) },
    { "backward-of", 0, NULL, MPR_BACKWARD_OF_HELP, MPR_TO_FLAG(struct arguments, backward_of) },
    { 0 },
};

static const struct mpr_takes takes = {
    .doc =
        "Tells the story of each lack of memory: what was asked and where, what was free, who held the rest, what would have made it fit."
        "\vExamples:\n"
        "  memprof-report oom memprof.n03.4242.zst\n"
        "  memprof-report oom --format json logs/\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    .options = options,
    .which = &mpr_logs_argp,
    .logs = offsetof(struct arguments, logs),
    .output = offsetof(struct arguments, output),
};

static void describe(struct mpr_document *doc, const void *result) { mpr_report_ooms(doc, result); }

static int report(struct arguments *a, const struct mpr_ooms *ooms)
{
    bool incomplete = false;
    for (size_t i = 0; i < ooms->logs; i++) incomplete |= ooms->log[i].summary.incomplete;
    return mpr_output_document(&a->output, describe, ooms, incomplete);
}

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    return mpr_ooms_add(to, path, progress, error);
}

int mpr_cmd_oom(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default(), .by = MPR_GROUP_AUTO };
    struct mpr_ooms ooms = { 0 };
    a.output.has_stacks = true;
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    ooms.by = a.by;
    ooms.backward_of = a.backward_of;
    mpr_logs_choose(&a.logs);
    mpr_logs_each(&a.logs, add, &ooms);
    const struct mpr_progress progress = mpr_bar();
    mpr_ooms_finish(&ooms, &progress);
    mpr_bar_clear();
    const int status = ooms.logs ? report(&a, &ooms) : MPR_EXIT_FAILURE;
    mpr_ooms_free(&ooms);
    return mpr_logs_close(&a.logs, status);
}
