/* A training step's device memory by role: the result of `memprof-report breakdown`. Lives until
 * mpr_breakdown_free.
 *
 * A log does not have the role of a tensor. The role is inferred from the times of a block's
 * allocation and free, relative to the passes of training; mpr_role_rule has the rule of each role.
 * Each block that PyTorch held at the instant has one role, so the roles' bytes sum to the heap's.
 */
#ifndef MPR_BREAKDOWN_H
#define MPR_BREAKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "heap_names.h"
#include "instant.h"
#include "progress.h"
#include "row.h"
#include "summary.h"

struct mpf_event;
struct mpr_error;
struct mpr_breakdown_reading;
struct mpr_ranges;
struct mpr_reader;
struct mpr_replay;
struct mpr_thread;

/* The phase of training. */
enum mpr_phase {
    MPR_PHASE_SETUP, /* before the first forward pass */
    MPR_PHASE_FORWARD,
    MPR_PHASE_BACKWARD,
    MPR_PHASE_OPTIMIZER, /* in a step of an optimizer */
    MPR_PHASE_BETWEEN,   /* after one of these, before the next forward pass */
    MPR_PHASES
};

enum mpr_role {
    MPR_ROLE_PARAMETERS,
    MPR_ROLE_GRADIENTS,
    MPR_ROLE_OPTIMIZER,
    MPR_ROLE_ACTIVATIONS,
    MPR_ROLE_OUTPUTS,
    MPR_ROLE_GATHERED,
    MPR_ROLE_CACHE,
    MPR_ROLE_INPUTS,
    MPR_ROLE_GRAPHS,
    MPR_ROLE_WORKSPACES,
    MPR_ROLE_TEMPORARIES,
    MPR_ROLE_ASLEEP,
    MPR_ROLE_UNEXPLAINED,
    MPR_ROLES
};

struct mpr_role_share {
    enum mpr_role role;
    uint64_t bytes, blocks;
    uint64_t oldest, newest;   /* ns: times of the first and the last allocation */
    const struct mpr_row *row; /* by module, Python stack or range; largest first */
    size_t rows;
};

/* PyTorch's memory of one device. */
struct mpr_breakdown_heap {
    unsigned device;
    uint8_t heap;           /* "gpu0/torch" */
    uint64_t bytes, blocks; /* at the instant */
    uint64_t time;          /* ns, of the instant */
    enum mpr_phase phase;   /* at the instant */
    uint64_t steps, passes; /* optimizer steps that ended before it, backward passes that began
                               before it */
    uint64_t asleep, asleep_time; /* unmapped bytes at the device's peak or the chosen instant; ns.
                                     If memory was mapped or unmapped between that and the heap's
                                     instant, other roles include them. */
    struct mpr_role_share role[MPR_ROLES];
    uint64_t bucket_bytes;     /* gradients in DistributedDataParallel's buckets */
    uint64_t idle_bytes;       /* gradients that an optimizer's step has already used */
    const uint64_t *step_peak; /* the heap's peak in each of the first training steps.  A step
                                  begins when the previous step of the optimizer ends. */
    size_t step_peaks;
    bool recorded; /* autograd had recorded nodes in the forward pass of the instant */
};

struct mpr_breakdown {
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_instant at;  /* the requested instant */
    uint64_t steps, passes; /* in the whole log */
    bool ran;               /* the log has a forward pass, a backward pass or an optimizer step */
    struct mpr_breakdown_heap *heap;
    size_t heaps;
};

/* Returns 0, or -1 with *error filled and nothing to free.  @without_malloc: skips blocks of
 * malloc, so the summary has no facts about them. */
int mpr_breakdown_read(struct mpr_breakdown *breakdown, const char *path, struct mpr_instant at,
                       bool without_malloc, const struct mpr_progress *progress,
                       struct mpr_error *error);
void mpr_breakdown_free(struct mpr_breakdown *breakdown);

/* The same for a caller that replays the log for other analyses as well.  Before the first event.
 */
struct mpr_breakdown_reading *mpr_breakdown_watch(struct mpr_reader *reader);
/* After the last event.  Its paths may be in the arena of an earlier result of the reader. */
void mpr_breakdown_take(struct mpr_breakdown *breakdown, struct mpr_breakdown_reading *reading,
                        const struct mpr_reader *reader, const char *path);
void mpr_breakdown_reading_free(struct mpr_breakdown_reading *reading);

/* Returns "optimizer_state", "optimizer state", and the rule. */
const char *mpr_role_key(enum mpr_role role);
/* Returns the role of that key, or MPR_ROLES. */
enum mpr_role mpr_role_named(const char *key);
const char *mpr_role_name(enum mpr_role role);
const char *mpr_role_rule(enum mpr_role role);

/* ---- the phase at each event
 *
 * The phase of a training step, inferred from PyTorch's ranges, autograd's numbers and Python's
 * stacks.  Private to this layer.
 *
 * The first forward pass is recognized only by a module's call in a stack, because code that shards
 * or wraps a model also makes nodes of autograd.  A backward pass is over when a thread that is not
 * autograd's allocates again.  The same pass continues if neither a forward pass nor an optimizer's
 * step was between, because parts of one graph may run on the caller's thread. */

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
