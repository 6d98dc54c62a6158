/* Spans are written in order of time, each from a bucket of one of the series.
 * An excerpt that covers only a part of a bucket leaves a piece of the bucket before or after
 * it. A piece has the bucket's bytes of each band if it contains the time of the bucket's
 * maximum. Otherwise it has those at the begin or end of the excerpt, so that a maximum is only
 * shown where it was. Allocations and frees of all spans always sum to the heap's. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "timeline_parts.h"

/* A series, and the bytes of each group after its first `buckets` buckets. */
struct cursor {
    const struct mpr_series *series;
    size_t buckets, changes;
    uint64_t *bytes;
};

struct writer {
    const struct mpr_band_series *in;
    struct mpr_heap_timeline *out;
    struct cursor main, excerpt;
    uint64_t *bytes;                  /* bytes of the newest span, by group */
    uint64_t allocs, frees;           /* in all spans until now */
    uint64_t main_allocs, main_frees; /* in the buckets that main has passed */
    uint64_t covered;                 /* spans are written until this time */
    size_t next;                      /* excerpt */
};

static size_t groups_of(const struct mpr_band_series *s) { return s->bands * s->numbers; }

static const struct mpr_bucket *step(struct cursor *c)
{
    const struct mpr_bucket *bucket = &c->series->bucket[c->buckets++];
    for (; c->changes < bucket->end; c->changes++)
        c->bytes[c->series->change[c->changes].group] = c->series->change[c->changes].bytes;
    return bucket;
}

static void rewind_to(struct cursor *c, const struct mpr_series *series, size_t groups)
{
    memset(c->bytes, 0, groups * sizeof *c->bytes);
    *c = (struct cursor){ series, 0, 0, c->bytes };
}

/* Writes a span. @bytes: by group. @allocs, @frees: numbers in the heap until its end. */
static void write_span(struct writer *w, struct mpr_span span, const uint64_t *bytes,
                       uint64_t allocs, uint64_t frees)
{
    const size_t bands = w->in->bands, groups = groups_of(w->in);
    struct mpr_heap_timeline *out = w->out;
    for (size_t band = 0; band < bands; band++) {
        bool changed = false;
        for (size_t i = band; i < groups; i += bands) {
            changed |= bytes[i] != w->bytes[i];
            w->bytes[i] = bytes[i];
        }
        if (!changed) continue;
        struct mpr_band_change *c = &out->change[out->changes++];
        struct mpr_band_sampling *most = &out->band[band].sampling;
        *c = (struct mpr_band_change){ .band = (uint32_t)band, .bytes = bytes[band] };
        if (w->in->numbers == 1) continue;
        c->more = bytes[band + MPR_LEVELS_MORE * bands];
        c->variance = bytes[band + MPR_LEVELS_VARIANCE * bands];
        if (c->more > most->more || (!most->more && c->variance > most->variance))
            *most = (struct mpr_band_sampling){ c->bytes, c->more, c->variance };
    }
    span.allocs = allocs - w->allocs;
    span.frees = frees - w->frees;
    span.end = out->changes;
    w->allocs = allocs;
    w->frees = frees;
    out->span[out->spans++] = span;
}

static struct mpr_span span_of(const struct mpr_bucket *b, unsigned shift)
{
    return (struct mpr_span){
        .start = b->key << shift, .time = b->time, .max = b->max, .min = b->min, .close = b->close
    };
}

/* Writes the part of a bucket from `from` to the next excerpt, or to its end. If another part
 * was written before, an excerpt ended at `from`. */
static void write_piece(struct writer *w, const struct mpr_bucket *b, uint64_t from,
                        const struct mpr_excerpt_series *next)
{
    struct mpr_span span = span_of(b, w->in->series->shift);
    const bool has_time = b->time >= from && (!next || b->time < next->from);
    const uint64_t *bytes = w->main.bytes;
    span.start = from;
    if (!has_time) {
        if (next) {
            rewind_to(&w->excerpt, &next->series, groups_of(w->in));
            step(&w->excerpt);
        }
        bytes = w->excerpt.bytes;
        span.time = next ? next->from : from;
        span.max = 0;
        for (size_t i = 0; i < w->in->bands; i++) span.max += bytes[i];
        if (span.max < span.min) span.min = span.max;
    }
    if (next) span.close = next->series.bucket[0].max;
    write_span(w, span, bytes, next ? next->allocs : w->main_allocs,
               next ? next->frees : w->main_frees);
}

/* Writes the rest of the bucket, and the excerpts that begin in it. @end: of the bucket, ns. */
static void write_bucket(struct writer *w, const struct mpr_bucket *b, uint64_t end)
{
    const struct mpr_band_series *in = w->in;
    struct mpr_heap_timeline *out = w->out;
    const uint64_t start = b->key << in->series->shift;
    for (;;) {
        while (w->next < in->excerpts &&
               (!in->excerpt[w->next].series.buckets || in->excerpt[w->next].to <= w->covered))
            w->next++;
        const struct mpr_excerpt_series *excerpt =
            w->next < in->excerpts && in->excerpt[w->next].from < end ? &in->excerpt[w->next]
                                                                      : NULL;
        const uint64_t from = start > w->covered ? start : w->covered;
        if (from >= end) return;
        if (!excerpt || excerpt->from > from) write_piece(w, b, from, excerpt);
        if (!excerpt) return;
        uint64_t allocs = excerpt->allocs, frees = excerpt->frees;
        w->next++;
        rewind_to(&w->excerpt, &excerpt->series, groups_of(in));
        while (w->excerpt.buckets < excerpt->series.buckets) {
            const struct mpr_bucket *of = step(&w->excerpt);
            allocs += of->allocs;
            frees += of->frees;
            if (of->time >= w->covered)
                write_span(w, span_of(of, 0), w->excerpt.bytes, allocs, frees);
        }
        struct mpr_exact *last = out->exacts ? &out->exact[out->exacts - 1] : NULL;
        if (last && last->to >= excerpt->from) last->to = excerpt->to;
        else out->exact[out->exacts++] = (struct mpr_exact){ excerpt->from, excerpt->to };
        w->covered = excerpt->to;
    }
}

void mpr_spans_fill(const struct mpr_band_series *in, struct mpr_arena *arena,
                    struct mpr_heap_timeline *out)
{
    const struct mpr_series *s = in->series;
    const size_t groups = groups_of(in);
    size_t spans = s->buckets, changes = s->changes;
    for (size_t i = 0; i < in->excerpts; i++) {
        /* with a piece before and after it; for both and for the excerpt's own begin and end,
         * all groups may differ */
        spans += in->excerpt[i].series.buckets + 2;
        changes += in->excerpt[i].series.changes + 4 * groups;
    }
    out->span = mpr_arena_alloc(arena, spans * sizeof *out->span);
    out->change = mpr_arena_alloc(arena, changes * sizeof *out->change);
    out->exact = mpr_arena_alloc(arena, in->excerpts * sizeof *out->exact);
    struct writer w = { .in = in,
                        .out = out,
                        .bytes = mpr_alloc(groups, sizeof *w.bytes),
                        .main.bytes = mpr_alloc(groups, sizeof *w.main.bytes),
                        .excerpt.bytes = mpr_alloc(groups, sizeof *w.excerpt.bytes) };
    out->width_ns = UINT64_C(1) << s->shift;
    rewind_to(&w.main, s, groups);
    while (w.main.buckets < s->buckets) {
        const struct mpr_bucket *b = step(&w.main);
        w.main_allocs += b->allocs;
        w.main_frees += b->frees;
        write_bucket(&w, b,
                     w.main.buckets < s->buckets ? s->bucket[w.main.buckets].key << s->shift
                                                 : UINT64_MAX);
    }
    free(w.bytes);
    free(w.main.bytes);
    free(w.excerpt.bytes);
}

/* ---- flows: slices are joined until there are few enough rows */

MPR_COMPARE(by_slice, struct mpr_alloc_free_entry,
            mpr_compare(a->allocated, b->allocated) ?: mpr_compare(a->freed, b->freed)
                                          ?: mpr_compare(a->group, b->group))

void mpr_band_flows_fill(struct mpr_timeline *timeline, const struct mpr_alloc_free_heap *heap,
                         const uint32_t *band_of, struct mpr_heap_timeline *out)
{
    struct mpr_arena *arena = &timeline->arena;
    struct mpr_alloc_free_table table = { .slices = heap->table.slices,
                                          .shift = heap->table.shift };
    if (heap->dropped) return;
    memcpy(table.time, heap->table.time, sizeof table.time);
    for (uint32_t i = 0; i < heap->table.entries; i++) {
        struct mpr_alloc_free_entry entry = heap->table.entry[i];
        entry.group = band_of[entry.group];
        mpr_alloc_free_table_add(&table, &entry);
    }
    while (table.entries > timeline->options.flows && table.slices > 1)
        mpr_alloc_free_table_widen(&table);
    if (table.entries) qsort(table.entry, table.entries, sizeof *table.entry, by_slice);
    struct mpr_band_flow *flow = mpr_arena_alloc(arena, table.entries * sizeof *flow);
    uint64_t *time = mpr_arena_alloc(arena, table.slices * sizeof *time);
    for (uint32_t i = 0; i < table.entries; i++) {
        const struct mpr_alloc_free_entry *f = &table.entry[i];
        const uint32_t life = f->freed == MPR_NEVER_FREED ? 0 : f->freed - f->allocated + 1;
        flow[i] = (struct mpr_band_flow){ f->allocated, life, f->group, f->bytes, f->blocks };
    }
    memcpy(time, table.time, table.slices * sizeof *time);
    out->flow = flow;
    out->flows = table.entries;
    out->slice_time = time;
    out->slices = table.slices;
    out->slice_changes = UINT64_C(1) << table.shift;
    mpr_alloc_free_table_free(&table);
}
