/* Without an unmapping on record, a block that lies nowhere is one whose segment was not seen, not
 * one that sleeps. */
#include "asleep.h"

#include <stdlib.h>

#include "alloc.h"

void mpr_asleep_unmapped(struct mpr_intervals *ever, uint64_t from, uint64_t to)
{
    const struct mpr_position first = mpr_intervals_after(ever, from ? from - 1 : 0);
    struct mpr_interval joined = { from, to, 0, false };
    const struct mpr_interval *span;
    size_t count = 0;
    for (struct mpr_position place = first;
         (span = mpr_intervals_at(ever, place)) && span->start <= to;
         place = mpr_intervals_next(ever, place)) {
        if (span->start < joined.start) joined.start = span->start;
        if (span->end > joined.end) joined.end = span->end;
        count++;
    }
    mpr_intervals_remove(ever, first, count);
    mpr_intervals_insert(ever, mpr_intervals_after(ever, joined.start), &joined);
}

/* ---- addresses without memory */

struct gap {
    uint64_t from, to;
    uint64_t before; /* bytes of the gaps below it */
};

struct gaps {
    struct gap *at;
    size_t count, cap;
};

static void add_gap(struct gaps *g, uint64_t from, uint64_t to)
{
    if (from >= to) return;
    MPR_GROW(g->at, g->count, g->cap);
    const struct gap *last = g->count ? &g->at[g->count - 1] : NULL;
    g->at[g->count++] = (struct gap){ from, to, last ? last->before + (last->to - last->from) : 0 };
}

static uint64_t end_of(const struct mpr_gpu_block *b)
{
    return b->size > UINT64_MAX - b->addr ? UINT64_MAX : b->addr + b->size;
}

/* What was unmapped, without what the driver's blocks cover. */
static void find_gaps(struct gaps *g, const struct mpr_picture *p, const struct mpr_intervals *ever)
{
    const struct mpr_interval *span;
    uint64_t covered = 0; /* up to here by the blocks before `i` */
    size_t i = 0;
    for (struct mpr_position place = { 0, 0 }; (span = mpr_intervals_at(ever, place));
         place = mpr_intervals_next(ever, place)) {
        for (; i < p->drivers && p->driver[i].addr < span->end; i++) {
            add_gap(g, covered > span->start ? covered : span->start, p->driver[i].addr);
            if (end_of(&p->driver[i]) > covered) covered = end_of(&p->driver[i]);
        }
        add_gap(g, covered > span->start ? covered : span->start, span->end);
    }
}

/* Bytes of gaps below the address. */
static uint64_t gap_bytes(const struct gaps *g, uint64_t address)
{
    size_t low = 0, high = g->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (g->at[middle].from < address) low = middle + 1;
        else high = middle;
    }
    if (!low) return 0;
    const struct gap *last = &g->at[low - 1];
    return last->before + ((address < last->to ? address : last->to) - last->from);
}

void mpr_asleep_measure(struct mpr_picture *p, const struct mpr_intervals *ever)
{
    struct gaps g = { 0 };
    find_gaps(&g, p, ever);
    for (size_t i = 0; i < p->torches; i++) {
        struct mpr_gpu_block *b = &p->torch[i];
        b->asleep = gap_bytes(&g, end_of(b)) - gap_bytes(&g, b->addr);
    }
    free(g.at);
}
