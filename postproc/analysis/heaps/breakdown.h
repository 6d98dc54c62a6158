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

struct mpr_error;
struct mpr_breakdown_reading;
struct mpr_reader;

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

#endif
