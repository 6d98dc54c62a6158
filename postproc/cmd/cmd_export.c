#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "cmd.h"
#include "contents.h"
#include "database.h"
#include "logs.h"
#include "ooms.h"
#include "reports.h"
#include "selection.h"
#include "timeline.h"

enum { KEY_TO = 256, KEY_MIN, KEY_FROM, KEY_UNTIL, SPANS = 4096 };

static const struct argp_option options[] = {
    { "to", KEY_TO, "FORMAT", 0, "sqlite: a database of SQLite", 1 },
    { "output", 'o', "FILE", 0, "write there (memprof.sqlite); what was there is replaced", 1 },
    { "min", KEY_MIN, "SIZE", 0,
      "list blocks of at least so many bytes, such as 4KiB; the sums of the others stay in uses",
      1 },
    { "from", KEY_FROM, "TIME", 0,
      "list blocks, ranges and samples from then on: 12.5s, peak, step:12, ...", 1 },
    { "until", KEY_UNTIL, "TIME", 0, "up to then; step:12.end is that range's end", 1 },
    { 0 },
};

struct arguments {
    struct mpr_logs logs;
    struct mpr_output output;
    struct mpr_contents_options contents;
    const char *to, *from, *until;
    struct mpr_database *database;
    uint64_t processes;
    bool incomplete, failed; /* failed: memory of a device, in the newest log */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->logs; return 0;
    case KEY_TO: a->to = arg; return 0;
    case 'o': a->output.path = arg; return 0;
    case KEY_MIN:
        if (!mpr_budget_size(arg, &a->contents.min_bytes))
            argp_error(state, "--min=%s: a size is wanted, such as 4096, 4KiB or 1MiB", arg);
        return 0;
    case KEY_FROM:
        mpr_selection_check_instant(arg, "from", state);
        a->from = arg;
        return 0;
    case KEY_UNTIL:
        mpr_selection_check_instant(arg, "until", state);
        a->until = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->to || strcmp(a->to, "sqlite") != 0)
            argp_error(state, "--to=%s: sqlite is wanted", a->to ? a->to : "");
        if (strcmp(a->output.path, "-") == 0)
            argp_error(state, "--output=-: a database needs a file");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 }, { 0 } };
static const struct argp argp = {
    options,
    parse,
    NULL,
    "Writes logs as a database of SQLite, for questions that no report has: every block with its range, thread and "
    "call stack, every time that a range was open, every sample."
    "\vExamples:\n"
    "  memprof-report export --to sqlite -o run.sqlite memprof.n03.4242.zst\n"
    "  memprof-report export --to sqlite --min 64KiB -o ranks.sqlite logs/\n"
    "  sqlite3 run.sqlite 'SELECT path, sum(peak_bytes) FROM uses JOIN ranges USING (process_id, range_id) "
    "WHERE heap = \"gpu0/torch\" GROUP BY range_id ORDER BY 2 DESC LIMIT 10'\n\n"
    "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    children,
    NULL,
    NULL,
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
    struct mpr_document graphs = { .naming = &a->output.naming },
                        segments = { .naming = &a->output.naming };
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
    const struct mpr_timeline_options wanted = {
        .by = MPR_GROUP_RANGE, .to = UINT64_MAX, .buckets = SPANS, .bands = 1, .changes = SIZE_MAX
    };
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

static int window(struct arguments *a, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error)
{
    struct mpr_contents_options *c = &a->contents;
    if (mpr_selection_span(a->from, a->until, path, NULL, progress, &c->from_ns, &c->until_ns,
                           error) != 0)
        return -1;
    if (c->from_ns > c->until_ns)
        return mpr_fail(error, "%s: --from=%s is behind --until=%s: nothing is between them", path,
                        a->from, a->until);
    return 0;
}

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    struct arguments *a = to;
    if (mpr_database_failed(a->database)) return 0; /* said at the end */
    mpr_database_process(a->database, a->processes + 1);
    if (window(a, path, progress, error) != 0 || read_contents(a, path, progress, error) != 0 ||
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

static int export(struct arguments *a)
{
    const char *why;
    a->database = mpr_database_open(a->output.path, &exported, &why);
    if (a->database) {
        declare(a->database);
        mpr_logs_each(&a->logs, add, a);
        complete(a->database);
        why = mpr_database_close(a->database, a->processes != 0);
    }
    if (!why && !a->processes) return MPR_EXIT_FAILURE;
    if (!why) return a->incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE;
    mpr_cmd_say("%s: cannot write: %s", a->output.path, why);
    return MPR_EXIT_FAILURE;
}

int mpr_cmd_export(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    a.output.path = "memprof.sqlite";
    a.contents.telling = a.output.telling;
    mpr_cmd_parse(&argp, argc, argv, &a);
    if (!mpr_database_available()) {
        mpr_cmd_say("built without SQLite: install its header (apt-get install libsqlite3-dev), "
                    "then configure and build memprof again");
        return MPR_EXIT_FAILURE;
    }
    mpr_logs_choose(&a.logs);
    return mpr_logs_close(&a.logs, export(&a));
}
