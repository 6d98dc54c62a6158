#include "lasting.h"

#include <stdbool.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"

void mpr_lasting_free(struct mpr_lasting *lasting)
{
    for (uint32_t i = 0; i < lasting->cells; i++) free(lasting->cell[i].life);
    free(lasting->cell);
    free(lasting->birth);
    free(lasting->gone);
    mpr_index_free(&lasting->number);
    *lasting = (struct mpr_lasting){ .within = lasting->within };
}

/* That of a block whose end was not seen is taken over. */
static uint32_t place_for(struct mpr_lasting *lasting, uint64_t key)
{
    uint32_t place = mpr_index_get(&lasting->number, key);
    if (place) return place - 1;
    if (lasting->free) {
        place = lasting->free - 1;
        lasting->free = lasting->birth[place].next;
    } else {
        MPR_GROW(lasting->birth, lasting->births, lasting->cap);
        place = lasting->births++;
    }
    mpr_index_set(&lasting->number, key, place + 1);
    return place;
}

void mpr_lasting_born(struct mpr_lasting *lasting, uint64_t key, uint64_t size, uint32_t cell,
                      uint64_t time)
{
    const uint32_t place = place_for(lasting, key);
    lasting->birth[place] =
        (struct mpr_birth){ .time = time, .cell = cell, .marks = lasting->marks };
    MPR_REACH(lasting->cell, cell, lasting->cells);
    lasting->cell[cell].births++;
    lasting->cell[cell].bytes += size;
}

static unsigned class_of(uint64_t life)
{
    const unsigned class = life ? 64 - (unsigned)__builtin_clzll(life) : 0;
    return class < MPR_LIFE_CLASSES ? class : MPR_LIFE_CLASSES - 1;
}

/* ---- marks */

static bool is_marked(const struct mpr_lasting *lasting, const struct mpr_birth *birth)
{
    return birth->cell != MPR_NO_CELL && birth->marks < lasting->marks;
}

void mpr_lasting_mark(struct mpr_lasting *lasting)
{
    lasting->marks++;
    lasting->gones = 0;
}

void mpr_lasting_marked(const struct mpr_lasting *lasting,
                        void (*each)(void *arg, const struct mpr_birth *birth), void *arg)
{
    for (uint32_t i = 0; i < lasting->births; i++)
        if (is_marked(lasting, &lasting->birth[i])) each(arg, &lasting->birth[i]);
    for (uint32_t i = 0; i < lasting->gones; i++) each(arg, &lasting->gone[i]);
}

static void keep_marked(struct mpr_lasting *lasting, const struct mpr_birth *birth)
{
    if (!is_marked(lasting, birth)) return;
    MPR_GROW(lasting->gone, lasting->gones, lasting->gone_cap);
    lasting->gone[lasting->gones++] = *birth;
}

/* ---- ends */

void mpr_lasting_gone(struct mpr_lasting *lasting, uint64_t key, uint64_t size, uint64_t time)
{
    const uint32_t number = mpr_index_get(&lasting->number, key);
    if (!number) return;
    struct mpr_birth *birth = &lasting->birth[number - 1];
    struct mpr_lasting_cell *cell = &lasting->cell[birth->cell];
    const uint64_t life = mpr_less(time, birth->time);
    if (!cell->life) cell->life = mpr_alloc(MPR_LIFE_CLASSES, sizeof *cell->life);
    cell->life[class_of(life)]++;
    cell->ends++;
    cell->soon += life <= lasting->within;
    cell->soon_bytes += life <= lasting->within ? size : 0;
    keep_marked(lasting, birth);
    mpr_index_set(&lasting->number, key, 0);
    birth->cell = MPR_NO_CELL;
    birth->next = lasting->free;
    lasting->free = number;
}

struct mpr_lasting_cell mpr_lasting_of(const struct mpr_lasting *lasting, uint32_t cell)
{
    return cell < lasting->cells ? lasting->cell[cell] : (struct mpr_lasting_cell){ 0 };
}
