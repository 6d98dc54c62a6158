/* A training step's device memory by role: the result of `memprof-report breakdown`. Lives until
 * mpr_breakdown_free.
 *
 * A log does not have the role of a tensor. It is inferred from the phases of training in which
 * its block was allocated and freed; mpr_role_rule has the rule of each role. Each block that
 * PyTorch held at the instant has one role, so the bytes of the roles sum to the heap's. */
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
    MPR_PHASE_OPTIMIZER, /* during a step of an optimizer */
    MPR_PHASE_BETWEEN,   /* after one of these and before the next forward pass */
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
    uint64_t steps, passes; /* optimizer steps that ended before the instant, backward passes that
                               began before it */
    uint64_t asleep, asleep_time; /* bytes and time (ns) of live blocks without memory, at the
                                     device's peak or the selected instant. If memory was mapped or
                                     unmapped between that and the heap's instant, other roles
                                     include these bytes. */
    struct mpr_role_share role[MPR_ROLES];
    uint64_t bucket_bytes;     /* gradients in DistributedDataParallel's buckets */
    uint64_t idle_bytes;       /* gradients from an earlier optimizer step, which has used them */
    const uint64_t *step_peak; /* the heap's peak in each of the first training steps. A step begins
                                  when the optimizer's previous step ends. */
    size_t step_peaks;
    bool recorded; /* autograd recorded nodes in the forward pass of the instant */
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

/* The same for a caller that also replays the log for other analyses. Call it before the first
 * event. */
struct mpr_breakdown_reading *mpr_breakdown_watch(struct mpr_reader *reader);
/* Call it after the last event. The paths may be in the arena of an earlier result of the
 * reader. */
void mpr_breakdown_take(struct mpr_breakdown *breakdown, struct mpr_breakdown_reading *reading,
                        const struct mpr_reader *reader, const char *path);
void mpr_breakdown_reading_free(struct mpr_breakdown_reading *reading);

/* The role's key in JSON, its name for people, and its rule: "optimizer_state", "optimizer
 * state", "allocated in an optimizer's step and outlived it". */
const char *mpr_role_key(enum mpr_role role);
/* Returns the role with that key, or MPR_ROLES. */
enum mpr_role mpr_role_named(const char *key);
const char *mpr_role_name(enum mpr_role role);
const char *mpr_role_rule(enum mpr_role role);

/* ---- the phase at each event
 *
 * Infers the phase of a training step from PyTorch's ranges, autograd's node numbers and
 * Python's stacks. Private to this layer.
 *
 * The first forward pass is recognized only by a module's call in a stack, because code that
 * shards or wraps a model also creates nodes of autograd. A backward pass ends when a thread
 * that is not autograd's allocates again. If neither a forward pass nor an optimizer's step
 * followed, a later backward range belongs to the same pass, because parts of one graph may run
 * on the caller's thread. */

/* Facts about a path of ranges or a Python stack, from its names. */
enum mpr_torch_context {
    MPR_IN_OPTIMIZER = 1, /* a range "Optimizer.step#..." is open */
    MPR_IN_BACKWARD = 2,  /* autograd runs a node */
    MPR_IN_GATHER = 4,    /* FSDP gathers parameters from their shards */
    MPR_IN_FORWARD = 8,   /* the stack has a call of an nn.Module */
    MPR_IN_MODULE = 16,   /* it has a call of a module's method, or of a constructor */
    MPR_IN_CACHE = 32,    /* one of its two innermost calls is a key-value cache's */
    MPR_IN_BUCKET = 64,   /* its innermost call is a method of DistributedDataParallel */
    MPR_IN_BUILD = 128,   /* it has a call that constructs or moves one of PyTorch's modules */
    MPR_CONTEXT_KNOWN = 256,
    MPR_IN_CLASS_CACHE = 512 /* one of its two innermost calls is a method of a class that is named
                                a cache, perhaps not of keys and values */
};

/* The time and phase of an allocation or a free. */
struct mpr_moment {
    uint64_t time; /* ns */
    enum mpr_phase phase;
    uint32_t serial;        /* number of the phase: moments of one phase have the same */
    uint32_t passes, steps; /* so far: backward passes that began, optimizer steps that ended */
};

/* All zeros before the first event. */
struct mpr_training {
    struct mpr_moment now;
    uint64_t newest_run; /* the largest number of an autograd node that a backward pass ran */
    bool has_new_work; /* a forward pass or step followed the newest backward pass: the next one is
                          new */
    bool closure;      /* the optimizer's step runs a forward pass (its closure) */
    bool has_nodes;    /* autograd has recorded a node */
    uint32_t recorded; /* serial of the newest forward pass in which autograd recorded a node */
    struct mpr_training_thread {
        bool seen;      /* it has had an event of PyTorch */
        bool autograds; /* it belongs to autograd: its first event was to run a node */
        bool in_step;   /* of an optimizer */
    } * thread;
    uint32_t threads;
    uint16_t *context; /* by node; valid if it has MPR_CONTEXT_KNOWN */
    uint32_t nodes;
};

/* Call it after replay has applied the event. Then `now` is the moment of an allocation. */
void mpr_training_see(struct mpr_training *training, const struct mpr_replay *r,
                      const struct mpr_thread *t, const struct mpf_event *e);
/* Returns the moment of a free by the thread. */
struct mpr_moment mpr_training_moment(struct mpr_training *training, const struct mpr_replay *r,
                                      const struct mpr_thread *t);
/* Returns the context of a node (a range or a Python stack) without MPR_IN_CACHE,
 * MPR_IN_CLASS_CACHE and MPR_IN_BUCKET. It is 0 only for node 0. */
unsigned mpr_training_context(struct mpr_training *training, const struct mpr_ranges *ranges,
                              uint32_t node);
/* Returns MPR_IN_CACHE, MPR_IN_CLASS_CACHE and MPR_IN_BUCKET for a Python stack. */
unsigned mpr_torch_innermost_context(const struct mpr_ranges *ranges, uint32_t node);
void mpr_training_free(struct mpr_training *training);

#endif
