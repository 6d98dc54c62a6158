#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "logs.h"
#include "ooms.h"
#include "reports.h"
#include "selection.h"

enum { KEY_BACKWARD_OF = 256 };

static const struct argp_option options[] = {
    { "by", 'b', MPR_BY_WORDS, 0, "PyTorch's live blocks by " MPR_BY_HELP, 1 },
    { "backward-of", KEY_BACKWARD_OF, NULL, 0, MPR_BACKWARD_OF_HELP, 1 },
    { 0 },
};

struct arguments {
    struct mpr_output output;
    struct mpr_logs logs;
    enum mpr_group by;
    bool backward_of;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    case 'b': a->by = mpr_selection_by(arg, state); return 0;
    case KEY_BACKWARD_OF: a->backward_of = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 },
                                              { &mpr_output_argp, 0, "Output:", 2 },
                                              { 0 } };
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc =
        "Tells the story of each lack of memory: what was asked and where, what was free, who held the rest, what would have made it fit."
        "\vExamples:\n"
        "  memprof-report oom memprof.n03.4242.zst\n"
        "  memprof-report oom --format json logs/\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    .children = children,
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
    mpr_cmd_parse(&argp, argc, argv, &a);
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
