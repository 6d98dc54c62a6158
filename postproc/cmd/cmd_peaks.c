/* peaks: who held the memory, as a table or with --tree as a tree of call stacks. */
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "cmd.h"
#include "peaks.h"
#include "reports.h"
#include "sharing.h"

struct args {
    struct mpr_args common;
    struct mpr_peaks_options peaks;
    const char *at;
    bool all, tree, bottom_up;
    struct mpr_peaks *read; /* the result of --all */
};

#define ORDER_WORD(name, text, member) "|" text
static const char orders[] = MPR_ORDERS(ORDER_WORD); /* "|bytes|blocks|..." */

static void set_order(void *value, const struct mpr_given *given)
{
    struct args *a = value;
    a->peaks.order = a->common.output.naming.order = (enum mpr_order)mpr_option_word(given);
}

static void set_folded(void *value, const struct mpr_given *given)
{
    (void)given;
    struct args *a = value;
    a->common.output.renderer = &mpr_render_folded;
}

static const struct mpr_option options[] = {
    { "all", 0, NULL, "all processes, the largest first, and their tree",
      MPR_TO_FLAG(struct args, all) },
    { "by", 'b', MPR_BY_WORDS, "group by " MPR_BY_HELP, MPR_TO_BY(struct args, peaks.by) },
    { "heap", 0, "NAME",
      MPR_HEAP_HELP " (default of --tree: the one with the largest peak that has call stacks)",
      MPR_TO_HEAP(struct args, peaks.heap) },
    { "at", 0, "TIME",
      "show the memory at TIME, not at the peak: " MPR_INSTANTS
      "; with --all a time since the start",
      MPR_TO_INSTANT(struct args, at) },
    { "backward-of", 0, NULL, MPR_BACKWARD_OF_HELP, MPR_TO_FLAG(struct args, peaks.backward_of) },
    { "sort", 0, orders + 1,
      "rank by bytes (default), blocks, allocs, end (bytes at the end) or own (own peak)",
      .set = set_order },
    { "no-inherit", 0, NULL, MPR_NO_INHERIT_HELP, MPR_TO_FLAG(struct args, peaks.no_inherit) },
    { "tree", 0, NULL,
      "show the live bytes of one heap as a tree of call stacks: native ones, or with --by=python "
      "Python's",
      MPR_TO_FLAG(struct args, tree) },
    { "bottom-up", 0, NULL, "with --tree: from the allocating call towards main",
      MPR_TO_FLAG(struct args, bottom_up) },
    { "folded", 0, NULL, "the same as --format=folded", .set = set_folded },
    { 0 },
};

static void check(void *args, struct argp_state *state)
{
    const struct args *a = args;
    const enum mpr_group by = a->peaks.by;
    if (a->bottom_up && !a->tree) argp_error(state, "--bottom-up needs --tree");
    if (!a->tree) return;
    if (by != MPR_GROUP_AUTO && by != MPR_GROUP_STACK && by != MPR_GROUP_PYTHON)
        argp_error(state, "invalid --by '%s' with --tree: expected stack or python",
                   mpr_group_name[by]);
    if (a->all || a->peaks.order || a->peaks.backward_of || a->peaks.no_inherit)
        argp_error(state,
                   "--tree cannot be combined with --all, --sort, --backward-of or --no-inherit");
}

static const struct mpr_cmdline cmdline = {
    .doc = "Shows the peak of each heap, and the owners of the memory at the peak."
           "\vExamples:\n"
           "  memprof-report peaks memprof.n03.4242.zst\n"
           "  memprof-report peaks --by thread --heap host/heap LOG\n"
           "  memprof-report peaks --at 00:01:30.250 LOG\n"
           "  memprof-report peaks --all --format json -o peaks.json logs/\n"
           "  memprof-report peaks --tree --bottom-up --at step:12.end LOG\n"
           "  memprof-report peaks --tree --folded LOG | flamegraph.pl >peaks.svg",
    .options = options,
    .check = check,
    .has_stacks = true,
};

/* ---- tables */

static int read_log(struct args *a, struct mpr_peaks *peaks, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error)
{
    if (mpr_instant_find(a->at, MPR_PEAK_TIME, path, a->peaks.heap, progress, &peaks->options.at,
                         error) != 0)
        return -1;
    return mpr_peaks_add(peaks, path, progress, error);
}

/* Names the other processes that hold memory of the devices, from all logs that were given. */
static void name_processes(struct mpr_peaks *peaks, struct mpr_processes *all,
                           const struct mpr_paths *logs, const struct mpr_progress *progress)
{
    size_t shared = 0;
    for (size_t i = 0; i < peaks->logs; i++)
        for (size_t k = 0; k < peaks->log[i].devices; k++)
            shared += mpr_sharing_is_possible(&peaks->log[i].device[k].peak);
    if (logs->count < 2 || !shared) return;
    mpr_processes_read(all, (const char *const *)logs->at, logs->count, progress);
    mpr_sharing_of_peaks(peaks, NULL, all, progress);
}

static int make_table(struct mpr_log_report *report)
{
    struct args *a = (struct args *)report->args;
    struct mpr_peaks peaks;
    struct mpr_processes all = { 0 };
    mpr_peaks_init(&peaks, &a->peaks);
    const int status = read_log(a, &peaks, report->path, &report->progress, &report->error);
    if (status == 0) {
        mpr_peaks_finish(&peaks);
        name_processes(&peaks, &all, &a->common.logs.given, &report->progress);
        mpr_report_peaks(mpr_log_report_begin(report), &peaks);
        mpr_log_report_end(report, mpr_peaks_incomplete(&peaks));
    }
    mpr_peaks_free(&peaks);
    mpr_processes_free(&all);
    return status;
}

static int add(void *args, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    struct args *a = args;
    return read_log(a, a->read, path, progress, error);
}

static int show_all(struct args *a)
{
    struct mpr_logs *logs = &a->common.logs;
    struct mpr_document doc;
    struct mpr_peaks peaks;
    struct mpr_processes all = { 0 };
    int status = MPR_EXIT_FAILURE;
    logs->heap = a->peaks.heap;
    mpr_logs_choose(logs);
    if (logs->paths.count > 1 && mpr_instant_is_named(a->at)) {
        mpr_cmd_say(
            "--at=%s is an instant of one log, and there are %zu logs; give a time since the start, such as "
            "12.5s",
            a->at, logs->paths.count);
        exit(MPR_EXIT_USAGE);
    }
    mpr_peaks_init(&peaks, &a->peaks);
    a->read = &peaks;
    mpr_logs_each(logs, add, a);
    mpr_peaks_finish(&peaks);
    const struct mpr_progress progress = mpr_bar();
    name_processes(&peaks, &all, &logs->given, &progress);
    mpr_bar_clear();
    if (peaks.logs) {
        mpr_output_begin(&a->common.output, &doc);
        mpr_report_peaks(&doc, &peaks);
        status = mpr_output_document(&a->common.output, &doc, mpr_peaks_incomplete(&peaks));
    }
    mpr_peaks_free(&peaks);
    mpr_processes_free(&all);
    return mpr_args_close(&a->common, status);
}

/* ---- a tree of call stacks */

static void draw(const struct mpr_renderer *text, FILE *out, const void *tree,
                 const struct mpr_style *style)
{
    (void)text;
    mpr_stacks_text(out, tree, style);
}

static int make_tree(struct mpr_log_report *report)
{
    const struct args *a = (const struct args *)report->args;
    const char *at = a->at && strcmp(a->at, "peak") != 0 ? a->at : NULL;
    struct mpr_calltree_options tree_options = { .python = a->peaks.by == MPR_GROUP_PYTHON,
                                                 .bottom_up = a->bottom_up,
                                                 .heap = a->peaks.heap };
    struct mpr_calltree tree;
    if (mpr_instant_find(at, MPR_PEAK_TIME, report->path, a->peaks.heap, &report->progress,
                         &tree_options.at, &report->error) != 0 ||
        mpr_calltree_read(&tree, report->path, &tree_options, &report->progress, &report->error) !=
            0)
        return -1;
    const bool incomplete = tree.summary.incomplete;
    if (report->args->output.renderer == &mpr_render_text) {
        mpr_bar_clear();
        report->status = mpr_output_report(&report->args->output, draw, &tree, incomplete);
    } else {
        mpr_report_tree(mpr_log_report_begin(report), &tree);
        mpr_log_report_end(report, incomplete);
    }
    mpr_calltree_free(&tree);
    return 0;
}

int mpr_cmd_peaks(int argc, char **argv)
{
    struct args a = { .common = mpr_args_default(),
                      .peaks = { .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK } };
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    a.peaks.all_bytes = a.peaks.by == MPR_GROUP_SIZE;
    if (!a.all) a.peaks.all_bytes |= a.peaks.by == MPR_GROUP_THREAD; /* also sets lifetimes */
    if (a.all) return show_all(&a);
    return mpr_log_report_run(&a.common, a.peaks.heap, a.tree ? make_tree : make_table);
}
