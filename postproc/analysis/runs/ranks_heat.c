/* Ranks over time, in columns of the clock on the wall. */
#include "ranks_parts.h"

static uint64_t end_of(const struct mpr_rank *rank)
{
    return rank->start_ns + rank->digest->process->duration_ns;
}

/* False: no rank's start is known. */
static bool set_axis(struct mpr_ranks *r)
{
    uint64_t from = UINT64_MAX, to = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        if (!r->rank[i].start_ns) continue;
        if (r->rank[i].start_ns < from) from = r->rank[i].start_ns;
        if (end_of(&r->rank[i]) > to) to = end_of(&r->rank[i]);
    }
    if (from >= to) return false;
    r->heat_from = from;
    r->heat_width = (to - from) / MPR_RANKS_COLUMNS + 1;
    return true;
}

static size_t column_of(const struct mpr_ranks *r, uint64_t time)
{
    const uint64_t at = time <= r->heat_from ? 0 : (time - r->heat_from) / r->heat_width;
    return at < MPR_RANKS_COLUMNS ? (size_t)at : MPR_RANKS_COLUMNS - 1;
}

static void raise(struct mpr_ranks *r, uint64_t *row, size_t from, size_t to, uint64_t bytes)
{
    for (size_t i = from; i <= to; i++)
        if (bytes > row[i]) row[i] = bytes;
    if (bytes > r->heat_most) r->heat_most = bytes;
}

/* A span's maximum is in the column of its time; what it ended with lasts until the next one. */
static void draw(struct mpr_ranks *r, size_t rank, uint8_t heap)
{
    const struct mpr_digest *d = r->rank[rank].digest;
    const uint64_t start = r->rank[rank].start_ns;
    uint64_t *row = r->heat + rank * MPR_RANKS_COLUMNS;
    for (size_t i = 0; i < d->spans; i++) {
        const struct mpr_digest_span *s = &d->span[i];
        if (s->heap != heap) continue;
        const bool last = i + 1 == d->spans || d->span[i + 1].heap != heap;
        const uint64_t end = last ? d->process->duration_ns : d->span[i + 1].start_ns;
        const size_t at = column_of(r, start + s->time_of_max_ns),
                     to = column_of(r, start + (end ? end - 1 : 0));
        raise(r, row, at, at, s->max_bytes);
        raise(r, row, column_of(r, start + s->start_ns), to, s->min_bytes);
        raise(r, row, to, to, s->close_bytes);
    }
}

void mpr_ranks_heat(struct mpr_ranks *r)
{
    if (!r->measures || !set_axis(r)) return;
    r->heat = mpr_arena_alloc(&r->arena, r->ranks * MPR_RANKS_COLUMNS * sizeof *r->heat);
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest_heap *h =
            mpr_ranks_heap(r->rank[i].digest, r->measure[r->shown].kind);
        if (h && r->rank[i].start_ns) draw(r, i, h->heap);
    }
}
