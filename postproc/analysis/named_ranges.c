#include "named_ranges.h"

#include <stdlib.h>

#include "alloc.h"
#include "nearest.h"

enum { NONE = MPR_NAMES_MAX + 1 };

void mpr_named_ranges_begin(struct mpr_named_ranges *n, const char *name, const char *other)
{
    *n = (struct mpr_named_ranges){ .repeats = mpr_repeats_new(), .name = { name, other } };
}

void mpr_named_ranges_free(struct mpr_named_ranges *n)
{
    mpr_repeats_free(n->repeats);
    free(n->which);
    *n = (struct mpr_named_ranges){ .repeats = NULL };
}

static uint8_t compare(struct mpr_named_ranges *n, const struct mpr_replay *r, uint32_t node)
{
    for (uint8_t i = 0; i < MPR_NAMES_MAX; i++)
        if (n->name[i] && mpr_repeats_named(n->repeats, r, node, n->name[i])) return i + 1;
    return NONE;
}

uint32_t mpr_named_ranges_which(struct mpr_named_ranges *n, const struct mpr_replay *r,
                                uint32_t node)
{
    MPR_REACH(n->which, node, n->nodes);
    if (!n->which[node]) n->which[node] = compare(n, r, node);
    if (n->which[node] == NONE) return 0;
    n->any = true;
    return n->which[node];
}

const char *mpr_named_ranges_hint(const struct mpr_named_ranges *n, struct mpr_arena *arena)
{
    struct mpr_nearest nearest = { .text = n->name[0] };
    for (uint32_t i = 0; i < n->repeats->names; i++) {
        mpr_nearest_try(&nearest, n->repeats->name[i].unnumbered);
        mpr_nearest_try(&nearest, n->repeats->name[i].label);
    }
    return nearest.word ? mpr_arena_format(arena, "; is %s meant?", nearest.word) : "";
}
