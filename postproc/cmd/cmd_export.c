#include <fcntl.h>
#include <string.h>

#include "check.h"
#include "cmd.h"
#include "contents.h"
#include "exports.h"
#include "mpf/event.h"
#include "named_instant.h"
#include "ooms.h"
#include "profile.h"
#include "reports.h"
#include "timeline.h"
#include "torch_trace.h"

enum { MAX_SPANS = 4096 }; /* limit for one heap over time */

struct export
{
    struct mpr_args common;
    const struct format *format;
    const char *path, *from, *until;
    uint8_t heap; /* or MPF_HEAP_NONE for all */
    uint64_t min_bytes;
    bool has_min; /* --min was given */

    /* Results: */
    uint64_t logs;   /* number of logs that were written */
    bool incomplete; /* one of them is incomplete */
    struct mpr_naming naming;
    struct mpr_pprof pprof;
    struct mpr_perfetto perfetto;
    struct mpr_database *database;
    struct mpr_contents_options contents;
    bool ran_out; /* device memory ran out in the newest log */
};

struct format {
    const char *name, *path;        /* path: the default of --output */
    bool takes_heap;                /* it has the option --heap instead of --min */
    bool streams;                   /* it can be written to standard output */
    int (*write)(struct export *e); /* returns 0, or -1 after a message on stderr */
};

/* Finds --from and --until in one log, in ns.  Prints a message if the log ends before --from; the
 * other logs are exported anyway.  Returns 0, or -1 with *error filled. */
static int find_window(const struct export *e, const char *path,
                       const struct mpr_progress *progress, uint64_t *from_ns, uint64_t *until_ns,
                       struct mpr_error *error)
{
    if (mpr_instant_span(e->from, e->until, path, MPF_HEAP_NONE, progress, from_ns, until_ns,
                         error) != 0)
        return -1;
    if (*from_ns > *until_ns)
        return mpr_fail(error, "%s: --from=%s is later than --until=%s", path, e->from, e->until);
    if (mpr_instant_check_begin(e->from, *from_ns, path, progress, error) != 0)
        mpr_cmd_error(error);
    return 0;
}

/* ---- sqlite: one database of all logs */

static void put(struct export *e, enum mpr_export_which which, const void *row, size_t rows,
                size_t stride, const void *context)
{
    mpr_database_put(e->database, &mpr_export_table[which], row, rows, stride, context);
}
#define PUT(e, which, list, count) put((e), (which), (list), (count), sizeof *(list), NULL)
#define PUT_OF(e, which, list, count, context)                                                     \
    put((e), (which), (list), (count), sizeof *(list), (context))

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
                                                       MPR_EXPORT_SAMPLES_JEMALLOC,
                                                   [MPR_READ_ALLOCATOR] =
                                                       MPR_EXPORT_SAMPLES_ALLOCATOR };
    PUT(arg, table[source], reading, 1);
}

static void put_gpu(void *arg, const struct mpr_content_gpu *sample)
{
    PUT(arg, MPR_EXPORT_SAMPLES_GPU, sample, 1);
}

/* Adds the rows of a log, and the tables that reports also have. */
static void put_contents(struct export *e, const struct mpr_contents *c)
{
    struct mpr_document graphs = { .naming = &e->naming }, segments = { .naming = &e->naming };
    PUT(e, MPR_EXPORT_PROCESSES, &c->summary, 1);
    PUT(e, MPR_EXPORT_HEAPS, c->heap, c->heaps);
    PUT(e, MPR_EXPORT_THREADS, c->thread, c->threads);
    PUT(e, MPR_EXPORT_RANGES, c->range, c->ranges);
    PUT(e, MPR_EXPORT_SITES, c->site, c->sites);
    PUT(e, MPR_EXPORT_CALLS, c->call, c->calls);
    PUT(e, MPR_EXPORT_FRAMES, c->frame, c->frames);
    PUT(e, MPR_EXPORT_USES, c->use, c->uses);
    PUT(e, MPR_EXPORT_DEVICES, c->device, c->devices);
    for (size_t i = 0; i < c->devices; i++) {
        const struct mpr_device_state *peak = &c->device[i].peak;
        PUT_OF(e, MPR_EXPORT_DEVICE_PARTS, peak->part, peak->parts, &c->device[i]);
        PUT_OF(e, MPR_EXPORT_COMMUNICATORS, peak->comm, peak->comms, &c->device[i]);
    }
    mpr_report_graphs(&graphs, &c->graphs);
    mpr_report_segments(&segments, &c->segments);
    mpr_database_document(e->database, "graphs", &graphs);
    mpr_database_document(e->database, "segments", &segments);
    mpr_doc_free(&graphs);
    mpr_doc_free(&segments);
}

static int read_contents(struct export *e, const char *path, const struct mpr_progress *progress,
                         struct mpr_error *error)
{
    const struct mpr_content_sink sink = { e, put_block, put_instance, put_sample, put_gpu };
    struct mpr_contents contents;
    if (mpr_contents_read(&contents, path, &e->contents, &sink, progress, error) != 0) return -1;
    e->incomplete |= contents.summary.incomplete;
    e->ran_out = contents.failures > 0;
    put_contents(e, &contents);
    mpr_contents_free(&contents);
    return 0;
}

static int read_series(struct export *e, const char *path, const struct mpr_progress *progress,
                       struct mpr_error *error)
{
    const struct mpr_timeline_options wanted = { .by = MPR_GROUP_RANGE,
                                                 .to = UINT64_MAX,
                                                 .buckets = MAX_SPANS,
                                                 .bands = 1,
                                                 .changes = SIZE_MAX };
    struct mpr_timeline timeline;
    if (mpr_timeline_read(&timeline, path, &wanted, progress, error) != 0) return -1;
    for (size_t i = 0; i < timeline.heaps; i++)
        PUT_OF(e, MPR_EXPORT_SERIES, timeline.heap[i].span, timeline.heap[i].spans,
               &timeline.heap[i]);
    mpr_timeline_free(&timeline);
    return 0;
}

/* Reads the log once more if a device ran out of memory. */
static int read_ooms(struct export *e, const char *path, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct mpr_ooms ooms = { .by = MPR_GROUP_AUTO };
    if (!e->ran_out) return 0;
    const int status = mpr_ooms_add(&ooms, path, progress, error);
    for (size_t i = 0; i < ooms.logs; i++)
        PUT(e, MPR_EXPORT_OOMS, ooms.log[i].story, ooms.log[i].stories);
    mpr_ooms_free(&ooms);
    return status;
}

static int add_log(void *to, const char *path, const struct mpr_progress *progress,
                   struct mpr_error *error)
{
    struct export *e = to;
    if (mpr_database_failed(e->database)) return 0; /* export_sqlite prints the reason */
    mpr_database_process(e->database, e->logs + 1);
    if (find_window(e, path, progress, &e->contents.from_ns, &e->contents.until_ns, error) != 0 ||
        read_contents(e, path, progress, error) != 0 ||
        read_series(e, path, progress, error) != 0 || read_ooms(e, path, progress, error) != 0) {
        mpr_database_forget(e->database);
        return -1;
    }
    e->logs++;
    return 0;
}

/* Every table exists, even if no log has rows of it, so that queries do not fail. */
static int export_sqlite(struct export *e)
{
    static const struct mpr_database_kind exported = { .version = 1, .page_bytes = 4096 };
    const struct mpr_database_place place = { e->path, AT_FDCWD, 0666 };
    const char *why;
    if (!mpr_database_available()) {
        mpr_cmd_say(MPR_NO_SQLITE);
        return -1;
    }
    e->contents = (struct mpr_contents_options){ .min_bytes = e->min_bytes,
                                                 .user_frames = e->naming.user_frames };
    mpr_logs_choose(&e->common.logs);
    struct mpr_database *db = e->database = mpr_database_open(&place, &exported, &why);
    if (db) {
        for (int i = 0; i < MPR_EXPORT_COUNT; i++)
            mpr_database_put(db, &mpr_export_table[i], NULL, 0, 0, NULL);
        mpr_logs_each(&e->common.logs, add_log, e);
        mpr_database_run(db, "CREATE INDEX blocks_by_heap ON blocks (process_id, heap, made_ns)");
        mpr_database_run(db, "CREATE INDEX instances_by_range ON instances (process_id, range_id)");
        why = mpr_database_close(db, e->logs != 0);
    }
    if (why) mpr_cmd_say("%s: cannot write: %s", e->path, why);
    return why ? -1 : 0;
}

/* ---- torch-snapshot */

/* A program that ran out of device memory frees all of it before it ends.  So without --until the
 * snapshot shows the failed allocation, unless the program held more afterwards.  Returns false if
 * *until_ns was not changed. */
static bool end_at_oom(const char *log, const struct mpr_progress *progress, uint64_t from_ns,
                       uint64_t *until_ns)
{
    struct mpr_instant at, peak;
    struct mpr_error none;
    if (mpr_named_instant_find(log, "oom", MPF_HEAP_NONE, progress, &at, &none) != 0 ||
        at.to < from_ns ||
        mpr_named_instant_find(log, "peak", MPF_HEAP_NONE, progress, &peak, &none) != 0 ||
        peak.from > at.to)
        return false;
    *until_ns = at.to;
    return true;
}

/* Opens the output only if the log has something to write.  Returns 0, or -1 with *error filled. */
static int write_snapshot(struct export *e, const char *log, const struct mpr_torch_survey *survey,
                          const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_torch_export of = { .log = log, .survey = survey, .min_bytes = e->min_bytes };
    struct mpr_destination to;
    if (!survey->devices)
        return mpr_fail(error, "%s: this log has no block of PyTorch's allocator on a GPU", log);
    if (find_window(e, log, progress, &of.from_ns, &of.until_ns, error) != 0) return -1;
    const bool at_oom = !e->until && end_at_oom(log, progress, of.from_ns, &of.until_ns);
    if (mpr_destination_open(&to, e->path) != 0) return 0;
    const int written = mpr_torch_snapshot_write(to.file, &of, progress, error);
    const bool closed = mpr_destination_close(&to, written == 0) == 0;
    mpr_bar_clear();
    e->logs = closed && written == 0;
    e->incomplete = survey->summary.incomplete;
    if (e->logs && at_oom)
        mpr_cmd_say(
            "%s: device memory ran out; the snapshot shows that time (--until=end: the end of the log)",
            log);
    return closed ? written : 0;
}

static int export_torch_snapshot(struct export *e)
{
    const char *log = mpr_logs_one(&e->common.logs);
    if (!log) return -1;
    const struct mpr_progress progress = mpr_bar();
    struct mpr_torch_survey survey;
    struct mpr_error error;
    int status = mpr_torch_survey(&survey, log, &progress, &error);
    if (status == 0) {
        status = write_snapshot(e, log, &survey, &progress, &error);
        mpr_torch_survey_free(&survey);
    }
    mpr_bar_clear();
    if (status != 0) mpr_cmd_error(&error);
    return status;
}

/* ---- pprof */

static int add_profile(void *to, const char *path, const struct mpr_progress *progress,
                       struct mpr_error *error)
{
    struct export *e = to;
    struct mpr_profile_options wanted = { .heap = e->heap };
    struct mpr_profile profile;
    if (find_window(e, path, progress, &wanted.from_ns, &wanted.until_ns, error) != 0 ||
        mpr_instant_find(e->until, MPR_PEAK_TIME, path, e->heap, progress, &wanted.at, error) !=
            0 ||
        mpr_profile_read(&profile, path, &wanted, progress, error) != 0)
        return -1;
    mpr_pprof_add(&e->pprof, &profile);
    e->incomplete |= profile.summary.incomplete;
    e->logs++;
    mpr_profile_free(&profile);
    return 0;
}

static int export_pprof(struct export *e)
{
    struct mpr_destination to;
    int status = -1;
    mpr_logs_choose(&e->common.logs);
    mpr_pprof_begin(&e->pprof);
    mpr_logs_each(&e->common.logs, add_profile, e);
    if (e->logs && mpr_destination_open(&to, e->path) == 0) {
        mpr_pprof_end(&e->pprof, to.file);
        status = mpr_destination_close(&to, true);
    }
    mpr_pprof_free(&e->pprof);
    return status;
}

/* ---- perfetto */

static void put_range_event(void *arg, const struct mpr_range_event *event)
{
    mpr_perfetto_range_event(arg, event);
}

static int add_trace(void *to, const char *path, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct export *e = to;
    struct mpr_timeline timeline;
    struct mpr_timeline_options wanted = { .by = MPR_GROUP_ALL,
                                           .heap = e->heap,
                                           .buckets = MAX_SPANS,
                                           .bands = 1,
                                           .changes = SIZE_MAX,
                                           .exact = 1,
                                           .naming = &e->naming };
    if (find_window(e, path, progress, &wanted.from, &wanted.to, error) != 0 ||
        mpr_timeline_read(&timeline, path, &wanted, progress, error) != 0)
        return -1;
    mpr_perfetto_process(&e->perfetto, &timeline);
    const struct mpr_range_events_options turns = { .from_ns = wanted.from,
                                                    .until_ns = wanted.to,
                                                    .report = put_range_event,
                                                    .arg = &e->perfetto };
    const int status = mpr_range_events_read(path, &turns, progress, error);
    e->incomplete |= timeline.summary.incomplete;
    e->logs += status == 0;
    mpr_timeline_free(&timeline);
    return status;
}

static int export_perfetto(struct export *e)
{
    struct mpr_destination to;
    mpr_logs_choose(&e->common.logs);
    if (mpr_destination_open(&to, e->path) != 0) return -1;
    mpr_perfetto_begin(&e->perfetto, to.file);
    mpr_logs_each(&e->common.logs, add_trace, e);
    mpr_perfetto_free(&e->perfetto);
    return mpr_destination_close(&to, e->logs != 0);
}

/* ---- the command */

/* In the order of the words of --to. */
static const struct format formats[] = {
    { "sqlite", "memprof.sqlite", false, false, export_sqlite },
    { "torch-snapshot", "memprof.pickle", false, true, export_torch_snapshot },
    { "pprof", "memprof.pb.gz", true, true, export_pprof },
    { "perfetto", "memprof.pftrace", true, true, export_perfetto },
};

static void set_format(void *value, const struct mpr_given *given)
{
    struct export *e = value;
    e->format = &formats[mpr_option_word(given)];
}

static void set_min(void *value, const struct mpr_given *given)
{
    struct export *e = value;
    if (!mpr_budget_size(given->text, &e->min_bytes))
        mpr_option_invalid(given, "a size, such as 4096, 4KiB or 1MiB");
    e->has_min = true;
}

static void check(void *args, struct argp_state *state)
{
    struct export *e = args;
    if (!e->format) argp_error(state, "expected --to=sqlite, torch-snapshot, pprof or perfetto");
    const struct format *f = e->format;
    if (!e->path) e->path = f->path;
    if (strcmp(e->path, "-") == 0 && !f->streams)
        argp_error(state, "--output=- is not available with --to=sqlite: a database needs a file");
    if (f->takes_heap ? e->has_min : e->heap)
        argp_error(state, "--%s is not available with --to=%s", f->takes_heap ? "min" : "heap",
                   f->name);
}

static const struct mpr_option options[] = {
    { "to", 0, "sqlite|torch-snapshot|pprof|perfetto",
      "an SQLite database, a snapshot of PyTorch's allocator, a profile for pprof, or a trace for "
      "Perfetto",
      .set = set_format },
    { "output", 'o', "FILE",
      "write to FILE, and replace an existing file (default: memprof.sqlite, memprof.pickle, "
      "memprof.pb.gz or memprof.pftrace); - is standard output, except with sqlite",
      MPR_TO_TEXT(struct export, path) },
    { "min", 0, "SIZE",
      "omit blocks smaller than SIZE, such as 4KiB; the table uses of a database still includes them",
      .set = set_min },
    { "from", 0, "TIME", "only blocks, ranges and samples from TIME on: " MPR_INSTANTS,
      MPR_TO_INSTANT(struct export, from) },
    { "until", 0, "TIME", "only up to TIME; step:12.end is the end of that range",
      MPR_TO_INSTANT(struct export, until) },
    { "heap", 0, "NAME", "only this heap (pprof and perfetto)", MPR_TO_HEAP(struct export, heap) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .doc =
        "Writes logs for other tools: an SQLite database for questions that no report answers (every block with its range, "
        "thread and call stack, every instance of a range, every sample), a snapshot of PyTorch's allocator for memory_viz, a "
        "profile of allocated and live memory for pprof, or a trace of heaps and ranges over time for ui.perfetto.dev."
        "\vExamples:\n"
        "  memprof-report export --to sqlite -o run.sqlite memprof.n03.4242.zst\n"
        "  sqlite3 run.sqlite 'SELECT heap, peak_bytes, peak_ns FROM heaps'\n"
        "  memprof-report export --to sqlite --min 64KiB -o ranks.sqlite logs/\n"
        "  memprof-report export --to torch-snapshot --until step:7.end logs/\n"
        "  memprof-report export --to pprof -o run.pb.gz logs/\n"
        "  go tool pprof -http=: run.pb.gz\n"
        "  memprof-report export --to perfetto -o run.pftrace logs/",
    .options = options,
    .no_output = true,
    .check = check,
};

int mpr_cmd_export(int argc, char **argv)
{
    struct export e = { .common = mpr_args_default() };
    mpr_cmdline_parse(&cmdline, argc, argv, &e);
    e.common.logs.heap = e.heap;
    e.naming.user_frames = e.common.output.user_frames;
    const bool written = e.format->write(&e) == 0 && e.logs;
    return mpr_args_close(&e.common, !written       ? MPR_EXIT_FAILURE
                                     : e.incomplete ? MPR_EXIT_INCOMPLETE
                                                    : MPR_EXIT_FINE);
}
