/* Attributes backward ranges of PyTorch to the forward operator that made the autograd node.
 *
 * The nodes of a thread are numbered.  A mark has the range path of the nodes from its number on,
 * and the Python stack of one node: that of the first block with a stack between the node and the
 * next one, which is the operator's result.  A thread keeps its newest MPR_FORWARD_MARKS marks, and
 * older nodes are unknown.
 *
 * A node and its operator are matched by the node's number.  Each thread has its own table, because
 * numbers are per thread. */
#ifndef MPR_BACKWARD_H
#define MPR_BACKWARD_H

#include "replay.h"

#define MPR_FORWARD_MARKS (1u << 16)

struct mpr_forward_mark {
    uint64_t number; /* number of the first node; the nodes end before the next mark's */
    uint32_t node;   /* path of the ranges */
    uint32_t python; /* Python stack of the node before this number, 0 if unknown */
};

struct mpr_forward {
    uint64_t next;       /* number of the thread's next node */
    uint64_t first, end; /* numbers of the kept marks, which are in order of nodes */
    struct mpr_forward_mark mark[MPR_FORWARD_MARKS];
};

/* Returns true if the report needs the operators. */
static inline bool mpr_backward_is_known(const struct mpr_replay *r)
{
    return r->options.backward_of || r->options.backward_also;
}

/* Call for TORCH_NEXT, after a PUSH or POP was applied, and for a block of PyTorch with a Python
 * stack. */
void mpr_forward_next(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_forward_range(struct mpr_replay *r, struct mpr_thread *t);
void mpr_forward_block(struct mpr_thread *t);

/* Call for TORCH_NODE: a node runs in the thread's newest range. */
void mpr_backward_node(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Returns the path while a node runs on the thread: MPR_BACKWARD_NAME, the path of the node's
 * operator, and the thread's ranges from the node's own on.  0 if no node runs, or its operator is
 * unknown. */
uint32_t mpr_backward_path(struct mpr_replay *r, const struct mpr_thread *t);
/* Returns the Python stack of that operator, below MPR_BACKWARD_NAME, or 0. */
uint32_t mpr_backward_python(const struct mpr_replay *r, const struct mpr_thread *t);
/* Returns true if a path begins with MPR_BACKWARD_NAME. */
bool mpr_backward_is(const struct mpr_ranges *ranges, uint32_t node);

#endif
