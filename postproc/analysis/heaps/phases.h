/* What PyTorch is doing: the passes of a training step, told by its own ranges, by the numbers of
 * autograd and by Python's stacks.  Private to this layer.
 *
 * The first forward pass is told by a module's call in a stack alone: what shards or wraps a model
 * makes nodes of autograd, too.
 * A backward pass is over when a thread that is not autograd's makes memory again.  It is the same
 * pass that goes on where no forward pass or optimizer was between: parts of one graph may run on
 * the caller's own thread. */
#ifndef MPR_PHASES_H
#define MPR_PHASES_H

#include "breakdown.h"
#include "replay.h"
#include "torch_names.h"

/* When a block is made or goes.  Two moments of one phase have the same serial. */
struct mpr_moment {
    uint64_t time; /* ns */
    enum mpr_phase phase;
    uint32_t serial;
    uint32_t passes, steps; /* backward passes begun, optimizer's steps done, so far */
};

/* Zero before the first event. */
struct mpr_phases {
    struct mpr_torch_names names;
    struct mpr_moment now;
    uint64_t ran; /* the largest number of a node that a backward pass ran */
    bool worked;  /* since the newest backward pass: the next node begins another one */
    bool closure; /* a forward pass inside an optimizer's step */
    struct mpr_phase_thread {
        bool seen;      /* it did something of PyTorch's */
        bool autograds; /* the first of it was to run a node: autograd's own */
        bool stepping;  /* in an optimizer's step */
    } * thread;
    uint32_t threads;
};

/* An event has been applied: ranges, numbers of autograd, blocks of PyTorch.  What the block's
 * thread does then is in now. */
void mpr_phases_see(struct mpr_phases *phases, const struct mpr_replay *r,
                    const struct mpr_thread *t, const struct mpf_event *e);
/* The moment as the thread sees it, which frees a block. */
struct mpr_moment mpr_phases_of(struct mpr_phases *phases, const struct mpr_replay *r,
                                const struct mpr_thread *t);
void mpr_phases_free(struct mpr_phases *phases);

#endif
