#include "large.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

/* One rank by size times life counts as so many by size; so many ranks at the peak as one. */
enum { OF_LIFE = 4, OF_PEAK = 32 };

/* A block by what it is ranked by. */
struct weight {
    double weight;
    uint32_t block;
};

struct choosing {
    const struct mpr_large_block *block;
    struct weight *order;
    uint32_t *rank; /* by block */
    size_t count;
    uint64_t width, now; /* of a cell; the run's end */
};

static int by_weight(const void *left, const void *right)
{
    const struct weight *a = left, *b = right;
    if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

static uint64_t end_of(const struct choosing *c, const struct mpr_large_block *b)
{
    return b->to < c->now ? b->to : c->now;
}

/* Takes the next place in every cell of the block's life; the best of them. */
static uint32_t take_rank(const struct choosing *c, uint32_t *taken,
                          const struct mpr_large_block *b)
{
    uint32_t best = UINT32_MAX;
    for (uint64_t cell = b->from / c->width; cell <= end_of(c, b) / c->width; cell++) {
        const uint32_t rank = taken[cell]++;
        if (rank < best) best = rank;
    }
    return best;
}

static void improve(uint32_t *rank, uint32_t with)
{
    if (with < *rank) *rank = with;
}

static void rank_by_size(struct choosing *c, uint64_t peak)
{
    uint32_t taken[MPR_NOTABLE_CELLS] = { 0 }, at_peak = 0;
    for (uint32_t i = 0; i < c->count; i++)
        c->order[i] = (struct weight){ (double)c->block[i].size, i };
    qsort(c->order, c->count, sizeof *c->order, by_weight);
    for (size_t i = 0; i < c->count; i++) {
        const struct mpr_large_block *b = &c->block[c->order[i].block];
        uint32_t *rank = &c->rank[c->order[i].block];
        *rank = take_rank(c, taken, b);
        if (b->from <= peak && b->to > peak) improve(rank, at_peak++ / OF_PEAK);
    }
}

/* Quarters of a power of two: the rank by life need not be finer. */
enum { LIFE_CLASSES = 512 };

static unsigned life_class(const struct choosing *c, const struct mpr_large_block *b)
{
    const double life = (double)b->size * (double)(end_of(c, b) - b->from) + 1;
    int power;
    const double part = frexp(life, &power); /* 0.5 to 1 */
    const int class = 4 * power + (int)(8 * (part - 0.5));
    return class < LIFE_CLASSES ? LIFE_CLASSES - 1 - (unsigned)class : 0;
}

/* As by size, but for the order of blocks in one class. */
static void rank_by_life(struct choosing *c, uint32_t (*taken)[MPR_NOTABLE_CELLS])
{
    for (size_t i = 0; i < c->count; i++) {
        const struct mpr_large_block *b = &c->block[i];
        for (uint64_t cell = b->from / c->width; cell <= end_of(c, b) / c->width; cell++)
            taken[life_class(c, b) + 1][cell]++;
    }
    for (unsigned i = 1; i <= LIFE_CLASSES; i++)
        for (unsigned cell = 0; cell < MPR_NOTABLE_CELLS; cell++)
            taken[i][cell] += taken[i - 1][cell];
    for (size_t i = 0; i < c->count; i++)
        improve(&c->rank[i],
                take_rank(c, taken[life_class(c, &c->block[i])], &c->block[i]) * OF_LIFE);
}

/* The first rank of which not all blocks find room, and how many of them do; of: room for count + 1
 * numbers. */
static uint32_t last_rank(const struct choosing *c, size_t keep, uint32_t *of, size_t *room)
{
    uint32_t rank = 0;
    memset(of, 0, (c->count + 1) * sizeof *of);
    for (size_t i = 0; i < c->count; i++) of[c->rank[i] < c->count ? c->rank[i] : c->count]++;
    for (; of[rank] <= keep; rank++) keep -= of[rank];
    *room = keep;
    return rank;
}

static void move_kept(const struct choosing *c, struct mpr_large_block *block, size_t keep)
{
    size_t room, kept = 0;
    const uint32_t last = last_rank(c, keep, (uint32_t *)c->order, &room);
    for (size_t i = 0; i < c->count; i++) {
        if (c->rank[i] > last || (c->rank[i] == last && !room)) continue;
        room -= c->rank[i] == last;
        block[kept++] = block[i];
    }
}

void mpr_notable_keep(struct mpr_large_block *block, size_t count, size_t keep, uint64_t peak,
                      uint64_t now)
{
    if (count <= keep) return;
    struct choosing c = { .block = block,
                          .order = mpr_alloc(count, sizeof *c.order),
                          .rank = mpr_alloc(count, sizeof *c.rank),
                          .count = count,
                          .width = now / MPR_NOTABLE_CELLS + 1,
                          .now = now };
    uint32_t(*taken)[MPR_NOTABLE_CELLS] = mpr_alloc(LIFE_CLASSES + 1, sizeof *taken);
    rank_by_size(&c, peak);
    rank_by_life(&c, taken);
    move_kept(&c, block, keep);
    free(c.order);
    free(c.rank);
    free(taken);
}
