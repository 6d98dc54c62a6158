/* breakdown, segments and graphs: PyTorch's memory on GPUs, and CUDA graphs; segments also shows
 * the pages of malloc. */
#include <string.h>

#include "breakdown.h"
#include "cmd.h"
#include "graphs.h"
#include "occupancy.h"
#include "reports.h"
#include "segments.h"

struct at_args {
    struct mpr_args common;
    const char *at; /* NULL for the default instant */
};

/* ---- breakdown */

static const struct mpr_option breakdown_options[] = {
    { "at", 0, "TIME", MPR_INSTANTS " (default: peak, each device's peak of PyTorch's memory)",
      MPR_TO(mpr_set_instant_or_peak, const char *, struct at_args, at) },
    { 0 },
};

static const struct mpr_cmdline breakdown_cmdline = {
    .doc =
        "Shows PyTorch's device memory by its role in a training step: parameters, gradients, optimizer state, activations and so "
        "on. The role of a block is inferred from the times at which it was allocated and freed."
        "\vExamples:\n"
        "  memprof-report breakdown memprof.n03.4242.zst\n"
        "  memprof-report breakdown --at step:12 LOG\n"
        "  memprof-report breakdown --top 20 LOG",
    .options = breakdown_options,
    .has_stacks = true,
};

static int make_breakdown(struct mpr_log_report *report)
{
    const char *at = ((const struct at_args *)report->args)->at;
    struct mpr_breakdown breakdown;
    struct mpr_instant instant;
    if (mpr_instant_find(at, MPR_PEAK_TIME, report->path, MPF_HEAP_NONE, &report->progress,
                         &instant, &report->error) != 0 ||
        mpr_breakdown_read(&breakdown, report->path, instant, false, &report->progress,
                           &report->error) != 0)
        return -1;
    mpr_report_breakdown(mpr_log_report_begin(report), &breakdown);
    mpr_log_report_end(report, breakdown.summary.incomplete);
    mpr_breakdown_free(&breakdown);
    return 0;
}

int mpr_cmd_breakdown(int argc, char **argv)
{
    struct at_args a = { .common = mpr_args_default() };
    mpr_cmdline_parse(&breakdown_cmdline, argc, argv, &a);
    return mpr_log_report_run(&a.common, MPF_HEAP_NONE, make_breakdown);
}

/* ---- segments */

struct segments_args {
    struct mpr_args common;
    const char *at; /* NULL for the default instant */
    uint8_t heap;
    enum mpr_group by;
};

static const struct mpr_option segments_options[] = {
    { "at", 0, "TIME",
      MPR_INSTANTS
      " (default: oom if memory ran out, else peak, each device's peak; of host/heap: when malloc "
      "kept most of what was freed)",
      MPR_TO_INSTANT(struct segments_args, at) },
    { "heap", 0, "NAME",
      "host/heap: the pages of malloc, which a log without PyTorch's segments always shows",
      MPR_TO_HEAP(struct segments_args, heap) },
    { "by", 'b', MPR_BY_WORDS, "group the blocks of host/heap by " MPR_BY_HELP,
      MPR_TO_BY(struct segments_args, by) },
    { 0 },
};

static void check_segments(void *args, struct argp_state *state)
{
    const struct segments_args *a = args;
    if (a->heap != MPF_HEAP_NONE && a->heap != MPF_HEAP_HOST)
        argp_error(state, "invalid --heap '%s': expected host/heap", mpr_heap_name(a->heap));
}

static const struct mpr_cmdline segments_cmdline = {
    .doc =
        "Shows the segments of PyTorch's caching allocator at one instant: their live blocks, their holes by pool, and the blocks "
        "that pin free bytes. Of host/heap it shows the pages of malloc in the same way: what live blocks pin, and what "
        "malloc_trim returns."
        "\vExamples:\n"
        "  memprof-report segments memprof.n03.4242.zst\n"
        "  memprof-report segments --at peak LOG\n"
        "  memprof-report segments --at step:12.end --format json LOG\n"
        "  memprof-report segments --heap host/heap --at rss LOG",
    .options = segments_options,
    .check = check_segments,
    .has_stacks = true,
};

static int make_occupancy(struct mpr_log_report *report)
{
    const struct segments_args *a = (const struct segments_args *)report->args;
    struct mpr_occupancy occupancy;
    struct mpr_occupancy_options options = { .which = MPR_OCCUPANCY_AT_TIME,
                                             .by = a->by,
                                             .instead = !a->heap };
    if (!a->at) options.which = MPR_OCCUPANCY_AT_KEPT;
    else if (strcmp(a->at, "peak") == 0) options.which = MPR_OCCUPANCY_AT_PEAK;
    else if (mpr_instant_find(a->at, 0, report->path, MPF_HEAP_HOST, &report->progress, &options.at,
                              &report->error) != 0)
        return -1;
    if (mpr_occupancy_read(&occupancy, report->path, &options, &report->progress, &report->error) !=
        0)
        return -1;
    mpr_report_occupancy(mpr_log_report_begin(report), &occupancy);
    mpr_log_report_end(report, occupancy.summary.incomplete);
    mpr_occupancy_free(&occupancy);
    return 0;
}

static int make_segments(struct mpr_log_report *report)
{
    const struct segments_args *a = (const struct segments_args *)report->args;
    const char *at = a->at;
    struct mpr_segments segments;
    struct mpr_segments_options options = { .which = MPR_SEGMENTS_AT_TIME };
    if (a->heap == MPF_HEAP_HOST) return make_occupancy(report);
    if (!at) options.which = MPR_SEGMENTS_AT_WORST;
    else if (strcmp(at, "peak") == 0) options.which = MPR_SEGMENTS_AT_PEAK;
    else if (strcmp(at, "oom") == 0) options.which = MPR_SEGMENTS_AT_OOM;
    else if (mpr_instant_find(at, 0, report->path, MPF_HEAP_NONE, &report->progress, &options.at,
                              &report->error) != 0)
        return -1;
    if (mpr_segments_read(&segments, report->path, &options, &report->progress, &report->error) !=
        0)
        return -1;
    if (!segments.devices) {
        mpr_segments_free(&segments);
        return make_occupancy(report);
    }
    mpr_report_segments(mpr_log_report_begin(report), &segments);
    mpr_log_report_end(report, segments.summary.incomplete);
    mpr_segments_free(&segments);
    return 0;
}

int mpr_cmd_segments(int argc, char **argv)
{
    struct segments_args a = { .common = mpr_args_default(), .by = MPR_GROUP_AUTO };
    mpr_cmdline_parse(&segments_cmdline, argc, argv, &a);
    return mpr_log_report_run(&a.common, a.heap, make_segments);
}

/* ---- graphs */

static const struct mpr_cmdline graphs_cmdline = {
    .doc =
        "Shows the memory cost of CUDA graphs: captures by burst, the memory that PyTorch took for their pools, and the device "
        "memory of their executables and first launches."
        "\vExamples:\n  memprof-report graphs memprof.n03.4242.zst\n  memprof-report graphs --format json LOG",
    .has_stacks = true,
};

static int make_graphs(struct mpr_log_report *report)
{
    struct mpr_graphs graphs;
    if (mpr_graphs_read(&graphs, report->path, &report->progress, &report->error) != 0) return -1;
    mpr_report_graphs(mpr_log_report_begin(report), &graphs);
    mpr_log_report_end(report, graphs.summary.incomplete);
    mpr_graphs_free(&graphs);
    return 0;
}

int mpr_cmd_graphs(int argc, char **argv)
{
    struct mpr_args a = mpr_args_default();
    mpr_cmdline_parse(&graphs_cmdline, argc, argv, &a);
    return mpr_log_report_run(&a, MPF_HEAP_NONE, make_graphs);
}
