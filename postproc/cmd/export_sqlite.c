/* export --to=sqlite: one database of all logs. */
#include <fcntl.h>

#include "contents.h"
#include "database.h"
#include "export_format.h"
#include "ooms.h"
#include "reports.h"
#include "timeline.h"

struct writing {
    struct mpr_export *export;
    struct mpr_naming naming;
    struct mpr_contents_options contents;
    struct mpr_database *database;
    uint64_t processes;
    bool incomplete;
    bool ran_out; /* of device memory, in the newest log */
};

/* ---- rows */

static void put(struct writing *w, enum mpr_export_which which, const void *row, size_t rows,
                size_t stride, const void *context)
{
    mpr_database_put(w->database, &mpr_export_table[which], row, rows, stride, context);
}
#define PUT(w, which, list, count) put((w), (which), (list), (count), sizeof *(list), NULL)
#define PUT_OF(w, which, list, count, context)                                                     \
    put((w), (which), (list), (count), sizeof *(list), (context))

static void put_block(void *arg, const struct mpr_content_block *block)
{
    PUT(arg, MPR_EXPORT_BLOCKS, block, 1);
}

static void put_instance(void *arg, const struct mpr_content_instance *instance)
{
    PUT(arg, MPR_EXPORT_INSTANCES, instance, 1);
}

static void put_sample(void *arg, enum mpr_reading_source source, const struct mpr_reading *reading)
{
    static const enum mpr_export_which table[] = { [MPR_READ_RSS] = MPR_EXPORT_SAMPLES_RSS,
                                                   [MPR_READ_CGROUP] = MPR_EXPORT_SAMPLES_CGROUP,
                                                   [MPR_READ_JEMALLOC] =
                                                       MPR_EXPORT_SAMPLES_JEMALLOC };
    PUT(arg, table[source], reading, 1);
}

static void put_gpu(void *arg, const struct mpr_content_gpu *sample)
{
    PUT(arg, MPR_EXPORT_SAMPLES_GPU, sample, 1);
}

static void put_devices(struct writing *w, const struct mpr_contents *c)
{
    PUT(w, MPR_EXPORT_DEVICES, c->device, c->devices);
    for (size_t i = 0; i < c->devices; i++) {
        const struct mpr_device_state *peak = &c->device[i].peak;
        PUT_OF(w, MPR_EXPORT_DEVICE_PARTS, peak->part, peak->parts, &c->device[i]);
        PUT_OF(w, MPR_EXPORT_COMMUNICATORS, peak->comm, peak->comms, &c->device[i]);
    }
}

/* The tables that reports also have. */
static void put_reports(struct writing *w, const struct mpr_contents *c)
{
    struct mpr_document graphs = { .naming = &w->naming }, segments = { .naming = &w->naming };
    mpr_report_graphs(&graphs, &c->graphs);
    mpr_report_segments(&segments, &c->segments);
    mpr_database_document(w->database, "graphs", &graphs);
    mpr_database_document(w->database, "segments", &segments);
    mpr_doc_free(&graphs);
    mpr_doc_free(&segments);
}

static void put_contents(struct writing *w, const struct mpr_contents *c)
{
    PUT(w, MPR_EXPORT_PROCESSES, &c->summary, 1);
    PUT(w, MPR_EXPORT_HEAPS, c->heap, c->heaps);
    PUT(w, MPR_EXPORT_THREADS, c->thread, c->threads);
    PUT(w, MPR_EXPORT_RANGES, c->range, c->ranges);
    PUT(w, MPR_EXPORT_SITES, c->site, c->sites);
    PUT(w, MPR_EXPORT_CALLS, c->call, c->calls);
    PUT(w, MPR_EXPORT_FRAMES, c->frame, c->frames);
    PUT(w, MPR_EXPORT_USES, c->use, c->uses);
    put_devices(w, c);
    put_reports(w, c);
}

/* ---- logs */

static int read_contents(struct writing *w, const char *path, const struct mpr_progress *progress,
                         struct mpr_error *error)
{
    const struct mpr_content_sink sink = { w, put_block, put_instance, put_sample, put_gpu };
    struct mpr_contents contents;
    if (mpr_contents_read(&contents, path, &w->contents, &sink, progress, error) != 0) return -1;
    w->incomplete |= contents.summary.incomplete;
    w->ran_out = contents.failures > 0;
    put_contents(w, &contents);
    mpr_contents_free(&contents);
    return 0;
}

static int read_series(struct writing *w, const char *path, const struct mpr_progress *progress,
                       struct mpr_error *error)
{
    const struct mpr_timeline_options wanted = { .by = MPR_GROUP_RANGE,
                                                 .to = UINT64_MAX,
                                                 .buckets = MPR_EXPORT_SPANS,
                                                 .bands = 1,
                                                 .changes = SIZE_MAX };
    struct mpr_timeline timeline;
    if (mpr_timeline_read(&timeline, path, &wanted, progress, error) != 0) return -1;
    for (size_t i = 0; i < timeline.heaps; i++)
        PUT_OF(w, MPR_EXPORT_SERIES, timeline.heap[i].span, timeline.heap[i].spans,
               &timeline.heap[i]);
    mpr_timeline_free(&timeline);
    return 0;
}

/* Reads the log once more, but only if a device ran out of memory. */
static int read_ooms(struct writing *w, const char *path, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct mpr_ooms ooms = { .by = MPR_GROUP_AUTO };
    if (!w->ran_out) return 0;
    const int status = mpr_ooms_add(&ooms, path, progress, error);
    for (size_t i = 0; i < ooms.logs; i++)
        PUT(w, MPR_EXPORT_OOMS, ooms.log[i].story, ooms.log[i].stories);
    mpr_ooms_free(&ooms);
    return status;
}

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    struct writing *w = to;
    if (mpr_database_failed(w->database)) return 0; /* write_all prints the reason */
    mpr_database_process(w->database, w->processes + 1);
    if (mpr_export_window(w->export, path, progress, &w->contents.from_ns, &w->contents.until_ns,
                          error) != 0 ||
        read_contents(w, path, progress, error) != 0 ||
        read_series(w, path, progress, error) != 0 || read_ooms(w, path, progress, error) != 0) {
        mpr_database_forget(w->database);
        return -1;
    }
    w->processes++;
    return 0;
}

/* Every table exists, even if no log has rows of it, so that queries do not fail. */
static const char *write_all(struct writing *w)
{
    static const struct mpr_database_kind exported = { .version = 1, .page_bytes = 4096 };
    const struct mpr_database_place place = { w->export->path, AT_FDCWD, 0666 };
    const char *why;
    struct mpr_database *db = w->database = mpr_database_open(&place, &exported, &why);
    if (!db) return why;
    for (int i = 0; i < MPR_EXPORT_COUNT; i++)
        mpr_database_put(db, &mpr_export_table[i], NULL, 0, 0, NULL);
    mpr_logs_each(&w->export->common.logs, add, w);
    mpr_database_run(db, "CREATE INDEX blocks_by_heap ON blocks (process_id, heap, made_ns)");
    mpr_database_run(db, "CREATE INDEX instances_by_range ON instances (process_id, range_id)");
    return mpr_database_close(db, w->processes != 0);
}

static int export_sqlite(struct mpr_export *e)
{
    struct mpr_user_frames *user_frames = e->common.output.user_frames;
    struct writing w = { .export = e,
                         .naming = { .user_frames = user_frames },
                         .contents = { .min_bytes = e->min_bytes, .user_frames = user_frames } };
    if (!mpr_database_available()) {
        mpr_cmd_say(MPR_NO_SQLITE);
        return MPR_EXIT_FAILURE;
    }
    mpr_logs_choose(&e->common.logs);
    const char *why = write_all(&w);
    if (why) mpr_cmd_say("%s: cannot write: %s", e->path, why);
    if (why || !w.processes) return MPR_EXIT_FAILURE;
    return w.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE;
}

const struct mpr_export_format mpr_export_sqlite = {
    .name = "sqlite", .path = "memprof.sqlite", .options = MPR_EXPORT_MIN, .write = export_sqlite
};
