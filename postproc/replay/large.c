#include "large.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "books.h"

/* So many births may be looked at in a heap, and one in so many of all. */
enum { FREE_BIRTHS = 1 << 15, ONE_IN = 256 };

/* With too many, fewer are looked at; and fewer still if so many more come. */
enum { PATIENCE = 512 };

/* Where one in so many is of at least twice `least`, that may rise without losing what stands out.
 */
enum { ONE_LARGER_IN = 8 };

struct mpr_large *mpr_large_new(const struct mpr_books *books)
{
    struct mpr_large *l = mpr_alloc(1, sizeof *l);
    l->books = books;
    return l;
}

static void free_heap(struct mpr_large_heap *h)
{
    if (!h) return;
    free(h->live);
    mpr_index_free(&h->number);
    free(h->gone);
    free(h);
}

void mpr_large_free(struct mpr_large *l)
{
    if (!l) return;
    for (int i = 0; i < 256; i++) free_heap(l->heap[i]);
    free(l);
}

static struct mpr_large_heap *heap_of(struct mpr_large *l, uint8_t code)
{
    if (l->heap[code]) return l->heap[code];
    struct mpr_large_heap *h = l->heap[code] = mpr_alloc(1, sizeof *h);
    h->least = 1;
    h->live = mpr_alloc(MPR_LARGE_LIVE, sizeof *h->live);
    h->gone = mpr_alloc(MPR_LARGE_GONE, sizeof *h->gone);
    return h;
}

/* ---- live blocks */

/* The last one fills the place. */
static void remove_at(struct mpr_large_heap *h, size_t place)
{
    const uint64_t addr = h->live[place].addr;
    h->live[place] = h->live[--h->lives];
    mpr_index_set(&h->number, h->live[place].addr, (uint32_t)place + 1);
    mpr_index_set(&h->number, addr, 0);
}

static int by_size(const void *left, const void *right)
{
    const struct mpr_large_block *a = left, *b = right;
    return a->size < b->size ? -1 : a->size > b->size;
}

/* Forgets the blocks that are no longer looked at. */
static void forget(struct mpr_large_heap *h)
{
    for (size_t i = h->lives; i-- > 0;)
        if (!mpr_large_looks(h, h->live[i].addr, h->live[i].size)) remove_at(h, i);
}

static void raise_to(struct mpr_large_heap *h, uint64_t least)
{
    h->least = least;
    h->mask = 0;
    forget(h);
}

static void look_at_fewer(struct mpr_large_heap *h)
{
    if (h->larger >= h->since / ONE_LARGER_IN) {
        raise_to(h, 2 * h->least);
    } else {
        h->mask = 2 * h->mask + 1;
        forget(h);
    }
    h->patience = h->births + PATIENCE;
    h->since = h->larger = 0;
}

/* Only blocks above the median stay; where all are of one size, none does. */
static void drop_smaller_half(struct mpr_large_heap *h)
{
    static struct mpr_large_block sorted[MPR_LARGE_LIVE];
    memcpy(sorted, h->live, h->lives * sizeof *sorted);
    qsort(sorted, h->lives, sizeof *sorted, by_size);
    raise_to(h, sorted[h->lives / 2].size + 1);
}

static uint64_t births_allowed(const struct mpr_large *l) { return FREE_BIRTHS + l->seen / ONE_IN; }

void mpr_large_add(struct mpr_large *l, uint8_t heap, const struct mpr_large_block *block)
{
    struct mpr_large_heap *h = heap_of(l, heap);
    if (!block->size) return;
    if (h->lives == MPR_LARGE_LIVE) drop_smaller_half(h);
    h->births++;
    h->since++;
    h->larger += block->size >= 2 * h->least;
    if (h->births > births_allowed(l) && h->births > h->patience) look_at_fewer(h);
    if (!mpr_large_looks(h, block->addr, block->size)) return;
    uint32_t number = mpr_index_get(&h->number, block->addr);
    if (!number) mpr_index_set(&h->number, block->addr, number = (uint32_t)++h->lives);
    h->live[number - 1] = *block;
}

/* Where a heap has had few births of late and has room, more are looked at. */
void mpr_large_tick(struct mpr_large *l)
{
    for (int i = 0; i < 256; i++) {
        struct mpr_large_heap *h = l->heap[i];
        if (!h || h->lives >= MPR_LARGE_LIVE / 2 || h->births >= births_allowed(l)) continue;
        if (!h->mask) h->least -= h->least / 2;
        h->mask /= 2;
        h->since = h->larger = 0;
    }
}

/* ---- blocks that are gone */

void mpr_large_end(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t time, uint32_t freer)
{
    struct mpr_large_heap *h = l->heap[heap];
    const uint32_t number = mpr_index_get(&h->number, addr);
    if (!number) return;
    struct mpr_large_block block = h->live[number - 1];
    block.to = time;
    block.freer = freer;
    remove_at(h, number - 1);
    if (h->gones == MPR_LARGE_GONE) {
        mpr_notable_keep(h->gone, h->gones, MPR_LARGE_GONE / 4, l->books->heap[heap].peak_time,
                         time);
        h->gones = MPR_LARGE_GONE / 4;
    }
    h->gone[h->gones++] = block;
}

void mpr_large_each(const struct mpr_large *l, uint8_t heap,
                    void (*each)(void *arg, const struct mpr_large_block *block), void *arg)
{
    const struct mpr_large_heap *h = l->heap[heap];
    if (!h) return;
    for (size_t i = 0; i < h->lives; i++) each(arg, &h->live[i]);
    for (size_t i = 0; i < h->gones; i++) each(arg, &h->gone[i]);
}
