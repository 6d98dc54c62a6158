#include "totals.h"

#include <string.h>

#include "amount.h"

/* No heap is larger, whatever a log says. */
#define LIVE_MAX ((uint64_t)1 << 60)

/* A forked child may have freed more than it made: blocks of its parent. */
static uint64_t live_of(const uint64_t *made, const uint64_t *freed)
{
    const uint64_t live = mpr_less(*made, *freed);
    return live < LIVE_MAX ? live : LIVE_MAX;
}

/* To these bytes and blocks more in one change, so that a peak is one of both. */
static void change(struct mpr_totals *t, struct mpr_books *books, uint64_t bytes, uint64_t blocks,
                   uint64_t time)
{
    if (bytes >= t->live) mpr_books_add_many(books, t->cell, bytes - t->live, blocks, time);
    else mpr_books_remove_many(books, t->cell, t->live - bytes, 0 - blocks);
    t->live = bytes;
}

void mpr_totals_take(struct mpr_totals *t, struct mpr_books *books, const struct mpf_event *e)
{
    uint64_t now[MPF_HOST_COUNT];
    struct mpr_heap *heap = &books->heap[MPF_HEAP_HOST];
    if (e->size < sizeof now) return;
    memcpy(now, e->data, sizeof now);
    t->told = heap->used = true;
    const uint64_t *was = t->value,
                   before = mpr_less(was[MPF_HOST_MADE_BLOCKS], was[MPF_HOST_FREED_BLOCKS]),
                   after = mpr_less(now[MPF_HOST_MADE_BLOCKS], now[MPF_HOST_FREED_BLOCKS]);
    heap->allocations += now[MPF_HOST_MADE_BLOCKS] - was[MPF_HOST_MADE_BLOCKS];
    heap->frees += now[MPF_HOST_FREED_BLOCKS] - was[MPF_HOST_FREED_BLOCKS];
    books->cell[t->cell].allocations += now[MPF_HOST_MADE_BLOCKS] - was[MPF_HOST_MADE_BLOCKS];
    change(t, books, live_of(&now[MPF_HOST_MADE_BYTES], &now[MPF_HOST_FREED_BYTES]), after - before,
           e->time);
    memcpy(t->value, now, sizeof now);
}
