#include "large.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accounts.h"
#include "alloc.h"
#include "amount.h"

enum {
    /* A heap may keep this many blocks, and in addition one in ONE_IN of all allocations. */
    ALWAYS_KEPT = 1 << 15,
    ONE_IN = 256,
    /* After that fewer are kept, and fewer again after each FURTHER ones. */
    FURTHER = 512,
    /* If one in this many has at least twice `min_size`, `min_size` is doubled, because that loses
     * no notable blocks. */
    ONE_LARGER_IN = 8
};

struct mpr_large *mpr_large_new(const struct mpr_accounts *accounts)
{
    struct mpr_large *l = mpr_alloc(1, sizeof *l);
    l->accounts = accounts;
    return l;
}

void mpr_large_free(struct mpr_large *l)
{
    if (!l) return;
    for (int i = 0; i < 256; i++) {
        struct mpr_large_heap *h = l->heap[i];
        if (!h) continue;
        free(h->live);
        mpr_index_free(&h->number);
        free(h->freed);
        free(h);
    }
    free(l);
}

/* ---- live blocks */

/* Replaces a live block by the last one. */
static void remove_at(struct mpr_large_heap *h, size_t place)
{
    const uint64_t addr = h->live[place].addr;
    h->live[place] = h->live[--h->live_count];
    mpr_index_set(&h->number, h->live[place].addr, (uint32_t)place + 1);
    mpr_index_set(&h->number, addr, 0);
}

MPR_COMPARE(by_size, struct mpr_large_block, mpr_compare(a->size, b->size))

/* Drops the live blocks that are now ignored. */
static void drop_ignored(struct mpr_large_heap *h)
{
    for (size_t i = h->live_count; i-- > 0;)
        if (!mpr_large_is_kept(h, h->live[i].addr, h->live[i].size)) remove_at(h, i);
}

static void raise_to(struct mpr_large_heap *h, uint64_t min_size)
{
    h->min_size = min_size;
    h->mask = 0;
    drop_ignored(h);
}

static uint64_t max_kept(const struct mpr_large *l)
{
    return ALWAYS_KEPT + l->allocations / ONE_IN;
}

void mpr_large_add(struct mpr_large *l, uint8_t heap, const struct mpr_large_block *block)
{
    struct mpr_large_heap *h = l->heap[heap];
    if (!h) {
        h = l->heap[heap] = mpr_alloc(1, sizeof *h);
        h->min_size = 1;
        h->live = mpr_alloc(MPR_LARGE_LIVE, sizeof *h->live);
        h->freed = mpr_alloc(MPR_LARGE_FREED, sizeof *h->freed);
    }
    if (!block->size) return;
    if (h->live_count == MPR_LARGE_LIVE) {
        /* Keeps only blocks above the median: none if all have the same size. */
        static struct mpr_large_block sorted[MPR_LARGE_LIVE];
        memcpy(sorted, h->live, h->live_count * sizeof *sorted);
        qsort(sorted, h->live_count, sizeof *sorted, by_size);
        raise_to(h, sorted[h->live_count / 2].size + 1);
    }
    h->kept++;
    h->since++;
    h->larger += block->size >= 2 * h->min_size;
    if (h->kept > max_kept(l) && h->kept > h->kept_limit) { /* keeps fewer */
        if (h->larger >= h->since / ONE_LARGER_IN) {
            raise_to(h, 2 * h->min_size);
        } else {
            h->mask = 2 * h->mask + 1;
            drop_ignored(h);
        }
        h->kept_limit = h->kept + FURTHER;
        h->since = h->larger = 0;
    }
    if (!mpr_large_is_kept(h, block->addr, block->size)) return;
    uint32_t number = mpr_index_get(&h->number, block->addr);
    if (!number) mpr_index_set(&h->number, block->addr, number = (uint32_t)++h->live_count);
    h->live[number - 1] = *block;
}

/* Keeps more blocks of a heap that has room and kept few recently. */
void mpr_large_tick(struct mpr_large *l)
{
    for (int i = 0; i < 256; i++) {
        struct mpr_large_heap *h = l->heap[i];
        if (!h || h->live_count >= MPR_LARGE_LIVE / 2 || h->kept >= max_kept(l)) continue;
        if (!h->mask) h->min_size -= h->min_size / 2;
        h->mask /= 2;
        h->since = h->larger = 0;
    }
}

/* ---- freed blocks */

void mpr_large_remove(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t time,
                      uint32_t freer)
{
    struct mpr_large_heap *h = l->heap[heap];
    const uint32_t number = mpr_index_get(&h->number, addr);
    if (!number) return;
    struct mpr_large_block block = h->live[number - 1];
    block.to = time;
    block.freer = freer;
    remove_at(h, number - 1);
    if (h->freed_count == MPR_LARGE_FREED) {
        mpr_notable_keep(h->freed, h->freed_count, MPR_LARGE_FREED / 4,
                         l->accounts->heap[heap].peak_time, time);
        h->freed_count = MPR_LARGE_FREED / 4;
    }
    h->freed[h->freed_count++] = block;
}

void mpr_large_each(const struct mpr_large *l, uint8_t heap,
                    void (*each)(void *arg, const struct mpr_large_block *block), void *arg)
{
    const struct mpr_large_heap *h = l->heap[heap];
    if (!h) return;
    for (size_t i = 0; i < h->live_count; i++) each(arg, &h->live[i]);
    for (size_t i = 0; i < h->freed_count; i++) each(arg, &h->freed[i]);
}

/* ---- notable blocks */

/* LIFE_WEIGHT ranks by size count as much as one by size times lifetime; PEAK_RANKS at the peak as
 * one elsewhere. */
enum { LIFE_WEIGHT = 4, PEAK_RANKS = 32 };

struct sized_block {
    uint64_t size;
    uint32_t block;
};

struct selection {
    const struct mpr_large_block *block;
    struct sized_block *order;
    uint32_t *rank; /* by block */
    size_t count;
    uint64_t width, now; /* ns: of an interval; the end of the run */
};

MPR_COMPARE(larger_first, struct sized_block,
            mpr_compare(b->size, a->size) ?: mpr_compare(a->block, b->block))

static uint64_t end_of(const struct selection *c, const struct mpr_large_block *b)
{
    return b->to < c->now ? b->to : c->now;
}

/* Gives the block the next rank in each interval of its life, and returns the best.  @next: the
 * next rank in each interval */
static uint32_t take_rank(const struct selection *c, uint32_t *next,
                          const struct mpr_large_block *b)
{
    uint32_t best = UINT32_MAX;
    for (uint64_t i = b->from / c->width; i <= end_of(c, b) / c->width; i++) {
        const uint32_t rank = next[i]++;
        if (rank < best) best = rank;
    }
    return best;
}

static void rank_by_size(struct selection *c, uint64_t peak)
{
    uint32_t next[MPR_NOTABLE_INTERVALS] = { 0 }, at_peak = 0;
    for (uint32_t i = 0; i < c->count; i++)
        c->order[i] = (struct sized_block){ c->block[i].size, i };
    qsort(c->order, c->count, sizeof *c->order, larger_first);
    for (size_t i = 0; i < c->count; i++) {
        const struct mpr_large_block *b = &c->block[c->order[i].block];
        uint32_t *rank = &c->rank[c->order[i].block];
        *rank = take_rank(c, next, b);
        if (b->from > peak || b->to <= peak) continue;
        const uint32_t rank_at_peak = at_peak++ / PEAK_RANKS;
        if (rank_at_peak < *rank) *rank = rank_at_peak;
    }
}

enum { LIFE_CLASSES = 512 };

/* Returns the class of a block by size times lifetime, 0 for the largest.  A class is a quarter of
 * a power of two, which is fine enough for a rank. */
static unsigned life_class(const struct selection *c, const struct mpr_large_block *b)
{
    const double life = (double)b->size * (double)(end_of(c, b) - b->from) + 1;
    int power;
    const double part = frexp(life, &power); /* 0.5 to 1 */
    const int class = 4 * power + (int)(8 * (part - 0.5));
    return class < LIFE_CLASSES ? LIFE_CLASSES - 1 - (unsigned)class : 0;
}

/* Replaces ranks by better ones by size times lifetime.  Blocks of one class are in any order. */
static void rank_by_life(struct selection *c)
{
    uint32_t(*next)[MPR_NOTABLE_INTERVALS] = mpr_alloc(LIFE_CLASSES + 1, sizeof *next);
    for (size_t i = 0; i < c->count; i++) {
        const struct mpr_large_block *b = &c->block[i];
        for (uint64_t k = b->from / c->width; k <= end_of(c, b) / c->width; k++)
            next[life_class(c, b) + 1][k]++;
    }
    for (unsigned i = 1; i <= LIFE_CLASSES; i++)
        for (unsigned k = 0; k < MPR_NOTABLE_INTERVALS; k++) next[i][k] += next[i - 1][k];
    for (size_t i = 0; i < c->count; i++) {
        const struct mpr_large_block *b = &c->block[i];
        const uint32_t rank = take_rank(c, next[life_class(c, b)], b) * LIFE_WEIGHT;
        if (rank < c->rank[i]) c->rank[i] = rank;
    }
    free(next);
}

void mpr_notable_keep(struct mpr_large_block *block, size_t count, size_t keep, uint64_t peak,
                      uint64_t now)
{
    if (count <= keep) return;
    struct selection c = { .block = block,
                           .order = mpr_alloc(count, sizeof *c.order),
                           .rank = mpr_alloc(count, sizeof *c.rank),
                           .count = count,
                           .width = now / MPR_NOTABLE_INTERVALS + 1,
                           .now = now };
    rank_by_size(&c, peak);
    rank_by_life(&c);
    uint32_t *blocks_of = (uint32_t *)c.order, rank = 0; /* number of blocks by rank */
    memset(blocks_of, 0, (count + 1) * sizeof *blocks_of);
    for (size_t i = 0; i < count; i++) blocks_of[c.rank[i] < count ? c.rank[i] : count]++;
    for (; blocks_of[rank] <= keep; rank++) keep -= blocks_of[rank];
    /* The blocks of better ranks are kept, and `keep` blocks of this rank. */
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (c.rank[i] > rank || (c.rank[i] == rank && !keep)) continue;
        keep -= c.rank[i] == rank;
        block[kept++] = block[i];
    }
    free(c.order);
    free(c.rank);
}
