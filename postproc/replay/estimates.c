#include "estimates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void mpr_estimates_free(struct mpr_estimates *e) { free(e->cell); }

static bool is_sample(const struct mpr_estimates *e, uint64_t size) { return size && size < e->below; }

static struct mpr_more more_of(const struct mpr_estimates *e, uint64_t size)
{
    if (!is_sample(e, size)) return (struct mpr_more){ 0, 0 };
    const double p = -expm1(-(double)size / e->mean);
    return (struct mpr_more){ llround((double)size / p) - (int64_t)size, 1 / p - 1 };
}

static int make_room(struct mpr_estimates *e, const struct mpr_books *books)
{
    struct mpr_estimate *cell = realloc(e->cell, books->cell_cap * sizeof *cell);
    if (!cell) return -1;
    memset(cell + e->cells, 0, (books->cell_cap - e->cells) * sizeof *cell);
    e->cell = cell;
    e->cells = books->cell_cap;
    return 0;
}

/* The cell's estimate, with its state at the peak kept; NULL without memory. */
static struct mpr_estimate *before_change(struct mpr_estimates *e, const struct mpr_books *books, uint32_t cell)
{
    if (cell >= e->cells && make_room(e, books) != 0) {
        e->failed = true;
        return NULL;
    }
    struct mpr_estimate *c = &e->cell[cell];
    const uint64_t epoch = books->heap[books->cell[cell].heap].epoch;
    if (c->epoch == epoch) return c;
    c->epoch = epoch;
    c->saved = c->now;
    c->saved_live = c->live;
    return c;
}

void mpr_estimates_add(struct mpr_estimates *e, const struct mpr_books *books, uint32_t cell, uint64_t size)
{
    struct mpr_estimate *c = before_change(e, books, cell);
    if (!c) return;
    const struct mpr_more more = more_of(e, size);
    c->now.bytes += more.bytes;
    c->now.blocks += more.blocks;
    c->allocations += more.blocks;
    c->samples += is_sample(e, size);
    c->live += is_sample(e, size);
    const uint64_t bytes = books->cell[cell].bytes + size + (uint64_t)c->now.bytes;
    if (bytes > c->own_peak) c->own_peak = bytes;
}

void mpr_estimates_remove(struct mpr_estimates *e, const struct mpr_books *books, uint32_t cell, uint64_t size)
{
    struct mpr_estimate *c = before_change(e, books, cell);
    if (!c) return;
    const struct mpr_more more = more_of(e, size);
    c->now.bytes -= more.bytes;
    c->now.blocks -= more.blocks;
    c->live -= is_sample(e, size);
}

struct mpr_more mpr_estimates_at_peak(const struct mpr_estimates *e, const struct mpr_books *books, uint32_t cell, uint64_t *samples)
{
    *samples = 0;
    if (cell >= e->cells) return (struct mpr_more){ 0, 0 };
    const struct mpr_estimate *c = &e->cell[cell];
    const bool saved = c->epoch == books->heap[books->cell[cell].heap].epoch;
    *samples = saved ? c->saved_live : c->live;
    return saved ? c->saved : c->now;
}
