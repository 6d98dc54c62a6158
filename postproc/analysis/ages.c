#include "ages.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "lasting.h"

static int by_time(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Where the times of each cell go. */
struct place {
    uint64_t *made;
    size_t blocks;
};

static void count(struct place *place, const struct mpr_lasting *l)
{
    for (uint32_t i = 0; i < l->births; i++)
        if (l->birth[i].cell < l->cells) place[l->birth[i].cell].blocks++;
}

static void fill(struct place *place, const struct mpr_lasting *l)
{
    for (uint32_t i = 0; i < l->births; i++) {
        struct place *p = l->birth[i].cell < l->cells ? &place[l->birth[i].cell] : NULL;
        if (p && p->made) p->made[p->blocks++] = l->birth[i].time;
    }
}

void mpr_ages_of(struct mpr_arena *arena, const struct mpr_lasting *l, const uint32_t *cell,
                 size_t cells, struct mpr_ages *out)
{
    struct place *place = mpr_alloc(l->cells, sizeof *place);
    count(place, l);
    for (size_t i = 0; i < cells; i++) {
        if (cell[i] >= l->cells) continue;
        struct place *p = &place[cell[i]];
        p->made = mpr_arena_alloc(arena, p->blocks * sizeof *p->made);
        p->blocks = 0;
    }
    fill(place, l);
    for (size_t i = 0; i < cells; i++) {
        out[i] = (struct mpr_ages){ .blocks = 0 };
        if (cell[i] >= l->cells || !place[cell[i]].blocks) continue;
        const struct place *p = &place[cell[i]];
        qsort(p->made, p->blocks, sizeof *p->made, by_time);
        out[i] = (struct mpr_ages){ p->made, p->blocks };
    }
    free(place);
}

struct mpr_ages mpr_ages_join(struct mpr_arena *arena, const struct mpr_ages *ages, size_t count)
{
    size_t blocks = 0;
    for (size_t i = 0; i < count; i++) blocks += ages[i].blocks;
    uint64_t *made = mpr_arena_alloc(arena, blocks * sizeof *made);
    blocks = 0;
    for (size_t i = 0; i < count; i++) {
        if (ages[i].blocks) memcpy(made + blocks, ages[i].made, ages[i].blocks * sizeof *made);
        blocks += ages[i].blocks;
    }
    if (blocks) qsort(made, blocks, sizeof *made, by_time);
    return (struct mpr_ages){ made, blocks };
}
