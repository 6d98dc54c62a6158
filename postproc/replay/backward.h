/* Whose backward a range is: the forward operator that made a node of PyTorch's autograd.
 *
 * A thread's nodes have numbers.  Marks say, for ranges of numbers, under which ranges they were
 * made, and of single ones in which Python stack: the one of the first block with a stack between a
 * node and the next, which is the operator's result.  A thread keeps its newest MPR_FORWARD_MARKS
 * marks; of older nodes nothing is known. */
#ifndef MPR_BACKWARD_H
#define MPR_BACKWARD_H

#include "replay_state.h"

#define MPR_FORWARD_MARKS (1u << 16)

/* What holds for nodes from this number on, up to the next mark's. */
struct mpr_forward_mark {
    uint64_t number;
    uint32_t node;   /* path of the ranges */
    uint32_t python; /* of the node with the number before; 0: not known */
};

struct mpr_forward {
    uint64_t next;       /* number that its next node gets */
    uint64_t first, end; /* marks that are kept: numbered as they came */
    struct mpr_forward_mark mark[MPR_FORWARD_MARKS];
};

/* TORCH_NEXT; a PUSH or POP that has been applied; a block of PyTorch with a Python stack. */
void mpr_forward_next(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_forward_range(struct mpr_replay *r, struct mpr_thread *t);
void mpr_forward_block(struct mpr_thread *t);

/* TORCH_NODE: the thread's newest range is the run of a node. */
void mpr_backward_node(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Where a node runs on the thread: the path of its operator below MPR_BACKWARD_NAME, and then the
 * thread's ranges from the node's own on.  0: none runs, or its operator is not known. */
uint32_t mpr_backward_path(struct mpr_replay *r, const struct mpr_thread *t);
/* The Python stack of the operator below MPR_BACKWARD_NAME; 0: none is known. */
uint32_t mpr_backward_python(const struct mpr_replay *r, const struct mpr_thread *t);
/* Does a path begin with MPR_BACKWARD_NAME? */
bool mpr_backward_is(const struct mpr_ranges *ranges, uint32_t node);

#endif
