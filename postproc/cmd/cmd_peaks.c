#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "logs.h"
#include "mpf/event.h"
#include "options.h"
#include "peaks.h"
#include "reports.h"
#include "selection.h"

struct arguments {
    struct mpr_output output;
    struct mpr_peaks_options peaks;
    struct mpr_logs logs;
    bool all;
    const char *at;
};

static void set_order(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    for (int i = 0; i < MPR_ORDERS_COUNT; i++)
        if (strcmp(text, mpr_order_name[i]) == 0) {
            a->peaks.order = a->output.naming.order = (enum mpr_order)i;
            return;
        }
    argp_error(state, "--%s=%s: bytes, blocks, allocs, end or own is wanted", name, text);
}

static const struct mpr_option options[] = {
    { "all", 0, NULL, "every process, the largest first, and the tree of them",
      MPR_TO_FLAG(struct arguments, all) },
    { "by", 'b', MPR_BY_WORDS, MPR_BY_HELP, MPR_TO_BY(struct arguments, peaks.by) },
    { "heap", 0, "NAME", MPR_HEAP_HELP, MPR_TO_HEAP(struct arguments, peaks.heap) },
    { "at", 0, "TIME",
      "who held the memory then, not at the peak: " MPR_INSTANTS
      "; with --all a time after the start",
      MPR_TO_INSTANT(struct arguments, at) },
    { "backward-of", 0, NULL, MPR_BACKWARD_OF_HELP,
      MPR_TO_FLAG(struct arguments, peaks.backward_of) },
    { "sort", 0, "BY",
      "rank by bytes (default), blocks, allocs, end (bytes at the end) or own (own peak)",
      .set = set_order },
    { "no-inherit", 0, NULL, MPR_NO_INHERIT_HELP, MPR_TO_FLAG(struct arguments, peaks.no_inherit) },
    { 0 },
};

static const struct mpr_takes takes = {
    .doc = "Shows, for each heap, the peak and who held the bytes then."
           "\vExamples:\n"
           "  memprof-report peaks memprof.n03.4242.zst\n"
           "  memprof-report peaks --by thread --heap host/heap LOG\n"
           "  memprof-report peaks --at 00:01:30.250 LOG\n"
           "  memprof-report peaks --all --format json -o peaks.json logs/\n\n"
           "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    .options = options,
    .which = &mpr_logs_argp,
    .logs = offsetof(struct arguments, logs),
    .output = offsetof(struct arguments, output),
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
    mpr_takes_parse(&takes, argc, argv, &a, &a);
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
