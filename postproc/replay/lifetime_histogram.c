#include "lifetime_histogram.h"

#include <stdbool.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"

void mpr_lifetime_histogram_free(struct mpr_lifetime_histogram *lifetimes)
{
    for (uint32_t i = 0; i < lifetimes->cells; i++) free(lifetimes->cell[i].life);
    free(lifetimes->cell);
    free(lifetimes->freed);
    mpr_live_index_free(&lifetimes->live);
    *lifetimes = (struct mpr_lifetime_histogram){ .within = lifetimes->within };
}

static bool is_marked(const struct mpr_lifetime_histogram *lifetimes,
                      const struct mpr_live_block *block)
{
    return block->cell != MPR_NO_CELL && block->marks < lifetimes->marks;
}

void mpr_lifetime_histogram_add(struct mpr_lifetime_histogram *lifetimes, uint64_t key,
                                uint64_t size, uint32_t cell, uint64_t time)
{
    const struct mpr_live_block block = {
        .time = time, .size = size, .cell = cell, .marks = lifetimes->marks
    };
    mpr_live_index_add(&lifetimes->live, key, &block);
    MPR_REACH(lifetimes->cell, cell, lifetimes->cells);
    lifetimes->cell[cell].allocations++;
    lifetimes->cell[cell].bytes += size;
}

void mpr_lifetime_histogram_remove(struct mpr_lifetime_histogram *lifetimes, uint64_t key,
                                   uint64_t size, uint64_t time)
{
    struct mpr_live_block block;
    if (!mpr_live_index_take(&lifetimes->live, key, &block)) return;
    struct mpr_cell_lifetimes *cell = &lifetimes->cell[block.cell];
    const uint64_t life = mpr_saturating_sub(time, block.time);
    const unsigned class = life ? 64 - (unsigned)__builtin_clzll(life) : 0;
    if (!cell->life) cell->life = mpr_alloc(MPR_LIFE_CLASSES, sizeof *cell->life);
    cell->life[class < MPR_LIFE_CLASSES ? class : MPR_LIFE_CLASSES - 1]++;
    cell->frees++;
    cell->temporary += life <= lifetimes->within;
    cell->temporary_bytes += life <= lifetimes->within ? size : 0;
    if (is_marked(lifetimes, &block))
        *MPR_ADD(lifetimes->freed, lifetimes->freed_count, lifetimes->freed_cap) = block;
}

void mpr_lifetime_histogram_mark(struct mpr_lifetime_histogram *lifetimes)
{
    lifetimes->marks++;
    lifetimes->freed_count = 0;
}

void mpr_lifetime_histogram_each_marked(const struct mpr_lifetime_histogram *lifetimes,
                                        void (*each)(void *arg, const struct mpr_live_block *block),
                                        void *arg)
{
    const struct mpr_live_index *live = &lifetimes->live;
    for (uint32_t i = 0; i < live->count; i++)
        if (is_marked(lifetimes, &live->at[i])) each(arg, &live->at[i]);
    for (uint32_t i = 0; i < lifetimes->freed_count; i++) each(arg, &lifetimes->freed[i]);
}

struct mpr_cell_lifetimes mpr_lifetime_histogram_of(const struct mpr_lifetime_histogram *lifetimes,
                                                    uint32_t cell)
{
    return cell < lifetimes->cells ? lifetimes->cell[cell] : (struct mpr_cell_lifetimes){ 0 };
}
