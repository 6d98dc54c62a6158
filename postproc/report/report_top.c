/* Running processes as they are now: all in a table, and one in full. */
#include <inttypes.h>
#include <string.h>

#include "mpf/sample.h"
#include "processes.h"
#include "readings.h"
#include "report_device.h"
#include "report_rows.h"
#include "reports.h"
#include "top.h"

enum { OWNERS = 10, PROCESSES = 12 };

/* ---- the processes */

struct process {
    const struct mpr_live_look *look;
    const struct mpr_frame *title;
    const char *rank, *number;
    uint64_t host, device, rss, events;
    size_t lead; /* bytes of the title with the program's name */
};

#define OF(member) MPR_FIELD(process, member)

MPR_VALUE(title, process, p, mpr_value_title(&p->title, p->lead))

static struct mpr_value grew_in(const struct mpr_live_look *look, int64_t bytes)
{
    return look->span_ns ? mpr_value_amount(MPR_CHANGE, bytes) : mpr_value_unknown;
}

MPR_VALUE(host_grew, process, p, grew_in(p->look, p->look->host_grew))

// clang-format off
static const struct mpr_column process_columns[] = {
    { .title = "process", .type = MPR_PATH, .get = title },
    { .title = "rank", .type = MPR_TEXT, OF(rank), .if_any = true, .width = 5 },
    { .title = "pid", .type = MPR_TEXT, OF(number), .width = 8 },
    { .title = "host", .type = MPR_BYTES, OF(host), .sums = true },
    { .title = "host grew", .type = MPR_CHANGE, .get = host_grew },
    { .title = "device", .type = MPR_BYTES, OF(device), .if_any = true, .sums = true },
    { .title = "RSS", .type = MPR_BYTES, OF(rss), .sums = true, .unless = MPR_UNKNOWN_AT_MAX,
      .spare = 2 },
    { .title = "events/s", .type = MPR_COUNT, OF(events), .unless = MPR_UNKNOWN_AT_MAX,
      .spare = 1 },
};
// clang-format on

static void processes(struct mpr_document *doc, const struct mpr_top *top)
{
    struct process *p = mpr_arena_alloc(&doc->arena, top->processes * sizeof *p);
    if (top->processes < 2) return;
    for (size_t i = 0; i < top->processes; i++) {
        const struct mpr_live_look *look = top->process[i];
        const struct mpr_process_info *process = &look->summary.process;
        const char *title = mpr_process_title(&doc->arena, process), *shown = title;
        const bool runs = look->summary.life != MPR_ENDED;
        if (!runs)
            shown = mpr_arena_format(&doc->arena, "%s (%s)", title,
                                     mpr_report_ending(&doc->arena, &look->summary));
        p[i] = (struct process){
            .look = look,
            .title = mpr_frame_named(&doc->arena, MPR_FRAME_LABEL, shown),
            .lead = strcspn(title, " "),
            .rank = process->rank,
            .number = mpr_arena_format(&doc->arena, "%" PRIu64, process->pid),
            .host = runs ? look->host_bytes : 0,
            .device = runs ? look->gpu_bytes : 0,
            .rss = runs && look->rss.valid ? mpr_reading_resident_bytes(&look->rss) : MPF_UNKNOWN,
            .events = look->events_a_second,
        };
    }
    mpr_doc_rows(doc, process_columns, p, top->processes, .title = "processes",
                 .only = MPR_FOR_PEOPLE, .top = PROCESSES, .total = "all");
}

/* ---- one process */

#undef OF
#define OF(member) MPR_FIELD(mpr_live_heap, member)

MPR_VALUE_IN(heap_grew, mpr_live_heap, h, mpr_live_look, look, grew_in(look, h->grew))

static bool estimated(const void *row) { return ((const struct mpr_live_heap *)row)->estimated; }

// clang-format off
static const struct mpr_column heap_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "pid", .type = MPR_COUNT, MPR_OF_LOG(process.pid) },
    { .key = "heap", .title = "heap", .type = MPR_WORD, OF(heap), .width = 14 },
    { .key = "inside", .type = MPR_TEXT, OF(inside), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_JSON },
    { .key = "bytes", .title = "now", .type = MPR_BYTES, OF(bytes), .estimate = true },
    { .key = "grew_bytes", .title = "grew", .type = MPR_CHANGE, .get = heap_grew,
      .estimate = true },
    { .key = "peak_bytes", .title = "peak", .type = MPR_BYTES, OF(peak_bytes), .estimate = true },
    { .key = "peak_time_ns", .title = "at", .type = MPR_TIME, OF(peak_time), .spare = 1 },
    { .key = "blocks", .title = "blocks", .type = MPR_COUNT, OF(blocks), .spare = 3 },
    { .key = "allocations_a_second", .title = "allocs/s", .type = MPR_COUNT, OF(allocations),
      .unless = MPR_UNKNOWN_AT_MAX, .spare = 2 },
};
// clang-format on

static void heading(struct mpr_document *doc, const struct mpr_live_look *look)
{
    const struct mpr_summary *s = &look->summary;
    mpr_report_title(doc, s);
    if (s->life == MPR_ENDED)
        mpr_doc_add(doc, MPR_WARN, "ended (%s)", mpr_report_ending(&doc->arena, s));
    else mpr_doc_add_plain(doc, "runs");
    mpr_doc_add_plain(doc, " for %s; %s events", mpr_doc_duration(doc, look->now_ns),
                      mpr_doc_count(doc, s->events));
    if (look->events_a_second != MPF_UNKNOWN)
        mpr_doc_add_plain(doc, ", %s a second", mpr_doc_count(doc, look->events_a_second));
    mpr_doc_add_plain(doc, ", %s lost", mpr_doc_count(doc, s->lost_events));
    if (look->rss.valid)
        mpr_doc_add_plain(doc, "; RSS %s",
                          mpr_doc_size(doc, mpr_reading_resident_bytes(&look->rss)));
    if (look->span_ns)
        mpr_doc_add_plain(doc, "; growth is over the last %s",
                          mpr_doc_duration(doc, look->span_ns));
    mpr_doc_end_wrapped(doc, 2);
}

#define OF_STEP(member) MPR_FIELD(mpr_live_step, member)
static const struct mpr_column step_fields[] = {
    { .key = "range", .type = MPR_TEXT, OF_STEP(range) },
    { .key = "instances", .type = MPR_COUNT, OF_STEP(instances) },
    { .key = "each_ns", .type = MPR_SPAN, OF_STEP(each_ns) },
    { .key = "open_ns", .type = MPR_SPAN, OF_STEP(open_ns), .unless = MPR_UNKNOWN_AT_MAX },
};

static void step(struct mpr_document *doc, const struct mpr_live_step *s)
{
    if (!*s->range) return;
    mpr_doc_object(doc, "steps", step_fields, s);
    mpr_doc_add_plain(doc, "%s: %s so far", s->range, mpr_doc_count(doc, s->instances));
    if (s->each_ns) mpr_doc_add_plain(doc, ", %s each", mpr_doc_duration(doc, s->each_ns));
    if (s->open_ns != MPF_UNKNOWN)
        mpr_doc_add_plain(doc, "; the newest has been open for %s",
                          mpr_doc_duration(doc, s->open_ns));
    mpr_doc_end_wrapped(doc, 2);
}

#define OF_THREAD(member) MPR_FIELD(mpr_live_thread, member)
static const struct mpr_column thread_columns[] = {
    { .key = "thread", .type = MPR_TEXT, OF_THREAD(name) },
    { .key = "path", MPR_PATH_FIELD(mpr_live_thread, path) },
};

static void threads(struct mpr_document *doc, const struct mpr_live_look *look)
{
    mpr_doc_objects(doc, "open", thread_columns, look->thread, look->threads);
    for (size_t i = 0; i < look->threads; i++) {
        const struct mpr_live_thread *t = &look->thread[i];
        mpr_doc_add_plain(doc, "%s is in %s", t->name, mpr_report_path_words(doc, t->path));
        mpr_doc_end_wrapped(doc, 2);
    }
    if (look->more_threads)
        mpr_doc_line(
            doc, "%s in ranges",
            mpr_doc_counted(doc, look->more_threads, "more thread is", "more threads are"));
}

// clang-format off
static const struct mpr_column owner_columns[] = {
    MPR_ROW_PATH,
    MPR_ROW_BYTES,
    MPR_ROW_BLOCKS,
    { .key = "estimated", .type = MPR_FLAG, MPR_FIELD(mpr_row, estimated), .unless = MPR_ABSENT_AT_0 },
};
// clang-format on

static void owners(struct mpr_document *doc, const struct mpr_live_look *look)
{
    const char *of = mpr_heap_name(look->shown);
    mpr_doc_fact(doc, "owners_of", mpr_value_known_text(of, MPR_UNKNOWN));
    mpr_doc_rows(doc, owner_columns, look->row, look->rows, .key = "owners",
                 .title = mpr_report_heading(doc, of, look->choice.by), .whole = look->whole,
                 .top = OWNERS, .by = look->choice.by, .omitted = "owners_omitted_bytes",
                 .lines = { .merged = true, .bytes_title = "now", .siblings = true },
                 .folded = { of, NULL, "bytes" });
    mpr_report_growth(doc, "growth", &look->growth, NULL);
    if (!look->growth.valid || !look->growth.rows) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "%s grew", of);
    mpr_report_growth_rows(doc, NULL, &look->growth, look->choice.by);
}

static void process(struct mpr_document *doc, const struct mpr_live_look *look, bool in_full)
{
    mpr_doc_open(doc, NULL);
    mpr_report_log_fields(doc, &look->summary);
    mpr_doc_fact(doc, "now_ns", mpr_value_number(MPR_TIME, look->now_ns));
    mpr_doc_fact(doc, "span_ns", mpr_value_known(MPR_SPAN, look->span_ns, 0));
    mpr_doc_fact(doc, "events_a_second",
                 mpr_value_known(MPR_COUNT, look->events_a_second, MPF_UNKNOWN));
    mpr_report_reading(doc, "rss", MPR_READ_RSS, &look->rss);
    if (in_full) {
        heading(doc, look);
        step(doc, &look->step);
        threads(doc, look);
        mpr_report_accounts(doc, look->device, look->devices, "now", NULL, 0);
    }
    mpr_doc_rows(doc, heap_columns, look->heap, look->heaps, .key = "heaps", .title = "heap",
                 .only = in_full ? MPR_EVERYWHERE : MPR_IN_JSON | MPR_IN_CSV, .context = look,
                 .all = MPR_EVERYWHERE, .estimated = estimated, .flush = true);
    if (in_full) owners(doc, look);
    mpr_doc_close(doc);
}

void mpr_report_top(struct mpr_document *doc, const struct mpr_top *top)
{
    mpr_report_schema(doc, "memprof.top/1");
    mpr_doc_fact(doc, "ended_before", mpr_value_number(MPR_COUNT, top->gone));
    processes(doc, top);
    if (top->processes > 1) mpr_doc_gap(doc);
    mpr_doc_list(doc, "processes");
    for (size_t i = 0; i < top->processes; i++) process(doc, top->process[i], i == top->shown);
    mpr_doc_close(doc);
    if (!top->processes)
        mpr_doc_line(doc, "no process is running; %s ended earlier", mpr_doc_count(doc, top->gone));
    mpr_doc_csv(doc, heap_columns);
}
