/* A training step's device memory by role: the result behind `memprof-report breakdown`.  Lives
 * until mpr_breakdown_free.
 *
 * Nobody tells a log what a tensor is for.  What was measured does: when a block is made and when
 * it goes, against the passes of training; mpr_role_rule says for each role what that is.  Each
 * block that PyTorch held at the instant has one role, so the roles' bytes sum to the heap's. */
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

/* What PyTorch was doing. */
enum mpr_phase {
    MPR_PHASE_SETUP, /* before the first forward pass */
    MPR_PHASE_FORWARD,
    MPR_PHASE_BACKWARD,
    MPR_PHASE_OPTIMIZER, /* in a step of an optimizer */
    MPR_PHASE_BETWEEN,   /* behind one of them, before the next forward pass */
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
    uint64_t oldest, newest;   /* ns: when the first and the last of them were made */
    const struct mpr_row *row; /* by module, else by Python's stack, else by range; largest first */
    size_t rows;
};

/* PyTorch's memory of one device. */
struct mpr_breakdown_heap {
    unsigned device;
    uint8_t heap;           /* "gpu0/torch" */
    uint64_t bytes, blocks; /* at the instant */
    uint64_t time;          /* ns, of the instant */
    enum mpr_phase phase;   /* then */
    uint64_t steps, passes; /* optimizer's steps done before, backward passes begun before it */
    uint64_t asleep, asleep_time; /* bytes without memory behind them at the device's peak, or the
                                     chosen instant; ns.  Where memory was mapped or unmapped
                                     between that and the heap's instant, they are in the roles
                                     like others. */
    struct mpr_role_share role[MPR_ROLES];
    uint64_t bucket_bytes; /* of the gradients: DistributedDataParallel's buckets */
};

struct mpr_breakdown {
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_instant at;  /* what was asked for */
    uint64_t steps, passes; /* in the whole log */
    bool ran;               /* a forward pass, or one of these, was seen in it */
    struct mpr_breakdown_heap *heap;
    size_t heaps;
};

/* 0, or -1 with *error filled (nothing to free then). */
/* without_malloc: its blocks are left out, and the summary tells nothing of them. */
int mpr_breakdown_read(struct mpr_breakdown *breakdown, const char *path, struct mpr_instant at,
                       bool without_malloc, const struct mpr_progress *progress,
                       struct mpr_error *error);
void mpr_breakdown_free(struct mpr_breakdown *breakdown);

/* As the guest of a reading of peaks at that instant (peaks.h), in whose memory its paths may lie:
 * the argument of the guest's two functions.  The breakdown is filled at the end of the log. */
struct mpr_breakdown_reading *mpr_breakdown_begin_at(struct mpr_breakdown *breakdown,
                                                     const char *path, struct mpr_instant at);
void mpr_breakdown_see(void *reading, struct mpr_reader *reader);
void mpr_breakdown_fill(void *reading, const struct mpr_reader *reader);
void mpr_breakdown_end(struct mpr_breakdown_reading *reading);

/* "optimizer_state", "optimizer state", and what made it that. */
const char *mpr_role_key(enum mpr_role role);
/* Returns the role of that key, or MPR_ROLES. */
enum mpr_role mpr_role_named(const char *key);
const char *mpr_role_name(enum mpr_role role);
const char *mpr_role_rule(enum mpr_role role);

#endif
