/* Spans are written in order of time, each from a bucket of one of the series.
 *
 * Of a bucket that an excerpt covers in part, a piece is left on either side.  It keeps the
 * bucket's vector where the instant of that lies in it; otherwise it has the state that the excerpt
 * begins or ends with, so that a maximum is shown where it was and nowhere else.  Invariant:
 * allocations and frees of the spans sum to the heap's. */
#include "splice.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

/* A series and its vector at one of its buckets. */
struct cursor {
    const struct mpr_series *series;
    size_t buckets, changes;
    uint64_t *bytes;
};

struct writer {
    const struct mpr_splice *in;
    struct mpr_heap_line *out;
    struct cursor main, excerpt;
    uint64_t *bytes;                  /* of the newest span */
    uint64_t allocs, frees;           /* of all spans so far */
    uint64_t main_allocs, main_frees; /* of the buckets up to main's */
    uint64_t covered;                 /* written up to here */
    size_t next;                      /* excerpt */
};

static const struct mpr_bucket *step(struct cursor *c)
{
    const struct mpr_bucket *bucket = &c->series->bucket[c->buckets++];
    for (; c->changes < bucket->end; c->changes++)
        c->bytes[c->series->change[c->changes].group] = c->series->change[c->changes].bytes;
    return bucket;
}

static void rewind_to(struct cursor *c, const struct mpr_series *series, size_t bands)
{
    memset(c->bytes, 0, bands * sizeof *c->bytes);
    *c = (struct cursor){ series, 0, 0, c->bytes };
}

/* A span with that vector; its counts are what is missing up to those. */
static void write_span(struct writer *w, struct mpr_span span, const uint64_t *bytes,
                       uint64_t allocs, uint64_t frees)
{
    struct mpr_heap_line *out = w->out;
    for (uint32_t i = 0; i < w->in->bands; i++) {
        if (bytes[i] == w->bytes[i]) continue;
        w->bytes[i] = bytes[i];
        out->change[out->changes++] = (struct mpr_band_change){ i, bytes[i] };
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

/* ---- excerpts */

static void write_excerpt(struct writer *w)
{
    const struct mpr_excerpt_series *excerpt = &w->in->excerpt[w->next++];
    uint64_t allocs = excerpt->allocs, frees = excerpt->frees;
    if (!excerpt->series.buckets) return;
    rewind_to(&w->excerpt, &excerpt->series, w->in->bands);
    while (w->excerpt.buckets < excerpt->series.buckets) {
        const struct mpr_bucket *b = step(&w->excerpt);
        allocs += b->allocs;
        frees += b->frees;
        if (b->time < w->covered) continue;
        write_span(w, span_of(b, 0), w->excerpt.bytes, allocs, frees);
    }
    struct mpr_exact *last = w->out->exacts ? &w->out->exact[w->out->exacts - 1] : NULL;
    if (last && last->to >= excerpt->from) last->to = excerpt->to;
    else w->out->exact[w->out->exacts++] = (struct mpr_exact){ excerpt->from, excerpt->to };
    w->covered = excerpt->to;
}

/* ---- buckets and what excerpts leave of them */

static uint64_t sum(const uint64_t *bytes, size_t bands)
{
    uint64_t all = 0;
    for (size_t i = 0; i < bands; i++) all += bytes[i];
    return all;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The part of a bucket from `from` to the next excerpt, or to its end; an excerpt is before or
 * behind it. */
static void write_piece(struct writer *w, const struct mpr_bucket *b, uint64_t from,
                        const struct mpr_excerpt_series *behind)
{
    struct mpr_span span = span_of(b, w->in->series->shift);
    const bool has_time = b->time >= from && (!behind || b->time < behind->from);
    const uint64_t *bytes = w->main.bytes;
    span.start = from;
    if (!has_time) {
        if (behind) {
            rewind_to(&w->excerpt, &behind->series, w->in->bands);
            step(&w->excerpt);
        }
        bytes = w->excerpt.bytes;
        span.time = behind ? behind->from : from;
        span.max = sum(bytes, w->in->bands);
        span.min = least(span.min, span.max);
    }
    if (behind) span.close = behind->series.bucket[0].max;
    write_span(w, span, bytes, behind ? behind->allocs : w->main_allocs,
               behind ? behind->frees : w->main_frees);
}

/* What is not covered yet of the bucket, which ends at `end`, with the excerpts that begin in it.
 */
static void write_bucket(struct writer *w, const struct mpr_bucket *b, uint64_t end)
{
    const struct mpr_splice *in = w->in;
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
        write_excerpt(w);
    }
}

static void make_room(struct writer *w, struct mpr_arena *arena)
{
    const struct mpr_splice *in = w->in;
    size_t spans = in->series->buckets, changes = in->series->changes;
    for (size_t i = 0; i < in->excerpts; i++) {
        spans += in->excerpt[i].series.buckets + 2; /* with a piece on either side, each a vector
                                                       that */
        changes += in->excerpt[i].series.changes + 4 * in->bands; /* may differ in all bands, as the
                                                                     next one may */
    }
    w->out->span = mpr_arena_alloc(arena, spans * sizeof *w->out->span);
    w->out->change = mpr_arena_alloc(arena, changes * sizeof *w->out->change);
    w->out->exact = mpr_arena_alloc(arena, in->excerpts * sizeof *w->out->exact);
    w->bytes = mpr_alloc(in->bands, sizeof *w->bytes);
    w->main.bytes = mpr_alloc(in->bands, sizeof *w->main.bytes);
    w->excerpt.bytes = mpr_alloc(in->bands, sizeof *w->excerpt.bytes);
}

void mpr_splice_fill(const struct mpr_splice *splice, struct mpr_arena *arena,
                     struct mpr_heap_line *out)
{
    const struct mpr_series *s = splice->series;
    struct writer w = { .in = splice, .out = out };
    make_room(&w, arena);
    out->width_ns = UINT64_C(1) << s->shift;
    rewind_to(&w.main, s, splice->bands);
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
