/* The phase of a training step, inferred from PyTorch's ranges, autograd's numbers and Python's
 * stacks.  Private to this layer.
 *
 * The first forward pass is recognized only by a module's call in a stack, because code that shards
 * or wraps a model also makes nodes of autograd.  A backward pass is over when a thread that is not
 * autograd's allocates again.  The same pass continues if neither a forward pass nor an optimizer's
 * step was between, because parts of one graph may run on the caller's thread. */
#ifndef MPR_TRAINING_H
#define MPR_TRAINING_H

#include "breakdown.h"
#include "replay.h"

/* Facts about a path of ranges or a Python stack, from the names in it. */
enum mpr_torch_context {
    MPR_IN_OPTIMIZER = 1, /* a range "Optimizer.step#..." is open */
    MPR_IN_BACKWARD = 2,  /* autograd runs a node */
    MPR_IN_GATHER = 4,    /* FSDP gathers parameters from their shards */
    MPR_IN_FORWARD = 8,   /* the stack has a call of an nn.Module */
    MPR_IN_MODULE = 16,   /* it has a method of a module, or a constructor */
    MPR_IN_CACHE = 32,    /* its innermost calls are a key-value cache's */
    MPR_IN_BUCKET = 64,   /* its innermost call is DistributedDataParallel's own */
    MPR_IN_BUILD = 128,   /* it has a call that constructs or moves a module of PyTorch */
    MPR_CONTEXT_KNOWN = 256
};

/* When a block is allocated or freed.  Two moments of one phase have the same serial. */
struct mpr_moment {
    uint64_t time; /* ns */
    enum mpr_phase phase;
    uint32_t serial;
    uint32_t passes, steps; /* backward passes that began, optimizer steps that ended, so far */
};

/* Zero it before the first event. */
struct mpr_training {
    struct mpr_moment now;
    uint64_t ran; /* the largest number of a node that a backward pass ran */
    bool worked;  /* since the newest backward pass, so that the next node begins another pass */
    bool closure; /* a forward pass inside of an optimizer's step */
    bool records; /* autograd has made a node */
    uint32_t recorded; /* serial of the newest forward pass in which it made one */
    struct mpr_training_thread {
        bool seen;      /* it did something of PyTorch's */
        bool autograds; /* it belongs to autograd: the first thing that it did was to run a node */
        bool stepping;  /* in an optimizer's step */
    } * thread;
    uint32_t threads;
    uint16_t *context; /* by node: of MPR_CONTEXT_KNOWN nodes */
    uint32_t nodes;
};

/* Call it after replay has applied the event.  If it is an allocation, `now` is its moment. */
void mpr_training_see(struct mpr_training *training, const struct mpr_replay *r,
                      const struct mpr_thread *t, const struct mpf_event *e);
/* Returns the moment for a thread that frees a block. */
struct mpr_moment mpr_training_moment(struct mpr_training *training, const struct mpr_replay *r,
                                      const struct mpr_thread *t);
/* Returns the context of a node, a range or a Python stack, without CACHE and BUCKET.  It is 0 only
 * for node 0. */
unsigned mpr_training_context(struct mpr_training *training, const struct mpr_ranges *ranges,
                              uint32_t node);
/* Returns CACHE and BUCKET for a Python stack. */
unsigned mpr_torch_innermost_context(const struct mpr_ranges *ranges, uint32_t node);
void mpr_training_free(struct mpr_training *training);

#endif
