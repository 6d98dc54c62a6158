/* Measures the instances of ranges in one replay. If the user named no range, all ranges are
 * measured that may become the outermost one that repeats. If that is another range in the end,
 * the log is read again. Memory is bounded: if a range has more than MPR_INSTANCES_MAX entries,
 * each two become one. */
#include "instances.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "labels.h"
#include "range_heaps.h"
#include "reader.h"
#include "repeats.h"

/* Limits of the number of ranges that are measured if the user named none: of the application,
 * of others, and of their depth. */
enum { OWN_RANGES = 8, OTHER_RANGES = 8, RANGES = OWN_RANGES + OTHER_RANGES, DEPTH = 4 };
/* A range with this number of entries is dropped unless it is the outermost one until now. */
enum { ENTRIES_OF_INNER = 256 };

struct entry {
    uint64_t number, count, begin_ns, end_ns;
    uint32_t node, last_node, thread;
    bool unended;
};

/* A range with its instances. */
struct measured {
    struct mpr_range_heaps heaps; /* by entry */
    struct entry *entry;
    size_t entries, cap;
    uint64_t count, each; /* number of instances until now, and in each entry */
    uint32_t repeat;      /* the range's number in repeats, if the user named none */
    bool dropped;         /* it is not measured any more, because an outer range repeats */
};

struct mpr_instances_reading {
    struct mpr_follow follow; /* a range has the number 1 + its place in `range` */
    struct mpr_heap_rises rises;
    struct mpr_repeats *repeats;
    const char *name;              /* the range that the user named, or NULL */
    struct mpr_named_ranges named; /* if the user named one */
    struct measured range[RANGES];
    uint32_t ranges, others; /* others: those that are not the application's */
    uint8_t *of_repeat;      /* by number in repeats, if the user named none: 0 not seen, 1 not
                                measured, otherwise 2 + the place in `range` */
    uint32_t of_repeats;
};

/* ---- entries */

static void join_pairs(struct measured *m)
{
    m->entries /= 2;
    m->each *= 2;
    for (size_t i = 0; i < m->entries; i++) {
        const struct entry *later = &m->entry[2 * i + 1];
        struct entry both = m->entry[2 * i];
        both.count += later->count;
        both.last_node = later->last_node;
        both.unended |= later->unended;
        if (later->end_ns > both.end_ns) both.end_ns = later->end_ns;
        m->entry[i] = both;
        mpr_range_heaps_join(&m->heaps, i, 2 * i, 2 * i + 1);
    }
}

static size_t entry_of(const struct measured *m, uint64_t number)
{
    return (size_t)((number - 1) / m->each);
}

/* ---- observers */

static uint32_t add_range(struct mpr_instances_reading *b, uint32_t repeat)
{
    b->range[b->ranges] =
        (struct measured){ .heaps = { .rises = &b->rises }, .each = 1, .repeat = repeat };
    return ++b->ranges;
}

static void free_range(struct measured *m)
{
    mpr_range_heaps_free(&m->heaps);
    free(m->entry);
}

/* Stops measuring a range that has many instances, but is inside another range that repeats. If
 * the outer range is not chosen in the end, the log is read again. */
static void drop_inner(struct mpr_instances_reading *b, struct measured *m)
{
    enum { FEW = 4 }; /* an outer range with fewer instances may turn out not to repeat */
    if (b->name || m->entries != ENTRIES_OF_INNER ||
        mpr_repeats_outermost(b->repeats) == m->repeat ||
        mpr_repeats_outermost_with(b->repeats, FEW) == m->repeat)
        return;
    free_range(m);
    m->dropped = true;
}

/* Returns 1 + the index of the range in b->range, or 0 if it is not measured. This is decided at
 * its first instance: ranges of the application come first, then outer ranges. */
static uint32_t place_of_range(void *ranges, const struct mpr_replay *r, uint32_t node)
{
    enum { UNKNOWN, NOT_MEASURED };
    struct mpr_instances_reading *b = ranges;
    const uint32_t number = mpr_repeats_of(b->repeats, r, node);
    const struct mpr_repeat *repeat = &b->repeats->repeat[number];
    MPR_REACH(b->of_repeat, number, b->of_repeats);
    uint8_t *of = &b->of_repeat[number];
    if (*of == UNKNOWN) {
        const bool own = !repeat->rank,
                   may = own ? repeat->depth <= DEPTH && b->ranges - b->others < OWN_RANGES
                             : (repeat->depth <= 1 || mpr_repeats_is_optimizer(repeat)) &&
                                   b->others < OTHER_RANGES;
        *of = may ? (uint8_t)(NOT_MEASURED + add_range(b, number)) : NOT_MEASURED;
        b->others += may && !own;
    }
    return *of - NOT_MEASURED;
}

static void before_event(void *arg, const struct mpr_replay *r)
{
    struct mpr_instances_reading *b = arg;
    mpr_heap_rises_take(&b->rises, r);
    for (size_t i = 0; b->rises.count && i < b->follow.count; i++) {
        const struct mpr_followed *f = &b->follow.open[i];
        struct measured *m = &b->range[f->range - 1];
        if (m->dropped) continue;
        mpr_range_heaps_rise(&m->heaps, entry_of(m, f->number), f->number);
    }
}

static void on_begin(void *arg, const struct mpr_replay *r, struct mpr_followed *f)
{
    struct mpr_instances_reading *b = arg;
    struct measured *m = &b->range[f->range - 1];
    f->number = ++m->count;
    if (!m->dropped) drop_inner(b, m);
    if (m->dropped) return;
    if (entry_of(m, f->number) == MPR_INSTANCES_MAX) join_pairs(m);
    const size_t at = entry_of(m, f->number);
    if (at == m->entries) {
        MPR_GROW(m->entry, m->entries, m->cap);
        m->entry[m->entries++] = (struct entry){
            .number = f->number, .begin_ns = f->begin_ns, .node = f->node, .thread = f->thread
        };
    }
    struct entry *entry = &m->entry[at];
    entry->count++;
    entry->last_node = f->node;
    mpr_range_heaps_begin(&m->heaps, r, at, f->number, entry->count == 1);
    if (mpr_follow_is_full(&b->follow)) mpr_range_heaps_end(&m->heaps, r, at);
}

static void on_end(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended)
{
    struct mpr_instances_reading *b = arg;
    struct measured *m = &b->range[f->range - 1];
    if (m->dropped) return;
    const size_t at = entry_of(m, f->number);
    m->entry[at].end_ns = r->now;
    m->entry[at].unended |= !ended;
    mpr_range_heaps_end(&m->heaps, r, at);
}

/* ---- the result */

struct result {
    struct mpr_instances_reading *reading;
    struct measured *range;
    const char *name;
    const struct mpr_reader *reader;
    struct mpr_instances *out;
};

MPR_COMPARE(by_name, struct mpr_instance *, strcmp((*a)->name, (*b)->name))

static bool have_equal_names(const struct mpr_instances *out)
{
    const struct mpr_instance **sorted = mpr_alloc(out->instances, sizeof *sorted);
    bool equal = false;
    for (size_t i = 0; i < out->instances; i++) sorted[i] = &out->instance[i];
    qsort(sorted, out->instances, sizeof *sorted, by_name);
    for (size_t i = 1; i < out->instances && !equal; i++)
        equal = by_name(&sorted[i - 1], &sorted[i]) == 0;
    free(sorted);
    return equal;
}

/* Returns the name of an instance. @longer: 0: "step 3". 1: with its path if the program numbers
 * it, because the numbers may start again in each outer range: "epoch 0 > step 3". 2: also with
 * memprof's number, because outer ranges may have no numbers: "epoch > step 3 (no. 15)". */
static const char *name_of(const struct result *m, uint32_t node, uint64_t number, int longer)
{
    const struct mpr_replay *r = &m->reader->replay;
    struct mpr_arena *arena = &m->out->arena;
    struct mpr_repeats *repeats = m->reading->repeats;
    const char *name = longer && mpr_repeats_numbered(repeats, r, node)
                           ? mpr_frame_path_text(arena, mpr_label_node(arena, m->reader, node))
                           : mpr_repeats_label(repeats, r, arena, node, m->name, number);
    return longer < 2 ? name : mpr_arena_format(arena, "%s (no. %" PRIu64 ")", name, number);
}

static void fill_entries(const struct result *m)
{
    struct mpr_instances *out = m->out;
    out->instances = m->range->entries;
    out->instance = mpr_arena_alloc(&out->arena, out->instances * sizeof *out->instance);
    for (size_t i = 0; i < out->instances; i++) {
        const struct entry *e = &m->range->entry[i];
        out->instance[i] = (struct mpr_instance){
            .number = e->number,
            .count = e->count,
            .thread = mpr_label_thread(&out->arena, &m->reader->replay, e->thread),
            .begin_ns = e->begin_ns,
            .end_ns = e->end_ns ? e->end_ns : e->begin_ns,
            .unended = e->unended || !e->end_ns,
        };
    }
    for (int longer = 0; longer == 0 || (longer < 3 && have_equal_names(out)); longer++)
        for (size_t i = 0; i < out->instances; i++) {
            const struct entry *e = &m->range->entry[i];
            out->instance[i].name = name_of(m, e->node, e->number, longer);
            out->instance[i].last = name_of(m, e->last_node, e->number + e->count - 1, longer);
        }
}

MPR_COMPARE(by_peak, struct mpr_instances_heap,
            mpr_compare(b->peak_bytes, a->peak_bytes) ?: mpr_heap_by_name(a->heap, b->heap))

/* @only: a heap, or MPF_HEAP_NONE for all. */
static void fill_heaps(const struct result *m, uint8_t only)
{
    struct mpr_instances *out = m->out;
    const struct mpr_used_heaps *heaps = &m->reading->rises.heaps;
    out->heap = mpr_arena_alloc(&out->arena, heaps->count * sizeof *out->heap);
    for (uint32_t i = 0; i < heaps->count; i++) {
        const uint8_t code = heaps->code[i];
        if (only && code != only) continue;
        struct mpr_instances_heap *to = &out->heap[out->heaps++];
        *to = (struct mpr_instances_heap){
            .heap = code,
            .inside = mpr_heap_around(code),
            .entry = mpr_range_heaps_copy(&m->range->heaps, &out->arena, code, out->instances)
        };
        for (size_t k = 0; k < out->instances; k++)
            if (to->entry[k].peak_bytes > to->peak_bytes) to->peak_bytes = to->entry[k].peak_bytes;
    }
    qsort(out->heap, out->heaps, sizeof *out->heap, by_peak);
}

static void fill(const struct result *m, uint8_t only)
{
    struct mpr_instances *out = m->out;
    struct measured *range = m->range;
    struct mpr_repeats *repeats = m->reading->repeats;
    mpr_follow_end(&m->reading->follow, &m->reader->replay);
    out->range = mpr_arena_text(&out->arena, m->name);
    out->path = mpr_repeats_path(&out->arena, repeats,
                                 mpr_repeats_of(repeats, &m->reader->replay, range->entry[0].node));
    out->count = range->count;
    out->each = range->each;
    out->left_out = m->reading->follow.left_out;
    fill_entries(m);
    fill_heaps(m, only);
}

/* Returns true if the instances cover too little of the time to be the program's steps. */
static bool have_gaps(const struct mpr_instances *in)
{
    uint64_t covered = 0, longest = 0, end = 0;
    for (size_t i = 0; i < in->instances; i++) {
        const struct mpr_instance *one = &in->instance[i];
        const uint64_t length = mpr_saturating_sub(one->end_ns, one->begin_ns);
        covered += length;
        if (length > longest) longest = length;
        if (one->end_ns > end) end = one->end_ns;
    }
    return in->instances && !mpr_repeats_span(covered, longest, end - in->instance[0].begin_ns);
}

/* ---- readings */

const struct mpr_instances mpr_instances_none = { .range = "", .each = 1 };

struct mpr_instances_reading *mpr_instances_watch(struct mpr_reader *reader, const char *range)
{
    struct mpr_instances_reading *b = mpr_alloc(1, sizeof *b);
    b->name = range;
    b->repeats = reader->repeats;
    if (range) {
        mpr_named_ranges_begin(&b->named, range, NULL);
        b->repeats = b->named.repeats;
        add_range(b, 0);
    }
    b->follow = (struct mpr_follow){ .number_of = range ? mpr_named_ranges_which : place_of_range,
                                     .ranges = range ? (void *)&b->named : b,
                                     .before_event = before_event,
                                     .on_begin = on_begin,
                                     .on_end = on_end,
                                     .arg = b };
    mpr_follow_begin(&b->follow, &reader->replay);
    mpr_heap_rises_watch(&b->rises, &reader->replay);
    return b;
}

bool mpr_instances_take_repeat(struct mpr_instances *out, struct mpr_instances_reading *b,
                               const struct mpr_reader *reader, const char *path, uint32_t repeat,
                               uint8_t heap)
{
    struct measured *range = NULL;
    for (uint32_t i = 0; i < b->ranges; i++)
        if (b->range[i].repeat == repeat) range = &b->range[i];
    if (!range || range->dropped || b->follow.left_out ||
        !mpr_repeats_is_unique(b->repeats, repeat))
        return false;
    const char *name = mpr_repeats_name(b->repeats, &out->arena, repeat);
    mpr_reader_summary(reader, path, &out->arena, &out->summary);
    fill(&(struct result){ b, range, name, reader, out }, heap);
    return true;
}

void mpr_instances_end(struct mpr_instances_reading *b)
{
    if (!b) return;
    for (uint32_t i = 0; i < b->ranges; i++)
        if (!b->range[i].dropped) free_range(&b->range[i]);
    if (b->name) mpr_named_ranges_free(&b->named);
    free(b->of_repeat);
    free(b);
}

/* Reads the log and measures the range with that name; NULL: the outermost one that repeats. If
 * that was not measured, sets *again to its name. */
static int measure(const char *range, const char *path, uint8_t heap, struct mpr_choice *choice,
                   const char **again, const struct mpr_progress *progress,
                   struct mpr_instances *out, struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    if (!range) reader.repeats = mpr_repeats_watch(&reader.replay);
    struct mpr_instances_reading *b = mpr_instances_watch(&reader, range);
    int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        *choice = mpr_choose(&reader);
        const uint32_t repeat = range ? 0 : mpr_repeats_outermost(reader.repeats);
        if (repeat && !mpr_instances_take_repeat(out, b, &reader, path, repeat, heap))
            *again = mpr_repeats_name(reader.repeats, &out->arena, repeat);
        if (!repeat) mpr_reader_summary(&reader, path, &out->arena, &out->summary);
        if (range && b->range[0].count)
            fill(&(struct result){ b, &b->range[0], range, &reader, out }, heap);
        else if (range)
            status = mpr_fail(error, "%s: no range %s%s", path, range,
                              mpr_named_ranges_hint(&b->named, &out->arena));
        mpr_reader_close(&reader);
    }
    mpr_instances_end(b);
    return status;
}

int mpr_instances_read(struct mpr_instances *out, struct mpr_choice *choice, const char *path,
                       const struct mpr_instances_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    const char *range = NULL;
    *out = mpr_instances_none;
    int status = measure(options->range, path, options->heap, choice, &range, progress, out, error);
    if (status == 0 && range)
        status = measure(range, path, options->heap, choice, &range, progress, out, error);
    out->gaps = status == 0 && !options->range && have_gaps(out);
    if (status != 0) mpr_instances_free(out);
    return status;
}

void mpr_instances_free(struct mpr_instances *instances) { mpr_arena_free(&instances->arena); }

const char *mpr_instances_at_peak(struct mpr_arena *arena, const struct mpr_instances *in,
                                  const struct mpr_instances_heap *heap, size_t entry)
{
    return in->instance[entry].count > 1
               ? mpr_arena_format(arena, "%s:%" PRIu64, in->range, heap->entry[entry].peak_number)
               : in->instance[entry].name;
}
