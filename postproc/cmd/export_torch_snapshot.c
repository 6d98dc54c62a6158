#include <stdlib.h>

#include "alloc.h"
#include "export_format.h"
#include "mpf/event.h"
#include "named_instant.h"
#include "range_turns.h"
#include "torch_snapshot.h"
#include "torch_trace.h"

struct writing {
    const struct mpr_export *export;
    const char *log;
    const struct mpr_progress *progress;
    uint64_t from_ns, until_ns;
    bool at_oom; /* until_ns is the time of an OOM, without --until */
    struct mpr_torch_survey survey;
    struct mpr_code code;
    struct mpr_torch_state *state; /* by device */
    struct mpr_torch_snapshot snapshot;
};

static bool find_instant(const struct writing *w, const char *name, struct mpr_instant *at)
{
    struct mpr_error none;
    return mpr_named_instant_find(w->log, name, MPF_HEAP_NONE, w->progress, at, &none) == 0;
}

/* A program that ran out of device memory frees all of it before it ends, so the snapshot is of the
 * failed allocation, unless the program held more afterwards. */
static void end_at_oom(struct writing *w)
{
    struct mpr_instant at, peak;
    if (w->export->until || !find_instant(w, "oom", &at) || at.to < w->from_ns ||
        !find_instant(w, "peak", &peak) || peak.from > at.to)
        return;
    w->until_ns = at.to;
    w->at_oom = true;
}

static int survey(struct writing *w, struct mpr_error *error)
{
    if (mpr_torch_survey(&w->survey, w->log, w->progress, error) != 0) return -1;
    if (!w->survey.devices)
        return mpr_fail(error, "%s: this log has no block of PyTorch's allocator on a GPU", w->log);
    w->state = mpr_alloc(w->survey.devices, sizeof *w->state);
    if (mpr_export_window(w->export, w->log, w->progress, &w->from_ns, &w->until_ns, error) != 0)
        return -1;
    end_at_oom(w);
    return 0;
}

static void put_entry(void *arg, const struct mpr_torch_entry *entry)
{
    mpr_torch_snapshot_entry(arg, entry);
}

static void put_turn(void *arg, const struct mpr_range_turn *turn)
{
    mpr_torch_snapshot_turn(arg, turn);
}

static int put_traces(struct writing *w, struct mpr_error *error)
{
    struct mpr_torch_options options = { .min_bytes = w->export->min_bytes,
                                         .from_ns = w->from_ns,
                                         .until_ns = w->until_ns,
                                         .tell = put_entry,
                                         .arg = &w->snapshot };
    for (unsigned i = 0; i < w->survey.devices; i++) {
        options.device = i;
        mpr_torch_snapshot_trace(&w->snapshot);
        if (mpr_torch_trace_read(&w->state[i], &w->code, w->log, &options, w->progress, error) != 0)
            return -1;
        mpr_torch_snapshot_trace_end(&w->snapshot);
    }
    return 0;
}

static int put_annotations(struct writing *w, struct mpr_error *error)
{
    const struct mpr_range_turns_options options = { .step = w->survey.step,
                                                     .from_ns = w->from_ns,
                                                     .until_ns = w->until_ns,
                                                     .tell = put_turn,
                                                     .arg = &w->snapshot };
    mpr_torch_snapshot_annotations(&w->snapshot);
    return mpr_range_turns_read(w->log, &options, w->progress, error);
}

static int put_all(struct writing *w, FILE *out, struct mpr_error *error)
{
    struct mpr_torch_snapshot *s = &w->snapshot;
    mpr_torch_snapshot_begin(s, out, &w->code, w->survey.summary.process.start_ns);
    if (put_traces(w, error) != 0 || put_annotations(w, error) != 0) return -1;
    mpr_torch_snapshot_segments(s);
    for (unsigned i = 0; i < w->survey.devices; i++) mpr_torch_snapshot_state(s, i, &w->state[i]);
    mpr_torch_snapshot_end(s);
    return 0;
}

static void free_all(struct writing *w)
{
    for (unsigned i = 0; w->state && i < w->survey.devices; i++) mpr_torch_state_free(&w->state[i]);
    free(w->state);
    mpr_torch_snapshot_free(&w->snapshot);
    mpr_code_free(&w->code);
    mpr_torch_survey_free(&w->survey);
}

/* Opens the output only if the log has something to write.  Returns the exit status, or -1 with
 * *error filled. */
static int write_one(struct writing *w, struct mpr_error *error)
{
    struct mpr_destination to;
    if (survey(w, error) != 0) return -1;
    if (mpr_destination_open(&to, w->export->path) != 0) return MPR_EXIT_FAILURE;
    const int put = put_all(w, to.file, error);
    if (mpr_destination_close(&to, put == 0) != 0) return MPR_EXIT_FAILURE;
    if (put != 0) return -1;
    mpr_bar_clear();
    if (w->at_oom)
        mpr_cmd_say(
            "%s: device memory ran out; the snapshot shows that time (--until=end: the end of the log)",
            w->log);
    return w->survey.summary.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE;
}

static int export_torch_snapshot(struct mpr_export *e)
{
    const char *log = mpr_logs_one(&e->common.logs);
    if (!log) return MPR_EXIT_FAILURE;
    const struct mpr_progress progress = mpr_bar();
    struct writing w = { .export = e, .log = log, .progress = &progress };
    struct mpr_error error;
    int status = write_one(&w, &error);
    mpr_bar_clear();
    if (status < 0) {
        mpr_cmd_error(&error);
        status = MPR_EXIT_FAILURE;
    }
    free_all(&w);
    return status;
}

const struct mpr_export_format mpr_export_torch_snapshot = { .name = "torch-snapshot",
                                                             .path = "memprof.pickle",
                                                             .options = MPR_EXPORT_MIN,
                                                             .streams = true,
                                                             .write = export_torch_snapshot };
