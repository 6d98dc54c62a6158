/* PyTorch's segments by device: sums, pools, the segments with most free bytes, and the blocks that
 * pin them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "naming.h"
#include "reports.h"
#include "segments.h"

static struct mpr_value pool_id(const uint64_t pool[2])
{
    return pool[0] || pool[1] ? mpr_value_numbers(pool, 2) : mpr_value_unknown;
}

/* ---- pools */

#define OF_POOL(member) MPR_FIELD(mpr_segment_pool, member)

MPR_VALUE(id_of_pool, mpr_segment_pool, r, pool_id(r->pool))

static const char *pool_name(struct mpr_document *doc, const struct mpr_segment_pool *p)
{
    const char *const owner = p->graph ? "graph" : "former graph";
    if (!p->graph && !p->pool[0] && !p->pool[1]) return "default";
    if (!p->pool[0] && !p->pool[1]) return owner;
    return mpr_arena_format(&doc->arena, "%s %" PRIu64 ":%" PRIu64, owner, p->pool[0], p->pool[1]);
}

MPR_VALUE(name_of_pool, mpr_segment_pool, p, mpr_value_text(pool_name(doc, p)))

// clang-format off
static const struct mpr_column pool_columns[] = {
    { .key = "graph", .type = MPR_FLAG, OF_POOL(graph) },
    { .key = "pool", .title = "pool", .type = MPR_NUMBERS, .get = id_of_pool,
      MPR_SHOWN(MPR_TEXT, name_of_pool), .width = 16 },
    { .key = "segments", .title = "segments", .type = MPR_COUNT, OF_POOL(segments), .width = 8 },
    { .key = "bytes", .title = "bytes", .type = MPR_BYTES, OF_POOL(bytes) },
    { .key = "live_bytes", .title = "live", .type = MPR_BYTES, OF_POOL(live), .spare = 2 },
    { .key = "free_bytes", .title = "free", .type = MPR_BYTES, OF_POOL(free) },
    { .key = "largest_hole_bytes", .title = "largest hole", .type = MPR_BYTES,
      OF_POOL(largest_hole), .width = 14, .spare = 1 },
};
// clang-format on

/* ---- segments */

#define OF_SEGMENT(member) MPR_FIELD(mpr_segment, member)

static const char *const states[] = { "split", "releasable", "graph" };

MPR_VALUE(id_of_segment, mpr_segment, r, pool_id(r->pool))
MPR_VALUE(oldest_time, mpr_segment, s,
          s->oldest.frame ? mpr_value_number(MPR_TIME, s->oldest_time) : mpr_value_absent)

// clang-format off
static const struct mpr_column segment_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "device", .type = MPR_COUNT, MPR_CONTEXT(mpr_segments_device, index),
      .only = MPR_IN_CSV },
    { .key = "time_ns", .type = MPR_TIME, MPR_CONTEXT(mpr_segments_device, time),
      .only = MPR_IN_CSV },
    { .key = "address", .type = MPR_ADDRESS, OF_SEGMENT(addr) },
    { .key = "state", .type = MPR_WORD, OF_SEGMENT(state), .words = states },
    { .key = "pool", .type = MPR_NUMBERS, .get = id_of_segment, .only = MPR_IN_JSON },
    { .key = "capture", .type = MPR_COUNT, OF_SEGMENT(capture), .unless = MPR_UNKNOWN_AT_0,
      .only = MPR_IN_JSON },
    { .key = "capture", .type = MPR_COUNT, OF_SEGMENT(capture), .only = MPR_IN_CSV },
    { .key = "expandable", .type = MPR_FLAG, OF_SEGMENT(expandable) },
    { .key = "made_ns", .type = MPR_TIME, OF_SEGMENT(time) },
    { .key = "bytes", .type = MPR_BYTES, OF_SEGMENT(bytes) },
    { .key = "live_bytes", .type = MPR_BYTES, OF_SEGMENT(live) },
    { .key = "free_bytes", .type = MPR_BYTES, OF_SEGMENT(free) },
    { .key = "releasable_bytes", .type = MPR_BYTES, OF_SEGMENT(idle) },
    { .key = "largest_hole_bytes", .type = MPR_BYTES, OF_SEGMENT(largest_hole) },
    { .key = "blocks", .type = MPR_COUNT, OF_SEGMENT(blocks) },
    { .key = "oldest_path", MPR_PATH_FIELD(mpr_segment, oldest),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "oldest_ns", .type = MPR_TIME, .get = oldest_time, .only = MPR_IN_JSON },
};
// clang-format on

/* ---- groups of segments: segments of one shape are one row */

struct shape {
    struct mpr_segment_group a;
    const char *name, *note;
    const char *text; /* the row: name, free bytes, largest hole, notes */
};

#define OF_SHAPE(member) MPR_FIELD(shape, a.member)

MPR_VALUE(shape_state, shape, r, mpr_value_text(states[r->a.oldest->state]))
MPR_VALUE(oldest_path, shape, r,
          r->a.oldest->oldest.frame ? mpr_value_path(r->a.oldest->oldest) : mpr_value_absent)
MPR_VALUE(shape_hole, shape, r, mpr_value_number(MPR_BYTES, r->a.oldest->largest_hole))

MPR_VALUE(oldest_name, shape, r,
          r->a.oldest->oldest.frame
              ? mpr_value_path(r->a.oldest->oldest)
              : mpr_value_text(r->a.oldest->state == MPR_SEGMENT_GRAPH ? "(a graph's pool)"
                                                                       : "(nothing)"))

static struct mpr_value age(const struct mpr_segments_device *d, uint64_t time)
{
    return mpr_value_number(MPR_TIME, mpr_saturating_sub(d->time, time));
}

MPR_VALUE_IN(oldest_age, shape, r, mpr_segments_device, d,
             r->a.oldest->oldest.frame ? age(d, r->a.oldest->oldest_time) : mpr_value_absent)

// clang-format off
static const struct mpr_column shape_columns[] = {
    { .key = "segments", .title = "segments", .type = MPR_COUNT, OF_SHAPE(segments),
      MPR_SHOWN_FIELD(MPR_TEXT, shape, name), .width = 16 },
    { .key = "state", .type = MPR_WORD, .get = shape_state },
    { .key = "bytes", .title = "bytes", .type = MPR_BYTES, OF_SHAPE(bytes), .spare = 5 },
    { .key = "free_bytes", .title = "free", .type = MPR_BYTES, OF_SHAPE(free) },
    { .key = "largest_hole_bytes", .title = "hole", .type = MPR_BYTES, .get = shape_hole,
      .spare = 4 },
    { .key = "blocks", .title = "blocks", .type = MPR_COUNT, OF_SHAPE(blocks), .width = 8,
      .spare = 1 },
    { .key = "oldest_path", .title = "oldest block", .type = MPR_PATH, .get = oldest_path,
      MPR_SHOWN(MPR_PATH, oldest_name), .width = 24, .spare = 3 },
    { .key = "oldest_age_ns", .title = "age", .type = MPR_TIME, .lasting = true, .get = oldest_age,
      .spare = 2 },
    { .key = "paths", .type = MPR_COUNT, OF_SHAPE(paths) },
    { .title = "", .type = MPR_TEXT, MPR_FIELD(shape, note) },
};
// clang-format on

static void add_note(struct mpr_document *doc, struct shape *s, const char *note)
{
    s->note = mpr_arena_format(&doc->arena, "%s%s%s", s->note, *s->note ? ", " : "", note);
    s->text = mpr_arena_format(&doc->arena, "%s, %s", s->text, note);
}

/* ---- notes distinguish shapes with the same text */

MPR_COMPARE(by_text, struct shape *, strcmp((*a)->text, (*b)->text))

/* Adds a note to rows with the same text. Returns true if there were any. */
typedef const char *note_of(struct mpr_document *doc, const struct shape *s);

static bool distinguish(struct mpr_document *doc, struct shape *row, size_t rows, note_of *note)
{
    struct shape **by = mpr_arena_alloc(&doc->arena, rows * sizeof *by);
    bool alike = false;
    for (size_t i = 0; i < rows; i++) by[i] = &row[i];
    if (rows) qsort(by, rows, sizeof *by, by_text);
    for (size_t i = 0, to; i < rows; i = to) {
        const char *text = by[i]->text;
        for (to = i + 1; to < rows && strcmp(by[to]->text, text) == 0;) to++;
        for (size_t k = i; to - i > 1 && k < to; k++) add_note(doc, by[k], note(doc, by[k]));
        alike |= to - i > 1;
    }
    return alike;
}

static const char *pool_note(struct mpr_document *doc, const struct shape *s)
{
    const struct mpr_segment *of = s->a.oldest;
    const struct mpr_segment_pool pool = { .pool = { of->pool[0], of->pool[1] },
                                           .graph = of->state == MPR_SEGMENT_GRAPH };
    return mpr_arena_format(&doc->arena, "pool %s", pool_name(doc, &pool));
}

static const char *free_bytes(struct mpr_document *doc, const struct shape *s)
{
    return mpr_arena_format(&doc->arena, "%" PRIu64 " B free", s->a.oldest->free);
}

static void shapes(struct mpr_document *doc, const struct mpr_segments_device *d)
{
    size_t count;
    const struct mpr_segment_group *alike = mpr_segment_group(
        &doc->arena, d->segment, d->segments, doc->naming && doc->naming->unfold, &count);
    struct shape *row = mpr_arena_alloc(&doc->arena, count * sizeof *row);
    for (size_t i = 0; i < count; i++) {
        const struct mpr_segment_group *a = &alike[i];
        const char *size = mpr_doc_size(doc, a->oldest->bytes);
        const char *name =
            a->segments == 1 ? mpr_arena_format(&doc->arena, "%#" PRIx64, a->oldest->addr)
                             : mpr_arena_format(&doc->arena, "%" PRIu64 " x %s", a->segments, size);
        row[i] = (struct shape){
            *a,
            name,
            "",
            mpr_arena_format(&doc->arena, "%s, %s, %s", name, mpr_doc_size(doc, a->free),
                             mpr_doc_size(doc, a->oldest->largest_hole)),
        };
    }
    if (distinguish(doc, row, count, pool_note)) distinguish(doc, row, count, free_bytes);
    for (size_t i = 0; i < count; i++)
        if (row[i].a.paths > 1)
            add_note(doc, &row[i],
                     mpr_arena_format(&doc->arena, "blocks of %" PRIu64 " paths", row[i].a.paths));
    mpr_doc_rows(doc, shape_columns, row, count, .key = "groups", .title = "most free",
                 .context = d, .all = MPR_IN_JSON);
}

/* ---- pins: paths of blocks that keep PyTorch from releasing segments */

#define OF_PIN(member) MPR_FIELD(mpr_segment_pin, member)

MPR_VALUE_IN(pin_age, mpr_segment_pin, p, mpr_segments_device, d, age(d, p->oldest_time))

// clang-format off
static const struct mpr_column pin_columns[] = {
    { .key = "path", .title = "path", MPR_PATH_FIELD(mpr_segment_pin, path), .width = 38 },
    { .key = "free_bytes", .title = "free", .type = MPR_BYTES, OF_PIN(free) },
    { .key = "segments", .title = "segments", .type = MPR_COUNT, OF_PIN(segments), .spare = 4 },
    { .key = "blocks", .title = "blocks", .type = MPR_COUNT, OF_PIN(blocks), .spare = 2 },
    { .key = "bytes", .title = "bytes", .type = MPR_BYTES, OF_PIN(bytes), .spare = 1 },
    { .key = "oldest_ns", .title = "oldest age", .type = MPR_TIME, OF_PIN(oldest_time),
      .merge = MPR_MERGE_MIN, MPR_SHOWN(MPR_TIME, pin_age), .lasting = true, .spare = 3 },
};
// clang-format on

static struct mpr_row row_of_pin(const void *row)
{
    const struct mpr_segment_pin *p = row;
    return (struct mpr_row){ .path = p->path, .bytes = p->free, .blocks = p->blocks };
}

MPR_COMPARE(by_address, struct mpr_pinned, mpr_compare(a->segment, b->segment))

/* Several paths may pin the same segment, so a line counts each segment with blocks of its paths
 * once. */
static void join_pins(struct mpr_arena *arena, void *line, const void *const *row, size_t rows)
{
    struct mpr_segment_pin *sum = line;
    size_t count = 0, at = 0;
    (void)arena;
    for (size_t i = 0; i < rows; i++) count += ((const struct mpr_segment_pin *)row[i])->segments;
    struct mpr_pinned *in = mpr_alloc(count, sizeof *in);
    for (size_t i = 0; i < rows; i++) {
        const struct mpr_segment_pin *p = row[i];
        for (size_t k = 0; k < p->segments; k++) in[at++] = p->in[k];
    }
    if (count) qsort(in, count, sizeof *in, by_address);
    sum->segments = sum->free = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && in[i].segment == in[i - 1].segment) continue;
        sum->segments++;
        sum->free += in[i].free;
    }
    free(in);
}

MPR_COMPARE(by_free, struct mpr_segment_pin,
            mpr_compare(b->free, a->free) ?: mpr_compare(b->bytes, a->bytes))

/* ---- devices */

#define OF(member) MPR_FIELD(mpr_segments_device, member)

static const struct mpr_column device_columns[] = {
    { .key = "device", .type = MPR_COUNT, OF(index) },
    { .key = "name", .type = MPR_TEXT, OF(name) },
    { .key = "time_ns", .type = MPR_TIME, OF(time) },
    { .key = "bytes", .type = MPR_BYTES, OF(bytes) },
    { .key = "live_bytes", .type = MPR_BYTES, OF(live) },
    { .key = "split_free_bytes", .type = MPR_BYTES, OF(split_free) },
    { .key = "largest_hole_bytes", .type = MPR_BYTES, OF(largest_hole) },
    { .key = "releasable_bytes", .type = MPR_BYTES, OF(idle) },
    { .key = "graph_free_bytes", .type = MPR_BYTES, OF(graph_free) },
    { .key = "asleep_bytes", .type = MPR_BYTES, OF(asleep) },
    { .key = "asleep_blocks", .type = MPR_COUNT, OF(asleep_blocks) },
    { .key = "outside_bytes", .type = MPR_BYTES, OF(outside) },
    { .key = "outside_blocks", .type = MPR_COUNT, OF(outside_blocks) },
};

static void sums(struct mpr_document *doc, const struct mpr_segments_device *d, const char *instant)
{
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_STRONG, "gpu%u", d->index);
    mpr_doc_line(doc, " %s  %s, %s", d->name, instant, mpr_doc_time(doc, d->time));
    mpr_doc_line(doc, "PyTorch holds %s in %s: live %s, free %s", mpr_doc_size(doc, d->bytes),
                 mpr_doc_counted(doc, d->segments, "segment", "segments"),
                 mpr_doc_size(doc, d->live),
                 mpr_doc_size(doc, mpr_saturating_sub(d->bytes, d->live)));
    mpr_doc_line(doc, "  split free  %12s  in segments that hold live blocks; largest hole %s",
                 mpr_doc_size(doc, d->split_free), mpr_doc_size(doc, d->largest_hole));
    mpr_doc_line(doc, "  releasable  %12s  in segments, or parts of segments, without live blocks",
                 mpr_doc_size(doc, d->idle));
    mpr_doc_line(doc, "  graph pools %12s  free, held by graphs", mpr_doc_size(doc, d->graph_free));
    if (d->asleep_blocks)
        mpr_doc_line(doc, "  asleep      %12s  live, but unmapped: %" PRIu64 " blocks",
                     mpr_doc_size(doc, d->asleep), d->asleep_blocks);
    if (d->outside_blocks)
        mpr_doc_line(
            doc, "  outside     %12s  live, in segments that were not recorded: %" PRIu64 " blocks",
            mpr_doc_size(doc, d->outside), d->outside_blocks);
}

static void device(struct mpr_document *doc, const struct mpr_segments *segments,
                   const struct mpr_segments_device *d)
{
    static const char *const instant[] = { "at its peak", "when memory ran out",
                                           "at the chosen time" };
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, device_columns, d);
    sums(doc, d, instant[segments->options.which]);
    mpr_doc_rows(doc, pool_columns, d->pool, d->pools, .key = "pools", .title = "pool",
                 .all = MPR_IN_JSON);
    mpr_doc_rows(doc, segment_columns, d->segment, d->segments, .key = "segments", .context = d,
                 .only = MPR_IN_JSON | MPR_IN_CSV);
    shapes(doc, d);
    mpr_doc_rows(
        doc, pin_columns, d->pin, d->pins, .key = "pins",
        .title = "blocks that pin split free memory", .context = d, .by = MPR_GROUP_AUTO,
        .lines = { .merged = true,
                   .row_of = row_of_pin,
                   .join = join_pins,
                   .compare = by_free,
                   .empty = true,
                   .siblings = true },
        .folded = { mpr_arena_format(&doc->arena, "gpu%u, pinning", d->index), NULL, "bytes" });
    mpr_doc_close(doc);
}

void mpr_report_segments(struct mpr_document *doc, const struct mpr_segments *segments)
{
    static const char *const at[] = { "peak", "oom", "time" };
    mpr_report_schema(doc, "memprof.segments/1");
    mpr_report_log(doc, &segments->summary);
    mpr_report_too_late(doc, &segments->summary, segments->options.at);
    mpr_doc_fact(doc, "at", mpr_value_text(at[segments->options.which]));
    mpr_doc_list(doc, "devices");
    for (size_t i = 0; i < segments->devices; i++) device(doc, segments, &segments->device[i]);
    mpr_doc_close(doc);
    mpr_doc_csv(doc, segment_columns);
    if (segments->devices) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "PyTorch's caching allocator held no device memory");
}
