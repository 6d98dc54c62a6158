#include "lasting.h"

#include <stdbool.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"

void mpr_lasting_free(struct mpr_lasting *lasting)
{
    for (uint32_t i = 0; i < lasting->cells; i++) free(lasting->cell[i].life);
    free(lasting->cell);
    free(lasting->gone);
    mpr_births_free(&lasting->live);
    *lasting = (struct mpr_lasting){ .within = lasting->within };
}

static bool is_marked(const struct mpr_lasting *lasting, const struct mpr_birth *birth)
{
    return birth->cell != MPR_NO_CELL && birth->marks < lasting->marks;
}

void mpr_lasting_born(struct mpr_lasting *lasting, uint64_t key, uint64_t size, uint32_t cell,
                      uint64_t time)
{
    const struct mpr_birth birth = {
        .time = time, .size = size, .cell = cell, .marks = lasting->marks
    };
    mpr_live_index_add(&lasting->live, key, &birth);
    MPR_REACH(lasting->cell, cell, lasting->cells);
    lasting->cell[cell].births++;
    lasting->cell[cell].bytes += size;
}

void mpr_lasting_gone(struct mpr_lasting *lasting, uint64_t key, uint64_t size, uint64_t time)
{
    struct mpr_birth birth;
    if (!mpr_live_index_take(&lasting->live, key, &birth)) return;
    struct mpr_lasting_cell *cell = &lasting->cell[birth.cell];
    const uint64_t life = mpr_less(time, birth.time);
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

void mpr_lasting_mark(struct mpr_lasting *lasting)
{
    lasting->marks++;
    lasting->gones = 0;
}

void mpr_lasting_marked(const struct mpr_lasting *lasting,
                        void (*each)(void *arg, const struct mpr_birth *birth), void *arg)
{
    const struct mpr_live_index *live = &lasting->live;
    for (uint32_t i = 0; i < live->count; i++)
        if (is_marked(lasting, &live->at[i])) each(arg, &live->at[i]);
    for (uint32_t i = 0; i < lasting->gones; i++) each(arg, &lasting->gone[i]);
}

struct mpr_lasting_cell mpr_lasting_of(const struct mpr_lasting *lasting, uint32_t cell)
{
    return cell < lasting->cells ? lasting->cell[cell] : (struct mpr_lasting_cell){ 0 };
}
