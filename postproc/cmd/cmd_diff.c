#include <stdlib.h>

#include "alloc.h"
#include "cmd.h"
#include "diff.h"
#include "logs.h"
#include "options.h"
#include "reports.h"
#include "selection.h"

struct arguments {
    struct mpr_output output;
    struct mpr_peaks_options peaks;
    struct mpr_logs which; /* of a run's logs */
    const char **run;
    size_t runs, cap, base; /* the first `base` are the base's */
    const char *at[2];      /* of the base; of the new side, unless it is the same */
    bool parted;            /* by --new */
};

static void add_argument(struct arguments *a, const char *run)
{
    MPR_GROW(a->run, a->runs, a->cap);
    a->run[a->runs++] = run;
}

/* Without --new the second of two is the new one. */
static void part(void *arguments, struct argp_state *state)
{
    struct arguments *a = arguments;
    if (a->at[1] && a->runs == 1 && !a->parted) add_argument(a, a->run[0]);
    if (!a->parted) a->base = 1;
    if (!a->base || a->base >= a->runs || (!a->parted && a->runs != 2))
        argp_error(
            state,
            "two logs are wanted, or several on either side of --new, or one and --at twice");
}

static void begin_new(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    (void)text;
    if (a->parted) argp_error(state, "--%s: there are two sides", name);
    a->parted = true;
    a->base = a->runs;
}

static void set_at(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    if (a->at[1]) argp_error(state, "--%s: there are two sides", name);
    mpr_set_instant(&a->at[a->at[0] != NULL], text, name, state);
}

static error_t take_word(void *arguments, int key, char *text, struct argp_state *state)
{
    (void)state;
    if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
    add_argument(arguments, text);
    return 0;
}

static const struct mpr_option options[] = {
    { "new", 0, NULL,
      "what follows are runs of the new side: for several runs a side, which tell how far runs differ by themselves",
      .set = begin_new },
    { "by", 'b', MPR_BY_WORDS, MPR_BY_HELP, MPR_TO_BY(struct arguments, peaks.by) },
    { "heap", 0, "NAME", MPR_HEAP_HELP, MPR_TO_HEAP(struct arguments, peaks.heap) },
    { "at", 0, "TIME",
      "compare each run at TIME after its start (" MPR_INSTANTS
      "), not each heap at its peak; given again, the new side then: one log at two times, too",
      .set = set_at },
    { "backward-of", 0, NULL, MPR_BACKWARD_OF_HELP,
      MPR_TO_FLAG(struct arguments, peaks.backward_of) },
    { "no-inherit", 0, NULL, MPR_NO_INHERIT_HELP, MPR_TO_FLAG(struct arguments, peaks.no_inherit) },
    { 0 },
};

static const struct mpr_takes takes = {
    .words = "BASE NEW\nBASE... --new NEW...\n--at TIME --at TIME LOG",
    .doc =
        "Shows what two runs differ by, or two sides of several runs: each heap's peak, and what grew and what shrank in it."
        "\vEach is a log or a directory, of which the log is meant of the process that memory ran out for first, else that with the largest peak, or what --rank and --pid choose. Lines are matched by range, or by function and file: not by the line of the source, which a "
        "change above it moves.\n\n"
        "Examples:\n"
        "  memprof-report diff base.zst new.zst\n"
        "  memprof-report diff --heap gpu0/torch --by stack base.zst new.zst\n"
        "  memprof-report diff --at step:6.end --at step:7.end run.zst\n"
        "  memprof-report diff base1.zst base2.zst base3.zst --new new1.zst new2.zst\n\n"
        "Exit status: 0 fine, also where they differ, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    .options = options,
    .which = &mpr_logs_which_argp,
    .logs = offsetof(struct arguments, which),
    .output = offsetof(struct arguments, output),
    .in_order = true,
    .word = take_word,
    .check = part,
};

static void describe(struct mpr_document *doc, const void *result) { mpr_report_diff(doc, result); }

static int add_log(struct mpr_diff *diff, const struct arguments *a, size_t run, const char *path,
                   struct mpr_error *error)
{
    const struct mpr_progress progress = mpr_bar();
    const bool base = run < a->base;
    const char *when = a->at[base || !a->at[1] ? 0 : 1];
    struct mpr_instant at;
    if (mpr_selection_instant(when, MPR_PEAK_TIME, path, a->peaks.heap, &progress, &at, error) != 0)
        return -1;
    return mpr_diff_add(diff, base, path, at, &progress, error);
}

/* Either side may lack the heap, not both. */
static bool has_heap(const struct arguments *a)
{
    struct mpr_logs all = { .pid = a->which.pid, .rank = a->which.rank, .heap = a->peaks.heap };
    bool good = true;
    if (!all.heap) return true;
    for (size_t i = 0; good && i < a->runs; i++) good = mpr_paths_add(&all.paths, a->run[i]);
    good = good && mpr_logs_choose(&all);
    return mpr_logs_close(&all, good ? MPR_EXIT_FINE : MPR_EXIT_FAILURE) == MPR_EXIT_FINE;
}

/* A run is one log. */
static bool add_run(struct mpr_diff *diff, const struct arguments *a, size_t run)
{
    struct mpr_logs logs = {
        .pid = a->which.pid, .rank = a->which.rank, .heap = a->peaks.heap, .heap_elsewhere = true
    };
    struct mpr_error error;
    logs.failed = !mpr_paths_add(&logs.paths, a->run[run]);
    const char *path = mpr_logs_one(&logs);
    const bool good = path && add_log(diff, a, run, path, &error) == 0;
    mpr_bar_clear();
    if (path && !good) mpr_cmd_error(&error);
    return mpr_logs_close(&logs, good ? MPR_EXIT_FINE : MPR_EXIT_FAILURE) == MPR_EXIT_FINE;
}

static int report(struct arguments *a, struct mpr_diff *diff)
{
    mpr_diff_finish(diff, a->output.naming.telling);
    return mpr_output_document(&a->output, describe, diff, mpr_peaks_incomplete(&diff->peaks));
}

int mpr_cmd_diff(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default(),
                           .peaks = { .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK } };
    struct mpr_diff diff;
    a.output.has_stacks = true;
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    bool good = has_heap(&a);
    mpr_diff_init(&diff, &a.peaks);
    for (size_t i = 0; good && i < a.runs; i++) good = add_run(&diff, &a, i);
    const int status = good ? report(&a, &diff) : MPR_EXIT_FAILURE;
    mpr_diff_free(&diff);
    free(a.run);
    return status;
}
