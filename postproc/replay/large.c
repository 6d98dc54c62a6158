#include "large.h"

#include <stdlib.h>
#include <string.h>

#include "books.h"
#include "hash.h"

/* Twice as many places as blocks that may be live. */
enum { PLACES = 2 * MPR_LARGE_LIVE, MASK = PLACES - 1 };

/* Of all births, one in so many may be looked at in a heap, and the first ones are free. */
enum { ONE_IN = 64, FREE_BIRTHS = 1 << 16 };

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
    free(h->past);
    free(h->at_peak);
    free(h->after);
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
        h->past = calloc(MPR_LARGE_PAST, sizeof *h->past);
        h->at_peak = calloc(MPR_LARGE_LIVE, sizeof *h->at_peak);
        h->after = calloc(MPR_LARGE_AFTER, sizeof *h->after);
    }
    if (h && h->live && h->past && h->at_peak && h->after) return l->heap[code] = h;
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

/* Only blocks above the median stay; where all are of one size, none does. */
static void drop_smaller_half(struct mpr_large_heap *h)
{
    static struct mpr_large_block sorted[MPR_LARGE_LIVE];
    size_t count = 0;
    for (size_t i = 0; i < PLACES; i++)
        if (h->live[i].size) sorted[count++] = h->live[i];
    qsort(sorted, count, sizeof *sorted, by_size);
    h->least = sorted[count / 2].size + 1;
    h->births /= 2;
    memset(h->live, 0, PLACES * sizeof *h->live);
    h->lives = 0;
    for (size_t i = count / 2; i < count; i++) {
        if (sorted[i].size < h->least) continue;
        h->live[place(h, sorted[i].addr)] = sorted[i];
        h->lives++;
    }
}

void mpr_large_add(struct mpr_large *l, uint8_t heap, const struct mpr_large_block *block)
{
    struct mpr_large_heap *h = heap_of(l, heap);
    if (!h || !block->size) return;
    const bool too_often = ++h->births > FREE_BIRTHS && h->births > l->seen / ONE_IN;
    if (h->lives == MPR_LARGE_LIVE || (too_often && h->lives)) drop_smaller_half(h);
    if (block->size < h->least) return;
    struct mpr_large_block *at = &h->live[place(h, block->addr)];
    h->lives += !at->size;
    *at = *block;
}

/* ---- blocks that are gone */

static void to_past(struct mpr_large_heap *h, const struct mpr_large_block *block)
{
    h->past[h->pasts++ % MPR_LARGE_PAST] = *block;
}

/* There has been a new peak: everything that ended did so before it. */
static void begin_epoch(struct mpr_large_heap *h, uint64_t epoch)
{
    for (size_t i = 0; i < h->at_peaks; i++) to_past(h, &h->at_peak[i]);
    for (size_t i = 0; i < h->afters; i++) to_past(h, &h->after[i]);
    h->at_peaks = h->afters = 0;
    h->epoch = epoch;
}

void mpr_large_end(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t time)
{
    struct mpr_large_heap *h = l->heap[heap];
    const struct mpr_heap *books = &l->books->heap[heap];
    const size_t at = place(h, addr);
    if (!h->live[at].size) return;
    struct mpr_large_block block = h->live[at];
    block.to = time;
    remove_at(h, at);
    if (h->epoch != books->epoch) begin_epoch(h, books->epoch);
    if (block.from <= books->peak_time && h->at_peaks < MPR_LARGE_LIVE) h->at_peak[h->at_peaks++] = block;
    else if (h->afters < MPR_LARGE_AFTER) h->after[h->afters++] = block;
}

void mpr_large_each(const struct mpr_large *l, uint8_t heap,
                    void (*each)(void *arg, const struct mpr_large_block *block), void *arg)
{
    const struct mpr_large_heap *h = l->heap[heap];
    if (!h) return;
    const size_t pasts = h->pasts < MPR_LARGE_PAST ? h->pasts : MPR_LARGE_PAST;
    for (size_t i = 0; i < PLACES; i++)
        if (h->live[i].size) each(arg, &h->live[i]);
    for (size_t i = 0; i < pasts; i++) each(arg, &h->past[i]);
    for (size_t i = 0; i < h->at_peaks; i++) each(arg, &h->at_peak[i]);
    for (size_t i = 0; i < h->afters; i++) each(arg, &h->after[i]);
}
