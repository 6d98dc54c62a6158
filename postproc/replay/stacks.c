#include "stacks.h"

#include <stdlib.h>

#include "alloc.h"

void mpr_stacks_free(struct mpr_stacks *s)
{
    free(s->node);
    mpr_index_free(&s->number);
}

uint32_t mpr_stacks_child(struct mpr_stacks *s, const struct mpr_stack_node *node)
{
    const uint64_t hash = mpr_hash(node->pc) + ((uint64_t)node->module << 32 | node->parent);
    uint32_t number;
    for (struct mpr_probe p = mpr_index_probe(&s->number, hash); (number = mpr_probe_next(&p));) {
        const struct mpr_stack_node *n = &s->node[number];
        if (n->pc == node->pc && n->parent == node->parent && n->module == node->module)
            return number;
    }
    MPR_GROW(s->node, s->nodes, s->node_cap);
    if (!s->nodes) s->node[s->nodes++] = (struct mpr_stack_node){ 0 };
    s->node[s->nodes] = *node;
    mpr_index_add(&s->number, hash, s->nodes);
    return s->nodes++;
}
