#include "large.h"

#include <stdlib.h>
#include <string.h>

#include "books.h"
#include "notable.h"

/* Twice as many places as blocks that may be live. */
enum { PLACES = 2 * MPR_LARGE_LIVE, MASK = PLACES - 1 };

/* So many births may be looked at in a heap, and one in so many of all. */
enum { FREE_BIRTHS = 1 << 15, ONE_IN = 256 };

/* With too many, fewer are looked at; and fewer still if so many more come. */
enum { PATIENCE = 512 };

/* Where one in so many is of at least twice `least`, that may rise without losing what stands out. */
enum { ONE_LARGER_IN = 8 };

struct mpr_large *mpr_large_new(const struct mpr_books *books)
{
    struct mpr_large *l = calloc(1, sizeof *l);
    if (l) l->books = books;
    return l;
}

static void free_heap(struct mpr_large_heap *h)
{
    if (!h) return;
    free(h->live);
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
    if (l->heap[code] || l->failed) return l->heap[code];
    struct mpr_large_heap *h = calloc(1, sizeof *h);
    if (h) {
        h->least = 1;
        h->live = calloc(PLACES, sizeof *h->live);
        h->gone = malloc(MPR_LARGE_GONE * sizeof *h->gone);
    }
    if (h && h->live && h->gone) return l->heap[code] = h;
    free_heap(h);
    l->failed = true;
    return NULL;
}

/* ---- live blocks */

static size_t place(const struct mpr_large_heap *h, uint64_t addr)
{
    size_t at = mpr_hash(addr) & MASK;
    while (h->live[at].size && h->live[at].addr != addr) at = (at + 1) & MASK;
    return at;
}

static void remove_at(struct mpr_large_heap *h, size_t gap)
{
    for (size_t i = (gap + 1) & MASK; h->live[i].size; i = (i + 1) & MASK) {
        const size_t home = mpr_hash(h->live[i].addr) & MASK;
        if (((i - home) & MASK) < ((i - gap) & MASK)) continue;
        h->live[gap] = h->live[i];
        gap = i;
    }
    h->live[gap].size = 0;
    h->lives--;
}

static int by_size(const void *left, const void *right)
{
    const struct mpr_large_block *a = left, *b = right;
    return a->size < b->size ? -1 : a->size > b->size;
}

/* Forgets the blocks that are no longer looked at. */
static void forget(struct mpr_large_heap *h)
{
    static struct mpr_large_block kept[MPR_LARGE_LIVE];
    size_t count = 0;
    for (size_t i = 0; i < PLACES; i++)
        if (h->live[i].size && mpr_large_looks(h, h->live[i].addr, h->live[i].size)) kept[count++] = h->live[i];
    memset(h->live, 0, PLACES * sizeof *h->live);
    for (size_t i = 0; i < count; i++) h->live[place(h, kept[i].addr)] = kept[i];
    h->lives = count;
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
    size_t count = 0;
    for (size_t i = 0; i < PLACES; i++)
        if (h->live[i].size) sorted[count++] = h->live[i];
    qsort(sorted, count, sizeof *sorted, by_size);
    raise_to(h, sorted[count / 2].size + 1);
}

static uint64_t births_allowed(const struct mpr_large *l) { return FREE_BIRTHS + l->seen / ONE_IN; }

void mpr_large_add(struct mpr_large *l, uint8_t heap, const struct mpr_large_block *block)
{
    struct mpr_large_heap *h = heap_of(l, heap);
    if (!h || !block->size) return;
    if (h->lives == MPR_LARGE_LIVE) drop_smaller_half(h);
    h->births++;
    h->since++;
    h->larger += block->size >= 2 * h->least;
    if (h->births > births_allowed(l) && h->births > h->patience) look_at_fewer(h);
    if (!mpr_large_looks(h, block->addr, block->size)) return;
    struct mpr_large_block *at = &h->live[place(h, block->addr)];
    h->lives += !at->size;
    *at = *block;
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

void mpr_large_end(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t time)
{
    struct mpr_large_heap *h = l->heap[heap];
    const size_t at = place(h, addr);
    if (!h->live[at].size) return;
    struct mpr_large_block block = h->live[at];
    block.to = time;
    remove_at(h, at);
    if (h->gones == MPR_LARGE_GONE) {
        if (!mpr_notable_keep(h->gone, h->gones, MPR_LARGE_GONE / 4, l->books->heap[heap].peak_time, time)) l->failed = true;
        h->gones = MPR_LARGE_GONE / 4;
    }
    h->gone[h->gones++] = block;
}

void mpr_large_each(const struct mpr_large *l, uint8_t heap,
                    void (*each)(void *arg, const struct mpr_large_block *block), void *arg)
{
    const struct mpr_large_heap *h = l->heap[heap];
    if (!h) return;
    for (size_t i = 0; i < PLACES; i++)
        if (h->live[i].size) each(arg, &h->live[i]);
    for (size_t i = 0; i < h->gones; i++) each(arg, &h->gone[i]);
}
