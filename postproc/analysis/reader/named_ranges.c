#include "named_ranges.h"

#include <stdlib.h>
#include <string.h>

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

/* "torch:Optimizer.step#AdamW.step" by "Optimizer.step#AdamW.step", or "Optimizer.step": a name
 * without the domain before it, or with what is behind '#' left out. */
static bool is_short_for(const char *text, const char *name)
{
    const size_t length = strlen(text);
    const char *colon = strchr(name, ':'), *from = colon ? colon + 1 : name;
    if (!length) return false;
    if (strncmp(name, text, length) == 0) from = name;
    return strncmp(from, text, length) == 0 && (!from[length] || from[length] == '#');
}

const char *mpr_named_ranges_hint(const struct mpr_named_ranges *n, struct mpr_arena *arena)
{
    struct mpr_nearest nearest = { .text = n->name[0] };
    for (uint32_t i = 0; i < n->repeats->names; i++) {
        mpr_nearest_try(&nearest, n->repeats->name[i].unnumbered);
        mpr_nearest_try(&nearest, n->repeats->name[i].label);
    }
    for (uint32_t i = 0; !nearest.word && i < n->repeats->names; i++)
        if (is_short_for(n->name[0], n->repeats->name[i].unnumbered))
            nearest.word = n->repeats->name[i].unnumbered;
    return nearest.word ? mpr_arena_format(arena, "; is %s meant?", nearest.word) : "";
}
