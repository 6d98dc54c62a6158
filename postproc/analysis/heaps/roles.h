/* The role of a block, inferred from when it was allocated and freed.  Private to this layer. */
#ifndef MPR_ROLES_H
#define MPR_ROLES_H

#include "training.h"

/* The recorded life of a block. */
struct mpr_role_life {
    struct mpr_moment made, gone; /* gone: the last moment of the log if the block is live then */
    unsigned stack;    /* the context of its Python stack (enum mpr_torch_context), or 0 */
    unsigned ranges;   /* the context of its thread's ranges */
    bool lives;        /* also if the log has no pass and no block was made after the free */
    bool recorded;     /* autograd was recording before it was made */
    bool went_last;    /* no block was made after it was freed */
    bool no_pass;      /* the log has neither a pass nor an optimizer step, so it has no phases */
    bool captured;     /* made during the capture of a graph, and not freed during it */
    bool as_parameter; /* it is as large as a parameter, and no gradient was ever freed; if the log
                          has one pass: as large as a block that was made before the pass */
    bool only_pass;    /* the log has one backward pass, so blocks that outlive the next one are
                          unknown */
    bool repeated;     /* another block with its size and call stack is live */
    bool broken_off;   /* the log ends before the process did, so its last pass may be unfinished */
};

enum mpr_role mpr_role_of(const struct mpr_role_life *life);
/* Returns true if a backward pass made it and it outlived that pass. */
bool mpr_role_is_left_by_backward(const struct mpr_role_life *life);

#endif
