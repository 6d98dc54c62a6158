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
struct places {
    struct place {
        uint64_t *made; /* NULL: not asked for */
        size_t blocks;
    } * of;
};

static void count(void *arg, const struct mpr_birth *birth)
{
    struct places *p = arg;
    p->of[birth->cell].blocks++;
}

static void put(void *arg, const struct mpr_birth *birth)
{
    const struct places *p = arg;
    struct place *place = &p->of[birth->cell];
    if (place->made) place->made[place->blocks++] = birth->time;
}

void mpr_ages_of(struct mpr_arena *arena, const struct mpr_lasting *l, const uint32_t *cell,
                 size_t cells, struct mpr_ages *out)
{
    struct places p = { .of = mpr_alloc(l->cells, sizeof *p.of) };
    mpr_lasting_marked(l, count, &p);
    for (size_t i = 0; i < cells; i++) {
        if (cell[i] >= l->cells) continue;
        struct place *place = &p.of[cell[i]];
        place->made = mpr_arena_alloc(arena, place->blocks * sizeof *place->made);
        place->blocks = 0;
    }
    mpr_lasting_marked(l, put, &p);
    for (size_t i = 0; i < cells; i++) {
        out[i] = (struct mpr_ages){ .blocks = 0 };
        if (cell[i] >= l->cells || !p.of[cell[i]].blocks) continue;
        const struct place *place = &p.of[cell[i]];
        qsort(place->made, place->blocks, sizeof *place->made, by_time);
        out[i] = (struct mpr_ages){ place->made, place->blocks };
    }
    free(p.of);
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
