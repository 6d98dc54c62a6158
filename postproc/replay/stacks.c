#include "stacks.h"

#include <stdlib.h>

#include "hash.h"

#define FIRST_SLOTS 4096u

void mpr_stacks_free(struct mpr_stacks *s)
{
    free(s->node);
    free(s->slot);
}

static uint32_t *find(const struct mpr_stacks *s, const struct mpr_stack_node *wanted)
{
    const uint64_t key = mpr_hash(wanted->pc) + ((uint64_t)wanted->module << 32 | wanted->parent);
    uint32_t at = (uint32_t)mpr_hash(key) & (s->slots - 1);
    while (s->slot[at]) {
        const struct mpr_stack_node *n = &s->node[s->slot[at]];
        if (n->pc == wanted->pc && n->parent == wanted->parent && n->module == wanted->module) break;
        at = (at + 1) & (s->slots - 1);
    }
    return &s->slot[at];
}

/* Nodes fill at most half of the slots. */
static int grow(struct mpr_stacks *s)
{
    const uint32_t slots = s->slots ? s->slots * 2 : FIRST_SLOTS;
    uint32_t *slot = calloc(slots, sizeof *slot);
    struct mpr_stack_node *node = realloc(s->node, slots / 2 * sizeof *node);
    if (node) s->node = node;
    if (!slot || !node) {
        free(slot);
        return -1;
    }
    free(s->slot);
    s->slot = slot;
    s->slots = slots;
    s->node_cap = slots / 2;
    if (!s->nodes) s->node[s->nodes++] = (struct mpr_stack_node){ 0 };
    for (uint32_t i = 1; i < s->nodes; i++) *find(s, &s->node[i]) = i;
    return 0;
}

uint32_t mpr_stacks_child(struct mpr_stacks *s, const struct mpr_stack_node *node)
{
    if (s->nodes == s->node_cap && grow(s) != 0) return 0;
    uint32_t *slot = find(s, node);
    if (!*slot) {
        s->node[s->nodes] = *node;
        *slot = s->nodes++;
    }
    return *slot;
}
