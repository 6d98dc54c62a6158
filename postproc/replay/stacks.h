/* Native call stacks as paths in a tree.
 *
 * A node is one path: its parent, towards main, and its innermost return address.  Node 0 is the
 * empty path; a stack's number is its node. */
#ifndef MPR_STACKS_H
#define MPR_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "index.h"

struct mpr_stack_node {
    uint64_t pc; /* return address */
    uint32_t parent;
    uint32_t module; /* number of sites.h; 0: not known */
    uint32_t owner;  /* library; 0: not known */
    bool for_torch;  /* sites.h */
};

struct mpr_stacks {
    struct mpr_stack_node *node;
    uint32_t nodes, node_cap;
    struct mpr_index number; /* by hash of (parent, pc, module) */
};

void mpr_stacks_free(struct mpr_stacks *s);
/* The node with that parent, pc and module, made when new. */
uint32_t mpr_stacks_child(struct mpr_stacks *s, const struct mpr_stack_node *node);

#endif
