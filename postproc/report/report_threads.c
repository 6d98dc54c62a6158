#include "report_threads.h"

#include <string.h>

#include "mpf/sample.h"
#include "naming.h"
#include "report_rows.h"
#include "thread_use.h"

/* ---- lines: the threads of a pool, whose names differ in a number, are one */

struct thread_line {
    struct mpr_line line;
    uint64_t all_bytes, first_ns, ended_ns;
    const char *note;
};

static struct thread_line line_of(struct mpr_document *doc, const struct mpr_line *l,
                                  const struct mpr_row *first, const struct mpr_thread_row *thread)
{
    struct thread_line line = { .line = *l,
                                .first_ns = UINT64_MAX,
                                .note =
                                    mpr_report_siblings(doc, l->sibling_least, l->sibling_most) };
    const struct mpr_row_link *link = l->link;
    do {
        const struct mpr_thread_row *t = &thread[link->row - first];
        if (line.all_bytes != MPF_UNKNOWN)
            line.all_bytes =
                t->all_bytes == MPF_UNKNOWN ? MPF_UNKNOWN : line.all_bytes + t->all_bytes;
        if (t->life.first_ns < line.first_ns) line.first_ns = t->life.first_ns;
        if (t->life.ended_ns > line.ended_ns) line.ended_ns = t->life.ended_ns;
    } while ((link = link->next) != l->link);
    return line;
}

static struct mpr_value path(const void *row, const void *context)
{
    const struct thread_line *l = row;
    (void)context;
    struct mpr_value v = mpr_value_path(l->line.row.path);
    v.told = true;
    return v;
}

static struct mpr_value own_peak(const void *row, const void *context)
{
    const struct thread_line *l = row;
    (void)context;
    struct mpr_value v = mpr_value_number(MPR_BYTES, l->line.row.own_peak);
    v.at_least = l->line.own_peaks > l->line.row.own_peak;
    return v;
}

#define OF(member) MPR_FIELD(thread_line, member)

// clang-format off
enum { BYTES = 1 };
static const struct mpr_column line_columns[] = {
    { .title = "thread", .type = MPR_PATH, .get = path, .width = 26 },
    [BYTES] = { .type = MPR_BYTES, OF(line.row.bytes), .sums = true, .estimate = true },
    { .title = "share", .type = MPR_SHARE, OF(line.row.bytes), .spare = 2 },
    { .title = "blocks", .type = MPR_COUNT, OF(line.row.blocks), .spare = 2, .estimate = true },
    { .title = "at end", .type = MPR_BYTES, OF(line.row.end_bytes), .sums = true, .estimate = true },
    { .title = "own peak", .type = MPR_BYTES, .get = own_peak, .spare = 2, .estimate = true, .bound = true },
    { .title = "allocs", .type = MPR_COUNT, OF(line.row.allocations), .width = 11, .spare = 3, .estimate = true, .bound = true, .of_rest = true },
    { .title = "in all", .type = MPR_BYTES, OF(all_bytes), .unless = MPR_UNKNOWN_AT_MAX, .bound = true },
    { .title = "from", .type = MPR_TIME, OF(first_ns), .spare = 1 },
    { .title = "to", .type = MPR_TIME, OF(ended_ns), .spare = 1, .unless = MPR_UNKNOWN_AT_MAX },
    { .title = "", .type = MPR_TEXT, OF(note) },
};
// clang-format on
enum { COLUMNS = sizeof line_columns / sizeof *line_columns };

static bool estimated(const void *row)
{
    return ((const struct thread_line *)row)->line.row.estimated;
}

/* Threads that held nothing at the peak are lines like others, because they have lifetimes. */
void mpr_report_thread_lines(struct mpr_document *doc, const struct mpr_heap_peak *heap,
                             const struct mpr_thread_row *thread, const char *bytes, bool bounds)
{
    const struct mpr_naming *naming = mpr_report_naming(doc);
    size_t lines;
    struct mpr_line *line =
        mpr_naming_merge(&doc->arena, naming, MPR_GROUP_THREAD, heap->row, heap->rows, &lines);
    lines = mpr_naming_fold(&doc->arena, naming, MPR_GROUP_THREAD, line, lines);
    mpr_lines_sort(line, lines, naming->order);
    struct thread_line *row = mpr_arena_alloc(&doc->arena, lines * sizeof *row);
    for (size_t i = 0; i < lines; i++) row[i] = line_of(doc, &line[i], heap->row, thread);
    struct mpr_column *columns = mpr_arena_alloc(&doc->arena, sizeof line_columns);
    memcpy(columns, line_columns, sizeof line_columns);
    columns[BYTES].title = bytes;
    mpr_doc_table(doc, &(struct mpr_table){ .title = mpr_arena_format(&doc->arena, "%s by thread",
                                                                      mpr_heap_name(heap->heap)),
                                            .only = MPR_FOR_PEOPLE,
                                            .column = columns,
                                            .columns = COLUMNS,
                                            MPR_ROWS(row, lines),
                                            .whole = heap->peak_bytes,
                                            .bounds = bounds,
                                            .estimated = estimated });
}

/* ---- lives */

#define OF_LIFE(member) MPR_FIELD(mpr_thread_life, member)

static const struct mpr_column life_columns[] = {
    { .key = "name", .type = MPR_TEXT, OF_LIFE(name) },
    { .key = "number", .type = MPR_COUNT, OF_LIFE(number) },
    { .key = "tid", .type = MPR_COUNT, OF_LIFE(tid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "first_ns", .type = MPR_TIME, OF_LIFE(first_ns) },
    { .key = "ended_ns", .type = MPR_TIME, OF_LIFE(ended_ns), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "allocated", .type = MPR_FLAG, OF_LIFE(allocated) },
};

/* Number 0 is not a thread: it has the blocks whose thread is not recorded. */
static bool is_idle(const struct mpr_thread_life *t) { return t->tid && !t->allocated; }

void mpr_report_thread_lives(struct mpr_document *doc, const struct mpr_thread_use *use)
{
    enum { MAX_NAMES = 4 };
    size_t idle = 0;
    mpr_doc_table(doc, &(struct mpr_table){ .key = "threads",
                                            .only = MPR_IN_JSON,
                                            .all = MPR_IN_JSON,
                                            MPR_COLUMNS(life_columns),
                                            MPR_ROWS(use->thread, use->threads) });
    for (size_t i = 0; i < use->threads; i++) idle += is_idle(&use->thread[i]);
    if (!idle) return;
    mpr_doc_gap(doc);
    mpr_doc_say(doc, "%s thread%s allocated nothing:", mpr_doc_count(doc, idle),
                idle == 1 ? "" : "s");
    for (size_t i = 0, named = 0; i < use->threads && named < MAX_NAMES; i++)
        if (is_idle(&use->thread[i]))
            mpr_doc_say(doc, "%s %s", named++ ? "," : "", use->thread[i].name);
    if (idle > MAX_NAMES) mpr_doc_say(doc, ", ...");
    mpr_doc_end(doc);
}
