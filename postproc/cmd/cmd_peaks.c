#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "logs.h"
#include "mpf/event.h"
#include "peaks.h"
#include "reports.h"
#include "selection.h"

enum { KEY_HEAP = 256, KEY_AT, KEY_NO_INHERIT, KEY_BACKWARD_OF, KEY_SORT, KEY_ALL };

static const struct argp_option options[] = {
    { "all", KEY_ALL, NULL, 0, "every process, the largest first, and the tree of them", 1 },
    { "by", 'b', MPR_BY_WORDS, 0, MPR_BY_HELP, 1 },
    { "heap", KEY_HEAP, "NAME", 0, "this heap only, for example host/heap", 1 },
    { "at", KEY_AT, "TIME", 0,
      "who held the memory then, not at the peak: " MPR_INSTANTS
      "; with --all a time after the start",
      1 },
    { "backward-of", KEY_BACKWARD_OF, NULL, 0, MPR_BACKWARD_OF_HELP, 1 },
    { "sort", KEY_SORT, "BY", 0,
      "rank by bytes (default), blocks, allocs, end (bytes at the end) or own (own peak)", 1 },
    { "no-inherit", KEY_NO_INHERIT, NULL, 0,
      "threads without ranges do not take those of another thread (host heaps never do)", 1 },
    { 0 },
};

struct arguments {
    struct mpr_output output;
    struct mpr_peaks_options peaks;
    struct mpr_logs logs;
    bool all;
    const char *at;
};

static void set_order(struct arguments *a, const char *arg, struct argp_state *state)
{
    for (int i = 0; i < MPR_ORDERS_COUNT; i++)
        if (strcmp(arg, mpr_order_name[i]) == 0) {
            a->peaks.order = a->output.naming.order = (enum mpr_order)i;
            return;
        }
    argp_error(state, "--sort=%s: bytes, blocks, allocs, end or own is wanted", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    case KEY_ALL: a->all = true; return 0;
    case 'b': a->peaks.by = mpr_selection_by(arg, state); return 0;
    case KEY_HEAP: a->peaks.heap = mpr_selection_heap(arg, MPR_HEAPS_WANTED, state); return 0;
    case KEY_AT:
        mpr_selection_check_instant(arg, "at", state);
        a->at = arg;
        return 0;
    case KEY_BACKWARD_OF: a->peaks.backward_of = true; return 0;
    case KEY_SORT: set_order(a, arg, state); return 0;
    case KEY_NO_INHERIT: a->peaks.no_inherit = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 },
                                              { &mpr_output_argp, 0, "Output:", 2 },
                                              { 0 } };
static const struct argp argp = {
    options,
    parse,
    NULL,
    "Shows, for each heap, the peak and who held the bytes then."
    "\vExamples:\n"
    "  memprof-report peaks memprof.n03.4242.zst\n"
    "  memprof-report peaks --by thread --heap host/heap LOG\n"
    "  memprof-report peaks --at 00:01:30.250 LOG\n"
    "  memprof-report peaks --all --format json -o peaks.json logs/\n\n"
    "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    children,
    NULL,
    NULL,
};

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_peaks(doc, result);
}

static void check_instant(const struct arguments *a)
{
    if (a->logs.paths.count < 2 || !mpr_selection_is_named(a->at)) return;
    mpr_cmd_say("--at=%s: an instant of one log; there are %zu", a->at, a->logs.paths.count);
    exit(MPR_EXIT_USAGE);
}

/* Whose instant is looked for, and where it goes. */
struct adding {
    const struct arguments *arguments;
    struct mpr_peaks *peaks;
};

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    const struct adding *all = to;
    const struct arguments *a = all->arguments;
    if (mpr_selection_instant(a->at, MPR_PEAK_TIME, path, a->peaks.heap, progress,
                              &all->peaks->options.at, error) != 0)
        return -1;
    return mpr_peaks_add(all->peaks, path, progress, error);
}

int mpr_cmd_peaks(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default(),
                           .peaks = { .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK } };
    struct mpr_peaks peaks;
    struct adding all = { &a, &peaks };
    a.output.has_stacks = true;
    mpr_cmd_parse(&argp, argc, argv, &a);
    a.logs.heap = a.peaks.heap;
    if (a.all) mpr_logs_choose(&a.logs);
    else mpr_logs_keep_one(&a.logs);
    check_instant(&a);
    mpr_peaks_init(&peaks, &a.peaks);
    mpr_logs_each(&a.logs, add, &all);
    mpr_peaks_finish(&peaks);
    const int status =
        peaks.logs ? mpr_output_document(&a.output, describe, &peaks, mpr_peaks_incomplete(&peaks))
                   : MPR_EXIT_FAILURE;
    mpr_peaks_free(&peaks);
    return mpr_logs_close(&a.logs, status);
}
