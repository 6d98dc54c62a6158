#include "cmd.h"
#include "export_format.h"
#include "perfetto.h"
#include "range_turns.h"
#include "timeline.h"

struct writing {
    const struct mpr_export *of;
    struct mpr_naming naming;
    struct mpr_perfetto perfetto;
    uint64_t processes;
    bool incomplete;
};

static void put_turn(void *arg, const struct mpr_range_turn *turn) { mpr_perfetto_turn(arg, turn); }

static int read_timeline(struct mpr_timeline *timeline, const struct writing *w, const char *path,
                         const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_timeline_options wanted = { .by = MPR_GROUP_ALL,
                                           .heap = w->of->heap,
                                           .buckets = MPR_EXPORT_SPANS,
                                           .bands = 1,
                                           .changes = SIZE_MAX,
                                           .exact = 1,
                                           .naming = &w->naming };
    if (mpr_export_window(w->of, path, progress, &wanted.from, &wanted.to, error) != 0) return -1;
    return mpr_timeline_read(timeline, path, &wanted, progress, error);
}

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    struct writing *w = to;
    struct mpr_timeline timeline;
    if (read_timeline(&timeline, w, path, progress, error) != 0) return -1;
    mpr_perfetto_process(&w->perfetto, &timeline);
    const struct mpr_range_turns_options turns = { .from_ns = timeline.options.from,
                                                   .until_ns = timeline.options.to,
                                                   .tell = put_turn,
                                                   .arg = &w->perfetto };
    const int status = mpr_range_turns_read(path, &turns, progress, error);
    w->incomplete |= timeline.summary.incomplete;
    w->processes += status == 0;
    mpr_timeline_free(&timeline);
    return status;
}

static int export_perfetto(struct mpr_export *e)
{
    struct writing w = { .of = e, .naming = { .telling = e->telling } };
    struct mpr_destination to;
    mpr_logs_choose(&e->logs);
    if (mpr_destination_open(&to, e->output) != 0) return MPR_EXIT_FAILURE;
    mpr_perfetto_begin(&w.perfetto, to.file);
    mpr_logs_each(&e->logs, add, &w);
    mpr_perfetto_free(&w.perfetto);
    if (mpr_destination_close(&to, w.processes != 0) != 0 || !w.processes) return MPR_EXIT_FAILURE;
    return w.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE;
}

const struct mpr_export_format mpr_export_perfetto = { .name = "perfetto",
                                                       .output = "memprof.pftrace",
                                                       .takes = MPR_EXPORT_HEAP,
                                                       .streams = true,
                                                       .write = export_perfetto };
