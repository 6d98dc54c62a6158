#include "lifetime_histogram.h"

#include <stdbool.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"

void mpr_lifetime_histogram_free(struct mpr_lifetime_histogram *lasting)
{
    for (uint32_t i = 0; i < lasting->cells; i++) free(lasting->cell[i].life);
    free(lasting->cell);
    free(lasting->gone);
    mpr_live_index_free(&lasting->live);
    *lasting = (struct mpr_lifetime_histogram){ .within = lasting->within };
}

static bool is_marked(const struct mpr_lifetime_histogram *lasting,
                      const struct mpr_live_block *birth)
{
    return birth->cell != MPR_NO_CELL && birth->marks < lasting->marks;
}

void mpr_lifetime_histogram_add(struct mpr_lifetime_histogram *lasting, uint64_t key, uint64_t size,
                                uint32_t cell, uint64_t time)
{
    const struct mpr_live_block birth = {
        .time = time, .size = size, .cell = cell, .marks = lasting->marks
    };
    mpr_live_index_add(&lasting->live, key, &birth);
    MPR_REACH(lasting->cell, cell, lasting->cells);
    lasting->cell[cell].births++;
    lasting->cell[cell].bytes += size;
}

void mpr_lifetime_histogram_remove(struct mpr_lifetime_histogram *lasting, uint64_t key,
                                   uint64_t size, uint64_t time)
{
    struct mpr_live_block birth;
    if (!mpr_live_index_take(&lasting->live, key, &birth)) return;
    struct mpr_cell_lifetimes *cell = &lasting->cell[birth.cell];
    const uint64_t life = mpr_saturating_sub(time, birth.time);
    const unsigned class = life ? 64 - (unsigned)__builtin_clzll(life) : 0;
    if (!cell->life) cell->life = mpr_alloc(MPR_LIFE_CLASSES, sizeof *cell->life);
    cell->life[class < MPR_LIFE_CLASSES ? class : MPR_LIFE_CLASSES - 1]++;
    cell->ends++;
    cell->soon += life <= lasting->within;
    cell->soon_bytes += life <= lasting->within ? size : 0;
    if (!is_marked(lasting, &birth)) return;
    MPR_GROW(lasting->gone, lasting->gones, lasting->gone_cap);
    lasting->gone[lasting->gones++] = birth;
}

void mpr_lifetime_histogram_mark(struct mpr_lifetime_histogram *lasting)
{
    lasting->marks++;
    lasting->gones = 0;
}

void mpr_lifetime_histogram_each_marked(const struct mpr_lifetime_histogram *lasting,
                                        void (*each)(void *arg, const struct mpr_live_block *birth),
                                        void *arg)
{
    const struct mpr_live_index *live = &lasting->live;
    for (uint32_t i = 0; i < live->count; i++)
        if (is_marked(lasting, &live->at[i])) each(arg, &live->at[i]);
    for (uint32_t i = 0; i < lasting->gones; i++) each(arg, &lasting->gone[i]);
}

struct mpr_cell_lifetimes mpr_lifetime_histogram_of(const struct mpr_lifetime_histogram *lasting,
                                                    uint32_t cell)
{
    return cell < lasting->cells ? lasting->cell[cell] : (struct mpr_cell_lifetimes){ 0 };
}
