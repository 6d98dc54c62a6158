#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "contents.h"
#include "database.h"
#include "export_format.h"
#include "ooms.h"
#include "reports.h"
#include "selection.h"
#include "timeline.h"

struct arguments {
    struct mpr_export *of;
    struct mpr_naming naming;
    struct mpr_contents_options contents;
    struct mpr_database *database;
    uint64_t processes;
    bool incomplete, failed; /* failed: memory of a device, in the newest log */
};

/* ---- rows */

static void put(struct arguments *a, enum mpr_export_which which, const void *row, size_t rows,
                size_t stride, const void *context)
{
    mpr_database_put(a->database, &mpr_export_table[which], row, rows, stride, context);
}
#define PUT(a, which, list, count) put((a), (which), (list), (count), sizeof *(list), NULL)
#define PUT_OF(a, which, list, count, context)                                                     \
    put((a), (which), (list), (count), sizeof *(list), (context))

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

static void put_devices(struct arguments *a, const struct mpr_contents *c)
{
    PUT(a, MPR_EXPORT_DEVICES, c->device, c->devices);
    for (size_t i = 0; i < c->devices; i++) {
        const struct mpr_device_state *peak = &c->device[i].peak;
        PUT_OF(a, MPR_EXPORT_DEVICE_PARTS, peak->part, peak->parts, &c->device[i]);
        PUT_OF(a, MPR_EXPORT_COMMUNICATORS, peak->comm, peak->comms, &c->device[i]);
    }
}

/* Tables that a report has, too. */
static void put_reports(struct arguments *a, const struct mpr_contents *c)
{
    struct mpr_document graphs = { .naming = &a->naming }, segments = { .naming = &a->naming };
    mpr_report_graphs(&graphs, &c->graphs);
    mpr_report_segments(&segments, &c->segments);
    mpr_database_document(a->database, "graphs", &graphs);
    mpr_database_document(a->database, "segments", &segments);
    mpr_doc_free(&graphs);
    mpr_doc_free(&segments);
}

static void put_contents(struct arguments *a, const struct mpr_contents *c)
{
    PUT(a, MPR_EXPORT_PROCESSES, &c->summary, 1);
    PUT(a, MPR_EXPORT_HEAPS, c->heap, c->heaps);
    PUT(a, MPR_EXPORT_THREADS, c->thread, c->threads);
    PUT(a, MPR_EXPORT_RANGES, c->range, c->ranges);
    PUT(a, MPR_EXPORT_SITES, c->site, c->sites);
    PUT(a, MPR_EXPORT_CALLS, c->call, c->calls);
    PUT(a, MPR_EXPORT_FRAMES, c->frame, c->frames);
    PUT(a, MPR_EXPORT_USES, c->use, c->uses);
    put_devices(a, c);
    put_reports(a, c);
}

/* ---- one log */

static int read_contents(struct arguments *a, const char *path, const struct mpr_progress *progress,
                         struct mpr_error *error)
{
    const struct mpr_content_sink sink = { a, put_block, put_instance, put_sample, put_gpu };
    struct mpr_contents contents;
    if (mpr_contents_read(&contents, path, &a->contents, &sink, progress, error) != 0) return -1;
    a->incomplete |= contents.summary.incomplete;
    a->failed = contents.failures > 0;
    put_contents(a, &contents);
    mpr_contents_free(&contents);
    return 0;
}

static int read_series(struct arguments *a, const char *path, const struct mpr_progress *progress,
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
        PUT_OF(a, MPR_EXPORT_SERIES, timeline.heap[i].span, timeline.heap[i].spans,
               &timeline.heap[i]);
    mpr_timeline_free(&timeline);
    return 0;
}

/* Only where a device had too little memory: it reads the log once more. */
static int read_ooms(struct arguments *a, const char *path, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct mpr_ooms ooms = { .by = MPR_GROUP_AUTO };
    if (!a->failed) return 0;
    const int status = mpr_ooms_add(&ooms, path, progress, error);
    for (size_t i = 0; i < ooms.logs; i++)
        PUT(a, MPR_EXPORT_OOMS, ooms.log[i].story, ooms.log[i].stories);
    mpr_ooms_free(&ooms);
    return status;
}

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    struct arguments *a = to;
    if (mpr_database_failed(a->database)) return 0; /* said at the end */
    mpr_database_process(a->database, a->processes + 1);
    if (mpr_export_window(a->of, path, progress, &a->contents.from_ns, &a->contents.until_ns,
                          error) != 0 ||
        read_contents(a, path, progress, error) != 0 ||
        read_series(a, path, progress, error) != 0 || read_ooms(a, path, progress, error) != 0) {
        mpr_database_forget(a->database);
        return -1;
    }
    a->processes++;
    return 0;
}

/* ---- all of them */

/* So that who looks for a table finds it, also where no log has any of it. */
static void declare(struct mpr_database *db)
{
    for (int i = 0; i < MPR_EXPORT_COUNT; i++)
        mpr_database_put(db, &mpr_export_table[i], NULL, 0, 0, NULL);
}

static void complete(struct mpr_database *db)
{
    mpr_database_run(db, "CREATE INDEX blocks_by_heap ON blocks (process_id, heap, made_ns)");
    mpr_database_run(db, "CREATE INDEX instances_by_range ON instances (process_id, range_id)");
}

static const struct mpr_database_kind exported = { .version = 1, .page_bytes = 4096 };

static int write_all(struct arguments *a)
{
    struct mpr_export *e = a->of;
    const struct mpr_database_place named = { e->output, AT_FDCWD, 0666 };
    const char *why;
    a->database = mpr_database_open(&named, &exported, &why);
    if (a->database) {
        declare(a->database);
        mpr_logs_each(&e->logs, add, a);
        complete(a->database);
        why = mpr_database_close(a->database, a->processes != 0);
    }
    if (!why && !a->processes) return MPR_EXIT_FAILURE;
    if (!why) return a->incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE;
    mpr_cmd_say("%s: cannot write: %s", e->output, why);
    return MPR_EXIT_FAILURE;
}

static int export_sqlite(struct mpr_export *e)
{
    struct arguments a = { .of = e,
                           .naming = { .telling = e->telling },
                           .contents = { .min_bytes = e->min_bytes, .telling = e->telling } };
    if (!mpr_database_available()) {
        mpr_cmd_say("built without SQLite: install its header (apt-get install libsqlite3-dev), "
                    "then configure and build memprof again");
        return MPR_EXIT_FAILURE;
    }
    mpr_logs_choose(&e->logs);
    return write_all(&a);
}

const struct mpr_export_format mpr_export_sqlite = {
    .name = "sqlite", .output = "memprof.sqlite", .takes = MPR_EXPORT_MIN, .write = export_sqlite
};
