/* What each thread allocated, and when it lived. */
#include "reports.h"
#include "thread_lines.h"

struct around {
    const char *log;
    uint8_t heap;
};

#define OF(member) MPR_FIELD(mpr_thread_row, member)

// clang-format off
static const struct mpr_column row_columns[] = {
    { .key = "log", .type = MPR_TEXT, MPR_CONTEXT(around, log), .only = MPR_IN_CSV },
    { .key = "heap", .type = MPR_WORD, MPR_CONTEXT(around, heap), .only = MPR_IN_CSV },
    { .key = "thread", .type = MPR_TEXT, OF(thread.name) },
    { .key = "number", .type = MPR_COUNT, OF(thread.number) },
    { .key = "bytes_at_peak", .type = MPR_BYTES, OF(bytes), .sums = true },
    { .key = "blocks_at_peak", .type = MPR_COUNT, OF(blocks) },
    { .key = "end_bytes", .type = MPR_BYTES, OF(end_bytes), .sums = true },
    { .key = "end_blocks", .type = MPR_COUNT, OF(end_blocks) },
    { .key = "own_peak_bytes", .type = MPR_BYTES, OF(own_peak) },
    { .key = "allocations", .type = MPR_COUNT, OF(allocations) },
    { .key = "all_bytes", .type = MPR_BYTES, OF(all_bytes),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "first_ns", .type = MPR_TIME, OF(thread.first_ns) },
    { .key = "ended_ns", .type = MPR_TIME, OF(thread.ended_ns),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "estimated", .type = MPR_FLAG, OF(estimated), .unless = MPR_ABSENT_AT_0 },
};

static const struct mpr_column thread_columns[] = {
    { .key = "name", .type = MPR_TEXT, MPR_FIELD(mpr_thread_life, name) },
    { .key = "number", .type = MPR_COUNT, MPR_FIELD(mpr_thread_life, number) },
    { .key = "tid", .type = MPR_COUNT, MPR_FIELD(mpr_thread_life, tid),
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "first_ns", .type = MPR_TIME, MPR_FIELD(mpr_thread_life, first_ns) },
    { .key = "ended_ns", .type = MPR_TIME, MPR_FIELD(mpr_thread_life, ended_ns),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "allocated", .type = MPR_FLAG, MPR_FIELD(mpr_thread_life, allocated) },
};
// clang-format on

static const struct mpr_column heap_fields[] = {
    { .key = "heap", .type = MPR_WORD, MPR_FIELD(mpr_thread_heap, heap) },
    { .key = "peak_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_thread_heap, peak_bytes) },
    { .key = "peak_time_ns", .type = MPR_TIME, MPR_FIELD(mpr_thread_heap, peak_time) },
    { .key = "end_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_thread_heap, end_bytes) },
};

static void heap(struct mpr_document *doc, const struct mpr_thread_use *use,
                 const struct mpr_thread_heap *h)
{
    struct around *around = mpr_arena_alloc(&doc->arena, sizeof *around);
    *around = (struct around){ use->peaks.log[0].summary.path, h->heap };
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, heap_fields, h);
    if (h->inside) mpr_doc_fact(doc, "inside", mpr_value_heap(h->inside));
    mpr_doc_table(doc, &(struct mpr_table){ .key = "rows",
                                            .only = MPR_IN_JSON | MPR_IN_CSV,
                                            MPR_COLUMNS(row_columns),
                                            MPR_ROWS(h->row, h->rows),
                                            .context = around });
    mpr_report_thread_lines(doc, h, mpr_report_is_thinned(&use->peaks.log[0].summary, h->heap));
    if (h->inside) {
        mpr_doc_say(doc, "%s", mpr_heap_name(h->heap));
        mpr_report_inside(doc, h->inside);
        mpr_doc_end(doc);
    }
    mpr_doc_close(doc);
}

enum { IDLE = 4 }; /* names of threads that are told */

/* Number 0 is nobody's: what no thread recorded. */
static bool is_idle(const struct mpr_thread_life *t) { return t->tid && !t->allocated; }

static void idle(struct mpr_document *doc, const struct mpr_thread_use *use)
{
    size_t count = 0;
    for (size_t i = 0; i < use->threads; i++) count += is_idle(&use->thread[i]);
    if (!count) return;
    mpr_doc_gap(doc);
    mpr_doc_say(doc, "%s thread%s allocated nothing:", mpr_doc_count(doc, count),
                count == 1 ? "" : "s");
    for (size_t i = 0, told = 0; i < use->threads && told < IDLE; i++)
        if (is_idle(&use->thread[i]))
            mpr_doc_say(doc, "%s %s", told++ ? "," : "", use->thread[i].name);
    if (count > IDLE) mpr_doc_say(doc, ", ...");
    mpr_doc_end(doc);
}

void mpr_report_threads(struct mpr_document *doc, const struct mpr_thread_use *use)
{
    mpr_report_schema(doc, "memprof.threads/1");
    mpr_report_log(doc, &use->peaks.log[0].summary);
    mpr_doc_table(doc, &(struct mpr_table){ .key = "threads",
                                            .only = MPR_IN_JSON,
                                            .all = MPR_IN_JSON,
                                            MPR_COLUMNS(thread_columns),
                                            MPR_ROWS(use->thread, use->threads) });
    mpr_doc_list(doc, "heaps");
    for (size_t i = 0; i < use->heaps; i++) heap(doc, use, &use->at[i]);
    mpr_doc_close(doc);
    idle(doc, use);
    mpr_doc_csv(doc, row_columns);
}
