#include "ranks.h"

#include <stdlib.h>

#include "alloc.h"
#include "ranks_parts.h"

void mpr_ranks_free(struct mpr_ranks *r) { mpr_arena_free(&r->arena); }

static int by_failure(const void *left, const void *right, void *arg)
{
    const struct mpr_ranks *r = arg;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const uint64_t x = r->rank[a].failed_ns, y = r->rank[b].failed_ns;
    return x < y ? -1 : x > y ? 1 : a < b ? -1 : a > b;
}

static void find_failures(struct mpr_ranks *r)
{
    r->failed = mpr_arena_alloc(&r->arena, r->ranks * sizeof *r->failed);
    for (size_t i = 0; i < r->ranks; i++)
        if (r->rank[i].failed_ns != UINT64_MAX) r->failed[r->failures++] = i;
    if (r->failures) qsort_r(r->failed, r->failures, sizeof *r->failed, by_failure, r);
}

/* ---- ranks over wall time, in columns */

/* Returns false if no rank's start is known. */
static bool set_axis(struct mpr_ranks *r)
{
    uint64_t from = UINT64_MAX, to = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_rank *rank = &r->rank[i];
        const uint64_t end = rank->start_ns + rank->digest->process->duration_ns;
        if (!rank->start_ns) continue;
        if (rank->start_ns < from) from = rank->start_ns;
        if (end > to) to = end;
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

static void raise_columns(struct mpr_ranks *r, uint64_t *row, size_t from, size_t to,
                          uint64_t bytes)
{
    for (size_t i = from; i <= to; i++)
        if (bytes > row[i]) row[i] = bytes;
    if (bytes > r->heat_most) r->heat_most = bytes;
}

/* The maximum of a span is in the column of its time; the last bytes of a span last until the next
 * span. */
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
        raise_columns(r, row, at, at, s->max_bytes);
        raise_columns(r, row, column_of(r, start + s->start_ns), to, s->min_bytes);
        raise_columns(r, row, to, to, s->close_bytes);
    }
}

static void draw_all(struct mpr_ranks *r)
{
    if (!r->measures || !set_axis(r)) return;
    r->heat = mpr_arena_alloc(&r->arena, r->ranks * MPR_RANKS_COLUMNS * sizeof *r->heat);
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest_heap *h =
            mpr_ranks_heap(r->rank[i].digest, r->measure[r->shown].kind);
        if (h && r->rank[i].start_ns) draw(r, i, h->heap);
    }
}

void mpr_ranks_make(struct mpr_ranks *r, const struct mpr_digest *digest, size_t digests)
{
    *r = (struct mpr_ranks){ .missing = "" };
    mpr_ranks_choose(r, digest, digests);
    mpr_ranks_correct_clocks(r);
    mpr_ranks_share(r);
    mpr_ranks_split(r);
    mpr_ranks_measure(r);
    mpr_ranks_explain(r);
    mpr_ranks_gather(r);
    draw_all(r);
    find_failures(r);
    for (size_t i = 0; i < r->ranks; i++) r->incomplete |= r->rank[i].digest->process->incomplete;
    r->incomplete |= r->missings || r->doubles;
}
