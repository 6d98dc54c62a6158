/* The instances of a repeated range: a headline for each heap, the instance with the largest
 * peak compared with the median one, then all instances. For people, consecutive similar
 * instances are one line, and outliers have their own lines. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "naming.h"
#include "report_rows.h"
#include "reports.h"
#include "steps.h"

/* An instance in a heap, or for people several consecutive ones. */
struct step {
    struct mpr_instance instance;
    struct mpr_instance_heap of;
    uint8_t heap;
    const char *range, *note;
    int64_t kept, change; /* change: of the peak since the instance before */
    bool peak_is_outlier, kept_is_outlier, first;
    /* Of a line: */
    uint64_t min_peak;
    uint64_t joined, outliers; /* how many entries the line has; how many of them are outliers */
    bool named; /* it has its own line: the headline names it, or it is a large outlier */
    const struct mpr_frame *shown; /* its name */
};

#define OF(member)          MPR_FIELD(step, member)
#define OF_INSTANCE(member) MPR_FIELD(step, instance.member)
#define OF_BYTES(member)    MPR_FIELD(step, of.member)

MPR_VALUE(change, step, s, s->first ? mpr_value_absent : mpr_value_amount(MPR_CHANGE, s->change))

MPR_VALUE(line_name, step, s, mpr_value_shortened(mpr_frame_alone(&s->shown), NULL))

// clang-format off
static const struct mpr_column columns[] = {
    MPR_LOG_COLUMN,
    { .key = "heap", .type = MPR_WORD, OF(heap), .only = MPR_IN_CSV },
    { .key = "range", .type = MPR_TEXT, OF(range), .only = MPR_IN_CSV },
    { .key = "number", .type = MPR_COUNT, OF_INSTANCE(number) },
    { .key = "instances", .type = MPR_COUNT, OF_INSTANCE(count) },
    { .key = "name", .title = "instance", .type = MPR_TEXT, OF_INSTANCE(name),
      MPR_SHOWN(MPR_PATH, line_name) },
    { .key = "thread", .type = MPR_TEXT, OF_INSTANCE(thread) },
    { .key = "begin_ns", .title = "from", .type = MPR_TIME, OF_INSTANCE(begin_ns), .spare = 1 },
    { .key = "end_ns", .type = MPR_TIME, OF_INSTANCE(end_ns) },
    { .key = "unended", .type = MPR_FLAG, OF_INSTANCE(unended) },
    { .key = "peak_bytes", .title = "peak", .type = MPR_BYTES, OF_BYTES(peak_bytes) },
    { .key = "peak_change_bytes", .title = "change", .type = MPR_CHANGE, .get = change },
    { .key = "peak_time_ns", .type = MPR_TIME, OF_BYTES(peak_time) },
    { .key = "peak_number", .type = MPR_COUNT, OF_BYTES(peak_number) },
    { .key = "begin_bytes", .type = MPR_BYTES, OF_BYTES(begin_bytes) },
    { .key = "kept_bytes", .title = "kept", .type = MPR_CHANGE, OF(kept) },
    { .key = "end_bytes", .title = "at end", .type = MPR_BYTES, OF_BYTES(end_bytes), .spare = 2 },
    { .key = "allocations", .type = MPR_COUNT, OF_BYTES(allocations) },
    { .key = "peak_stands_out", .type = MPR_FLAG, OF(peak_is_outlier) },
    { .key = "kept_stands_out", .type = MPR_FLAG, OF(kept_is_outlier) },
    { .title = "", .type = MPR_TEXT, OF(note), .beside = true },
};
// clang-format on

static struct step step_of(const struct mpr_steps *s, const struct mpr_steps_heap *h, size_t i)
{
    const struct mpr_instance_heap *of = &h->heap->entry[i];
    const bool peak_is_outlier = h->outlier[i] & MPR_STEPS_PEAK,
               kept_is_outlier = h->outlier[i] & MPR_STEPS_KEPT;
    struct step step = {
        .instance = s->instances.instance[i],
        .of = *of,
        .heap = h->heap->heap,
        .range = s->instances.range,
        .note = peak_is_outlier   ? kept_is_outlier ? "outlier: peak, kept" : "outlier: peak"
                : kept_is_outlier ? "outlier: kept"
                                  : "",
        .kept = mpr_signed_difference(of->begin_bytes, of->end_bytes),
        .change = i ? mpr_signed_difference(h->heap->entry[i - 1].peak_bytes, of->peak_bytes) : 0,
        .peak_is_outlier = peak_is_outlier,
        .kept_is_outlier = kept_is_outlier,
        .first = !i,
        .min_peak = of->peak_bytes,
        .joined = 1,
        .outliers = peak_is_outlier || kept_is_outlier,
        .named = (h->peaks_out && i == h->worst_peak) || (h->kept_out && i == h->worst_kept),
    };
    if (step.instance.unended)
        step.note = peak_is_outlier ? "outlier: peak; not ended" : "not ended";
    return step;
}

/* ---- similar instances in a row are one line */

static bool is_near(int64_t a, int64_t b, uint64_t distance)
{
    return llabs(mpr_signed_sub(a, b)) <= mpr_saturating_signed(distance);
}

static void add(struct step *to, const struct step *s)
{
    to->instance.count += s->instance.count;
    to->joined += s->joined;
    to->outliers += s->outliers;
    to->instance.last = s->instance.last;
    to->instance.end_ns = s->instance.end_ns;
    to->of.end_bytes = s->of.end_bytes;
    to->of.allocations += s->of.allocations;
    to->kept = mpr_signed_add(to->kept, s->kept);
    if (s->of.peak_bytes > to->of.peak_bytes) to->of.peak_bytes = s->of.peak_bytes;
    if (s->min_peak < to->min_peak) to->min_peak = s->min_peak;
}

/* Joins consecutive instances that are not outliers, and whose peaks and kept bytes differ by at
 * most a fiftieth of the median peak. */
static size_t join_similar(const struct step *step, size_t steps, uint64_t median,
                           struct step *line)
{
    size_t lines = 0;
    for (size_t i = 0, next; i < steps; i = next) {
        struct step *l = &line[lines++];
        const int64_t peak = mpr_saturating_signed(step[i].of.peak_bytes);
        *l = step[i];
        for (next = i + 1; next < steps && !*step[i].note && !*step[next].note; next++) {
            if (!is_near(peak, mpr_saturating_signed(step[next].of.peak_bytes), median / 50) ||
                !is_near(step[i].kept, step[next].kept, median / 50))
                break;
            add(l, &step[next]);
        }
    }
    return lines;
}

/* ---- if there are still too many lines, neighbours are joined */

MPR_COMPARE(by_peak, struct step *,
            mpr_compare((*b)->of.peak_bytes, (*a)->of.peak_bytes)
                ?: mpr_compare((*a)->instance.number, (*b)->instance.number))

/* Chooses the largest outliers that get their own lines. Each needs two lines: its own, and one
 * for the instances between it and the next outlier. */
static void choose_outliers(struct step *line, size_t lines, size_t top)
{
    struct step **outlier = mpr_alloc(lines, sizeof *outlier);
    size_t outliers = 0, named = 0;
    for (size_t i = 0; i < lines; i++) {
        named += line[i].named;
        if ((line[i].peak_is_outlier || line[i].kept_is_outlier) && !line[i].named)
            outlier[outliers++] = &line[i];
    }
    if (outliers) qsort(outlier, outliers, sizeof *outlier, by_peak);
    for (size_t i = 0; i < outliers && 2 * named + 3 <= top; i++, named++) outlier[i]->named = true;
    free(outlier);
}

/* Joins neighbours to lines of at most this many entries. */
static size_t join_neighbours(struct step *line, size_t lines, uint64_t instances)
{
    size_t count = 0;
    for (size_t i = 0; i < lines; i++) {
        struct step *last = count ? &line[count - 1] : NULL;
        if (last && !last->named && !line[i].named && !line[i].instance.unended &&
            last->joined + line[i].joined <= instances)
            add(last, &line[i]);
        else line[count++] = line[i];
    }
    return count;
}

/* ---- lines */

/* "step:6 to 9" */
static const char *names_of(struct mpr_document *doc, uint64_t count, const char *first,
                            const char *last)
{
    if (count < 2) return first;
    const char *colon = strrchr(last, ':');
    const bool numbered = colon && !colon[1 + strspn(colon + 1, "0123456789")] &&
                          strncmp(first, last, (size_t)(colon - last) + 1) == 0;
    return mpr_arena_format(&doc->arena, "%s to %s", first, numbered ? colon + 1 : last);
}

/* Sets the name and the note of a line: "58 similar", "310, smallest peak 310.00 MiB, 2
 * outliers". Its instances keep at most what is left at its end, because a later one may have
 * freed the memory. */
static void finish(struct mpr_document *doc, struct step *line, uint64_t median)
{
    const int64_t left = mpr_signed_difference(line->of.begin_bytes, line->of.end_bytes);
    const char *count = mpr_doc_count(doc, line->instance.count);
    if (line->kept > left) line->kept = left;
    line->instance.name =
        names_of(doc, line->instance.count, line->instance.name, line->instance.last);
    line->shown = mpr_frame_named(&doc->arena, MPR_FRAME_LABEL, line->instance.name);
    if (line->joined < 2) return;
    if (!line->outliers && is_near(mpr_saturating_signed(line->of.peak_bytes),
                                   mpr_saturating_signed(line->min_peak), median / 50)) {
        line->note = mpr_arena_format(&doc->arena, "%s similar", count);
        return;
    }
    line->note =
        mpr_arena_format(&doc->arena, "%s, min %s", count, mpr_doc_size(doc, line->min_peak));
    if (line->outliers)
        line->note = mpr_arena_format(&doc->arena, "%s, %s", line->note,
                                      mpr_doc_counted(doc, line->outliers, "outlier", "outliers"));
}

/* Returns the order of the lines: first, by time, those that are shown, which are the named ones
 * and as many others as fit in @top. If only one is shown, it is the named one with the larger
 * peak. */
static const size_t *order_of(struct mpr_document *doc, struct step *line, size_t lines, size_t top)
{
    size_t *order = mpr_arena_alloc(&doc->arena, lines * sizeof *order);
    struct step *largest = NULL;
    size_t named = 0, at = 0;
    for (size_t i = 0; i < lines; i++)
        if (line[i].named && (!largest || line[i].of.peak_bytes > largest->of.peak_bytes))
            largest = &line[i];
    for (size_t i = 0; i < lines; i++) {
        line[i].named &= top > 1 || &line[i] == largest;
        named += line[i].named;
    }
    const size_t room = top > named ? top - named : 0;
    for (int shown = 1; shown >= 0; shown--)
        for (size_t i = 0, others = 0; i < lines; i++) {
            const bool fits = line[i].named || others < room;
            if (fits == shown) order[at++] = i;
            others += !line[i].named;
        }
    return order;
}

static void lines(struct mpr_document *doc, const struct step *step, size_t steps, uint64_t median)
{
    const size_t top = doc->top ? doc->top : MPR_TOP;
    struct step *line = mpr_arena_alloc(&doc->arena, steps * sizeof *line);
    size_t count = steps;
    if (doc->naming && doc->naming->unfold) memcpy(line, step, steps * sizeof *line);
    else {
        count = join_similar(step, steps, median, line);
        if (count > top) choose_outliers(line, count, top);
        for (uint64_t joined = 2; count > top && joined < 2 * steps; joined *= 2)
            count = join_neighbours(line, count, joined);
    }
    for (size_t i = 0; i < count; i++) finish(doc, &line[i], median);
    for (size_t i = 1; i < count; i++)
        line[i].change = mpr_signed_difference(line[i - 1].of.peak_bytes, line[i].of.peak_bytes);
    const bool one_more = !doc->top && count == top + 1; /* shown instead of "(1 more)" */
    mpr_doc_rows(doc, columns, line, count, .title = mpr_heap_name(step->heap),
                 .only = MPR_FOR_PEOPLE, .order = order_of(doc, line, count, top + one_more));
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
    const size_t steps = s->instances.instances;
    struct step *step = mpr_arena_alloc(&doc->arena, steps * sizeof *step);
    for (size_t i = 0; i < steps; i++) step[i] = step_of(s, h, i);
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "heap", mpr_value_heap(h->heap->heap));
    if (h->heap->inside) mpr_doc_fact(doc, "inside", mpr_value_heap(h->heap->inside));
    mpr_doc_facts(doc, heap_fields, h);
    mpr_doc_rows(doc, columns, step, steps, .key = "instances", .only = MPR_IN_JSON | MPR_IN_CSV,
                 .all = MPR_IN_JSON | MPR_IN_CSV);
    if (index == s->shown && steps) lines(doc, step, steps, h->median_peak);
    mpr_doc_close(doc);
}

/* ---- headlines */

static const char *at_peak(struct mpr_document *doc, const struct mpr_steps *s,
                           const struct mpr_steps_heap *h, size_t entry)
{
    return mpr_instances_at_peak(&doc->arena, &s->instances, h->heap, entry);
}

static const char *and_more(struct mpr_document *doc, size_t count)
{
    return count > 1 ? mpr_arena_format(&doc->arena, " and %s more", mpr_doc_count(doc, count - 1))
                     : "";
}

static void headline(struct mpr_document *doc, const struct mpr_steps *s,
                     const struct mpr_steps_heap *h)
{
    const char *min = mpr_doc_size(doc, h->least_peak), *max = mpr_doc_size(doc, h->most_peak);
    mpr_doc_add_plain(doc, "%s: peaks %s%s", mpr_heap_name(h->heap->heap),
                      h->heap->inside ? "~" : "", min);
    if (strcmp(min, max) != 0) mpr_doc_add_plain(doc, " to %s", max);
    if (h->peaks_out) {
        const uint64_t peak = h->heap->entry[h->worst_peak].peak_bytes;
        mpr_doc_add_plain(doc, ", except ");
        mpr_doc_add(doc, MPR_STRONG, "%s%s: %s%s, %s above the median",
                    at_peak(doc, s, h, h->worst_peak), and_more(doc, h->peaks_out),
                    h->peaks_out > 1 ? "up to " : "", mpr_doc_size(doc, peak),
                    mpr_doc_size(doc, peak - h->median_peak));
        const struct mpr_row *cause = h == &s->heap[s->shown] ? mpr_steps_cause(s) : NULL;
        if (cause)
            mpr_doc_add_plain(doc, " (%s%s more in %s)", cause->estimated ? "~" : "",
                              mpr_doc_size(doc, cause->bytes),
                              mpr_report_path_words(doc, cause->path));
    }
    if (h->kept_out) {
        const struct mpr_instance *instance = &s->instances.instance[h->worst_kept];
        const struct mpr_instance_heap *worst = &h->heap->entry[h->worst_kept];
        mpr_doc_add_plain(
            doc, "; %s%s kept %s%s, more than the others",
            names_of(doc, instance->count, instance->name, instance->last),
            and_more(doc, h->kept_out), h->kept_out > 1 ? "up to " : "",
            mpr_doc_size(doc, mpr_saturating_sub(worst->end_bytes, worst->begin_bytes)));
    }
    mpr_report_inside(doc, h->heap->inside);
    mpr_doc_end(doc);
}

static void headlines(struct mpr_document *doc, const struct mpr_steps *s)
{
    const struct mpr_instances *in = &s->instances;
    mpr_doc_line(doc, "%s of %s", mpr_doc_counted(doc, in->count, "instance", "instances"),
                 in->range);
    if (in->gaps)
        mpr_doc_line(
            doc,
            "no repeated range spans a whole step, so memory that is live between these ranges is not included; mark steps with NVTX or torch.profiler.record_function, or choose a range with --range");
    if (in->each > 1)
        mpr_doc_line(doc, "each line is %s consecutive instances, with the largest of their peaks",
                     mpr_doc_count(doc, in->each));
    if (in->left_out)
        mpr_doc_line(doc, "%s unknown, because more than 256 others were open",
                     mpr_doc_counted(doc, in->left_out, "instance is", "instances are"));
    for (size_t i = 0; i < in->heaps; i++) headline(doc, s, &s->heap[i]);
    if (in->heaps > 1)
        mpr_doc_line(doc, "shown below: %s; use --heap for others",
                     mpr_heap_name(s->heap[s->shown].heap->heap));
}

/* ---- the worst instance against the median one */

#define OF_ROW(member) MPR_FIELD(mpr_growth_row, member)
static const struct mpr_column row_columns[] = {
    { .key = "path", MPR_PATH_FIELD(mpr_growth_row, path) },
    { .key = "bytes", .type = MPR_SIGNED, OF_ROW(after) },
    { .key = "median_bytes", .type = MPR_SIGNED, OF_ROW(before) },
    { .key = "blocks", .type = MPR_COUNT, OF_ROW(blocks_after) },
    { .key = "median_blocks", .type = MPR_COUNT, OF_ROW(blocks_before) },
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(estimated), .unless = MPR_ABSENT_AT_0 },
};

/* The blocks are a difference, so 0 is not shown. */
// clang-format off
static const struct mpr_column change_columns[] = {
    MPR_ROW_PATH,
    MPR_ROW_BYTES,
    { .title = "blocks", .type = MPR_COUNT, MPR_FIELD(mpr_row, blocks), .unless = MPR_ABSENT_AT_0,
      .estimate = true },
};
// clang-format on

/* Adds a table of differences and returns their sum. */
static uint64_t differences(struct mpr_document *doc, const struct mpr_steps *s, enum mpr_group by,
                            const struct mpr_row *row, size_t rows, const char *bytes)
{
    const char *heap = mpr_heap_name(s->heap[s->shown].heap->heap);
    uint64_t sum = 0;
    for (size_t i = 0; i < rows; i++) sum += row[i].bytes;
    if (rows)
        mpr_doc_rows(doc, change_columns, row, rows, .title = mpr_report_heading(doc, heap, by),
                     .only = MPR_FOR_PEOPLE, .whole = sum, .by = by,
                     .lines = { .merged = true, .bytes_title = bytes, .siblings = true });
    return sum;
}

/* @of: the first frame in flame graphs, or NULL if other rows have these bytes */
static void compared_rows(struct mpr_document *doc, const struct mpr_steps_comparison *c,
                          const char *key, const char *of)
{
    mpr_doc_rows(doc, row_columns, c->growth.row, c->growth.rows, .key = key, .only = MPR_IN_JSON,
                 .omitted = "", .folded = { of, NULL, of ? "bytes" : NULL, "median_bytes" });
}

static void comparison(struct mpr_document *doc, const struct mpr_steps *s)
{
    const struct mpr_steps_comparison *c = &s->comparison;
    if (!c->growth.row) return;
    const struct mpr_steps_heap *h = &s->heap[s->shown];
    const char *instance = at_peak(doc, s, h, c->instance), *median = at_peak(doc, s, h, c->median);
    mpr_doc_open(doc, "compared");
    mpr_doc_fact(doc, "heap", mpr_value_heap(h->heap->heap));
    mpr_doc_fact(doc, "instance", mpr_value_text(instance));
    mpr_doc_fact(doc, "median", mpr_value_text(median));
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_word(c->choice.by)));
    compared_rows(doc, c, "paths", mpr_heap_name(h->heap->heap));
    if (s->calls.growth.rows) compared_rows(doc, &s->calls, "stacks", NULL);
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "peak of %s, compared with that of the median instance, %s:", instance,
                 median);
    differences(doc, s, s->calls.choice.by, s->calls.more, s->calls.mores, "more");
    const uint64_t more = differences(doc, s, c->choice.by, c->more, c->mores, "more"),
                   less = differences(doc, s, c->choice.by, c->less, c->lesses, "less");
    if (less) {
        mpr_doc_gap(doc);
        mpr_doc_line(doc, "%s more and %s less: +%s", mpr_doc_size(doc, more),
                     mpr_doc_size(doc, less), mpr_doc_size(doc, mpr_saturating_sub(more, less)));
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
    { .key = "instances_per_entry", .type = MPR_COUNT, OF_ALL(each) },
    { .key = "instances_not_measured", .type = MPR_COUNT, OF_ALL(left_out) },
};

void mpr_report_steps(struct mpr_document *doc, const struct mpr_steps *s)
{
    mpr_report_schema(doc, "memprof.steps/1");
    mpr_report_log(doc, &s->instances.summary);
    mpr_doc_facts(doc, fields, &s->instances);
    if (*s->instances.range) headlines(doc, s);
    else
        mpr_doc_line(doc,
                     "no range repeats at least three times in a row; choose one with --range");
    comparison(doc, s);
    mpr_doc_list(doc, "heaps");
    for (size_t i = 0; i < s->instances.heaps; i++) heap(doc, s, i);
    mpr_doc_close(doc);
    mpr_doc_csv(doc, columns);
}
