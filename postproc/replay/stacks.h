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

/* No code is at addresses below this one: the outermost node of a stack that was cut has an enum
 * mpf_cut instead of an address. */
enum { MPR_STACK_CUTS = 256 };
static inline bool mpr_stack_is_cut(const struct mpr_stack_node *n)
{
    return !n->parent && !n->module && n->pc && n->pc < MPR_STACK_CUTS;
}

struct mpr_stacks {
    struct mpr_stack_node *node;
    uint32_t nodes, node_cap;
    struct mpr_index number; /* by hash of (parent, pc, module) */
};

void mpr_stacks_free(struct mpr_stacks *s);
/* The node with that parent, pc and module, made when new. */
uint32_t mpr_stacks_child(struct mpr_stacks *s, const struct mpr_stack_node *node);

#endif
