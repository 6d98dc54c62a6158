/* The instances of a repeated range: in a line what stands out, then what the worst one holds that
 * the median does not, then all, those that are alike in one line. */
#include <string.h>

#include "amount.h"
#include "report_rows.h"
#include "reports.h"
#include "step_lines.h"
#include "steps.h"

#define OF(member) MPR_FIELD(mpr_step, member)

static struct mpr_value change(const void *row, const void *context)
{
    const struct mpr_step *s = row;
    (void)context;
    return s->first ? mpr_value_absent : mpr_value_amount(MPR_CHANGE, s->change);
}

static struct mpr_value line_name(const void *row, const void *context)
{
    const struct mpr_step *s = row;
    (void)context;
    struct mpr_value v = mpr_value_path(mpr_frame_alone(&s->shown));
    v.told = true;
    return v;
}

// clang-format off
static const struct mpr_column columns[] = {
    { .key = "log", .type = MPR_TEXT, OF(log), .only = MPR_IN_CSV },
    { .key = "heap", .type = MPR_WORD, OF(heap), .only = MPR_IN_CSV },
    { .key = "range", .type = MPR_TEXT, OF(range), .only = MPR_IN_CSV },
    { .key = "number", .type = MPR_COUNT, OF(number) },
    { .key = "instances", .type = MPR_COUNT, OF(count) },
    { .key = "name", .type = MPR_TEXT, OF(name) },
    { .title = "instance", .type = MPR_PATH, .get = line_name },
    { .key = "thread", .type = MPR_TEXT, OF(thread) },
    { .key = "begin_ns", .title = "from", .type = MPR_TIME, OF(begin_ns), .spare = 1 },
    { .key = "end_ns", .type = MPR_TIME, OF(end_ns) },
    { .key = "unended", .type = MPR_FLAG, OF(unended) },
    { .key = "peak_bytes", .title = "peak", .type = MPR_BYTES, OF(peak_bytes) },
    { .key = "peak_change_bytes", .title = "change", .type = MPR_CHANGE, .get = change },
    { .key = "peak_time_ns", .type = MPR_TIME, OF(peak_time) },
    { .key = "peak_number", .type = MPR_COUNT, OF(peak_number) },
    { .key = "begin_bytes", .type = MPR_BYTES, OF(begin_bytes) },
    { .key = "kept_bytes", .title = "kept", .type = MPR_CHANGE, OF(kept) },
    { .key = "end_bytes", .title = "at end", .type = MPR_BYTES, OF(end_bytes), .spare = 2 },
    { .key = "allocations", .type = MPR_COUNT, OF(allocations) },
    { .key = "peak_stands_out", .type = MPR_FLAG, OF(peak_out) },
    { .key = "kept_stands_out", .type = MPR_FLAG, OF(kept_out) },
    { .title = "", .type = MPR_TEXT, OF(note), .beside = true },
};
// clang-format on

static const char *note_of(const struct mpr_step *s)
{
    if (s->unended) return s->peak_out ? "<- peak stands out; not ended" : "not ended";
    if (s->peak_out) return s->kept_out ? "<- peak and kept stand out" : "<- peak stands out";
    return s->kept_out ? "<- kept stands out" : "";
}

static struct mpr_step step_of(const struct mpr_steps *s, const struct mpr_steps_heap *h, size_t i)
{
    const struct mpr_instance *instance = &s->instances.instance[i];
    const struct mpr_instance_heap *of = &h->heap->of[i];
    struct mpr_step step = {
        .log = s->instances.summary.path,
        .heap = h->heap->heap,
        .range = s->instances.range,
        .name = instance->name,
        .last = instance->last,
        .thread = instance->thread,
        .number = instance->number,
        .count = instance->count,
        .begin_ns = instance->begin_ns,
        .end_ns = instance->end_ns,
        .peak_bytes = of->peak_bytes,
        .peak_time = of->peak_time,
        .peak_number = of->peak_number,
        .begin_bytes = of->begin_bytes,
        .end_bytes = of->end_bytes,
        .allocations = of->allocations,
        .kept = mpr_change(of->begin_bytes, of->end_bytes),
        .change = i ? mpr_change(h->heap->of[i - 1].peak_bytes, of->peak_bytes) : 0,
        .unended = instance->unended,
        .peak_out = h->stands_out[i] & MPR_STEPS_PEAK,
        .kept_out = h->stands_out[i] & MPR_STEPS_KEPT,
        .first = !i,
        .told = (h->peaks_out && i == h->worst_peak) || (h->kept_out && i == h->worst_kept),
    };
    step.note = note_of(&step);
    return step;
}

/* ---- a heap */

#define OF_HEAP(member) MPR_FIELD(mpr_steps_heap, member)
static const struct mpr_column heap_fields[] = {
    { .key = "median_peak_bytes", .type = MPR_BYTES, OF_HEAP(median_peak) },
    { .key = "least_peak_bytes", .type = MPR_BYTES, OF_HEAP(least_peak) },
    { .key = "most_peak_bytes", .type = MPR_BYTES, OF_HEAP(most_peak) },
    { .key = "median_kept_bytes", .type = MPR_CHANGE, OF_HEAP(median_kept) },
};

static void heap(struct mpr_document *doc, const struct mpr_steps *s, size_t index)
{
    const struct mpr_steps_heap *h = &s->heap[index];
    const struct mpr_instances *in = &s->instances;
    struct mpr_step *step = mpr_arena_alloc(&doc->arena, in->instances * sizeof *step);
    for (size_t i = 0; i < in->instances; i++) step[i] = step_of(s, h, i);
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "heap", mpr_value_heap(h->heap->heap));
    if (h->heap->inside) mpr_doc_fact(doc, "inside", mpr_value_heap(h->heap->inside));
    mpr_doc_facts(doc, heap_fields, h);
    mpr_doc_table(doc, &(struct mpr_table){ .key = "instances",
                                            .only = MPR_IN_JSON | MPR_IN_CSV,
                                            MPR_COLUMNS(columns),
                                            MPR_ROWS(step, in->instances),
                                            .all = MPR_IN_JSON | MPR_IN_CSV });
    if (index == s->shown) {
        const struct mpr_step_lines l = mpr_step_lines(doc, step, in->instances, h->median_peak);
        mpr_doc_table(doc, &(struct mpr_table){ .title = mpr_heap_name(h->heap->heap),
                                                .only = MPR_FOR_PEOPLE,
                                                MPR_COLUMNS(columns),
                                                MPR_ROWS(l.line, l.lines),
                                                .order = l.order });
    }
    mpr_doc_close(doc);
}

/* ---- what stands out */

static const char *at_peak(struct mpr_document *doc, const struct mpr_steps *s,
                           const struct mpr_steps_heap *h, size_t entry)
{
    return mpr_instances_at_peak(&doc->arena, &s->instances, h->heap, entry);
}

static const char *others(struct mpr_document *doc, size_t count)
{
    return count > 1 ? mpr_arena_format(&doc->arena, " and %s more", mpr_doc_count(doc, count - 1))
                     : "";
}

/* ", 1.50 GiB more in step > forward": of the heap that is shown. */
static void cause(struct mpr_document *doc, const struct mpr_steps *s)
{
    const struct mpr_row *c = mpr_steps_cause(s);
    if (!c) return;
    mpr_doc_say(doc, ", %s%s more in %s", c->estimated ? "~" : "", mpr_doc_size(doc, c->bytes),
                mpr_report_telling(doc, c->path));
}

static void headline(struct mpr_document *doc, const struct mpr_steps *s,
                     const struct mpr_steps_heap *h)
{
    const char *least = mpr_doc_size(doc, h->least_peak), *most = mpr_doc_size(doc, h->most_peak);
    mpr_doc_say(doc, "%s: peak %s%s", mpr_heap_name(h->heap->heap), h->heap->inside ? "~" : "",
                least);
    if (strcmp(least, most) != 0) mpr_doc_say(doc, " to %s", most);
    if (h->peaks_out) {
        const uint64_t peak = h->heap->of[h->worst_peak].peak_bytes;
        mpr_doc_say(doc, ";");
        mpr_doc_add(doc, MPR_STRONG, " %s%s stand%s out: %s, +%s over the median",
                    at_peak(doc, s, h, h->worst_peak), others(doc, h->peaks_out),
                    h->peaks_out > 1 ? "" : "s", mpr_doc_size(doc, peak),
                    mpr_doc_size(doc, peak - h->median_peak));
        if (h == &s->heap[s->shown]) cause(doc, s);
    }
    if (h->kept_out) {
        const struct mpr_instance *who = &s->instances.instance[h->worst_kept];
        const struct mpr_instance_heap *worst = &h->heap->of[h->worst_kept];
        mpr_doc_say(doc, "; %s%s kept more than the others: %s",
                    mpr_step_names(doc, who->count, who->name, who->last), others(doc, h->kept_out),
                    mpr_doc_size(doc, mpr_less(worst->end_bytes, worst->begin_bytes)));
    }
    mpr_report_inside(doc, h->heap->inside);
    mpr_doc_end(doc);
}

static void headlines(struct mpr_document *doc, const struct mpr_steps *s)
{
    const struct mpr_instances *in = &s->instances;
    mpr_doc_line(doc, "%s instance%s of %s", mpr_doc_count(doc, in->count),
                 in->count == 1 ? "" : "s", in->range);
    if (in->gaps)
        mpr_doc_line(
            doc,
            "no range that repeats spans a step: what is live between these is not in them; mark steps by NVTX or torch.profiler.record_function, or name a range by --range");
    if (in->each > 1)
        mpr_doc_line(doc, "%s in a row stand together, with the largest of their peaks",
                     mpr_doc_count(doc, in->each));
    if (in->left_out)
        mpr_doc_line(doc, "of %s more than 256 others were open: what they took is not known",
                     mpr_doc_count(doc, in->left_out));
    for (size_t i = 0; i < in->heaps; i++) headline(doc, s, &s->heap[i]);
    if (in->heaps > 1)
        mpr_doc_line(doc, "below: %s; others with --heap",
                     mpr_heap_name(s->heap[s->shown].heap->heap));
}

/* ---- the worst against the median */

#define OF_ROW(member) MPR_FIELD(mpr_steps_row, member)
static const struct mpr_column row_columns[] = {
    { .key = "path", MPR_PATH_FIELD(mpr_steps_row, path) },
    { .key = "bytes", .type = MPR_BYTES, OF_ROW(here) },
    { .key = "median_bytes", .type = MPR_BYTES, OF_ROW(median) },
    { .key = "blocks", .type = MPR_COUNT, OF_ROW(blocks_here) },
    { .key = "median_blocks", .type = MPR_COUNT, OF_ROW(blocks_median) },
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(estimated), .unless = MPR_ABSENT_AT_0 },
};

static uint64_t sum_of(const struct mpr_row *row, size_t rows)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < rows; i++) sum += row[i].bytes;
    return sum;
}

static uint64_t differences(struct mpr_document *doc, const struct mpr_steps *s, enum mpr_group by,
                            const struct mpr_row *row, size_t rows, const char *heading)
{
    const uint64_t whole = sum_of(row, rows);
    if (rows)
        mpr_report_rows(doc, &(struct mpr_rows){ .row = row,
                                                 .rows = rows,
                                                 .by = by,
                                                 .of = mpr_heap_name(s->heap[s->shown].heap->heap),
                                                 .bytes = heading,
                                                 .whole = whole,
                                                 .changes = true });
    return whole;
}

/* of: for flame graphs; NULL: they are the same bytes by another name. */
static void compared_rows(struct mpr_document *doc, const struct mpr_steps_comparison *c,
                          const char *key, const char *of)
{
    mpr_doc_table(
        doc, &(struct mpr_table){ .key = key,
                                  .only = MPR_IN_JSON,
                                  MPR_COLUMNS(row_columns),
                                  MPR_ROWS(c->row, c->rows),
                                  .omitted = "",
                                  .folded = { of, NULL, of ? "bytes" : NULL, "median_bytes" } });
}

static void comparison(struct mpr_document *doc, const struct mpr_steps *s)
{
    const struct mpr_steps_comparison *c = &s->comparison;
    if (!s->compared) return;
    const struct mpr_steps_heap *h = &s->heap[s->shown];
    const char *instance = at_peak(doc, s, h, c->instance), *median = at_peak(doc, s, h, c->median);
    mpr_doc_open(doc, "compared");
    mpr_doc_fact(doc, "heap", mpr_value_heap(h->heap->heap));
    mpr_doc_fact(doc, "instance", mpr_value_text(instance));
    mpr_doc_fact(doc, "median", mpr_value_text(median));
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_word(c->choice.by)));
    compared_rows(doc, c, "paths", mpr_heap_name(h->heap->heap));
    if (s->calls.rows) compared_rows(doc, &s->calls, "stacks", NULL);
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "what %s holds at its peak that %s, the median, does not:", instance, median);
    differences(doc, s, s->calls.choice.by, s->calls.more, s->calls.mores, "more");
    const uint64_t more = differences(doc, s, c->choice.by, c->more, c->mores, "more"),
                   less = differences(doc, s, c->choice.by, c->less, c->lesses, "less");
    if (less) {
        mpr_doc_gap(doc);
        mpr_doc_line(doc, "%s more and %s less: +%s", mpr_doc_size(doc, more),
                     mpr_doc_size(doc, less), mpr_doc_size(doc, mpr_less(more, less)));
    }
    mpr_doc_close(doc);
}

/* ---- all */

#define OF_ALL(member) MPR_FIELD(mpr_instances, member)
static const struct mpr_column fields[] = {
    { .key = "range", .type = MPR_TEXT, OF_ALL(range), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "range_path", MPR_PATH_FIELD(mpr_instances, path) },
    { .key = "instances", .type = MPR_COUNT, OF_ALL(count) },
    { .key = "gaps", .type = MPR_FLAG, OF_ALL(gaps), .unless = MPR_ABSENT_AT_0 },
    { .key = "instances_an_entry", .type = MPR_COUNT, OF_ALL(each) },
    { .key = "instances_not_measured", .type = MPR_COUNT, OF_ALL(left_out) },
};

void mpr_report_steps(struct mpr_document *doc, const struct mpr_steps *s)
{
    mpr_report_schema(doc, "memprof.steps/1");
    mpr_report_log(doc, &s->instances.summary);
    mpr_doc_facts(doc, fields, &s->instances);
    if (*s->instances.range) headlines(doc, s);
    else
        mpr_doc_line(
            doc,
            "no range repeats: none was open three times, one after the other (--range names another)");
    comparison(doc, s);
    mpr_doc_list(doc, "heaps");
    for (size_t i = 0; i < s->instances.heaps; i++) heap(doc, s, i);
    mpr_doc_close(doc);
    mpr_doc_csv(doc, columns);
}
