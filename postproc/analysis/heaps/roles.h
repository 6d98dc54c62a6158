/* The role of a block, by when it was made and when it went.  Private to this layer. */
#ifndef MPR_ROLES_H
#define MPR_ROLES_H

#include "phases.h"

/* A block's life, as far as the log goes. */
struct mpr_role_life {
    struct mpr_moment made, gone; /* gone: the log's last moment where the block lives on */
    bool lives;        /* also if the log has no pass and no block was made after the free */
    bool went_last;    /* no block was made after it was freed */
    unsigned says;     /* its Python stack: mpr_torch_says; 0: it has none */
    unsigned under;    /* the ranges of its thread */
    bool no_pass;      /* the log has none, and no optimizer's step: no phase begins or ends */
    bool captured;     /* made while a graph was captured, and not gone in that capture */
    bool as_parameter; /* it is as large as a parameter, and no gradient was ever given back; of a
                          log's only pass: as something that was made before the pass */
    bool only_pass;    /* the log has one backward pass: none tells what outlives the next one */
    bool repeated;     /* another block with its size and call stack lives on */
    bool broken_off;   /* the log ends without the process's end: its last pass may go on */
};

enum mpr_role mpr_role_of(const struct mpr_role_life *life);
/* Made by a backward pass that it outlived. */
bool mpr_role_is_left_by_backward(const struct mpr_role_life *life);

#endif
