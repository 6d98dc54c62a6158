/* The verdict on two sides, with which `memprof-report diff` and the page of two runs begin: the
 * changes that matter, each with its bytes and its owner on both sides, the largest first.
 *
 * A difference counts if it is at least 1 % of the peak, and at least 64 MiB, or 4 MiB and a tenth
 * of the run's largest peak.  It is noise if the runs of one side, or the training steps of each
 * run, differ by as much, or if it comes from samples and may be chance.  PyTorch's memory is
 * compared by role (breakdown.h), other memory by call site. */
#ifndef MPR_VERDICT_H
#define MPR_VERDICT_H

#include "amount.h"
#include "diff.h"
#include "insights.h"

enum mpr_change_kind {
    MPR_CHANGE_BLOCKS,       /* blocks of one call site */
    MPR_CHANGE_CACHE,        /* memory that PyTorch's allocator keeps free */
    MPR_CHANGE_DEVICE,       /* a part of a device's account outside of all heaps */
    MPR_CHANGE_ELEMENT_SIZE, /* parameters, or what has their shapes, or a cache, have another
                                element type */
    MPR_CHANGE_GRAPH_POOLS,
    MPR_CHANGE_GROWTH,
    MPR_CHANGE_KEPT,      /* freed blocks that malloc may keep, after the heap's peak */
    MPR_CHANGE_RETENTION, /* anonymous memory that is in no live block */
    MPR_CHANGE_ROLE       /* of PyTorch's blocks */
};

/* Bytes or blocks of the two sides. */
struct mpr_sides {
    uint64_t base, now;
};

struct mpr_change {
    enum mpr_change_kind kind;
    const char *key;          /* key of the finding in JSON: "growth", or the role's */
    uint8_t heap;             /* as the base numbers devices */
    struct mpr_sides bytes;   /* that changed */
    struct mpr_sides peak;    /* the whole: the heap, the device or resident memory */
    struct mpr_sides blocks;  /* the role's.  Other kinds than ROLE and ELEMENT_SIZE have none. */
    struct mpr_sides resized; /* ELEMENT_SIZE: bytes of `blocks` */
    enum mpr_role role;       /* ROLE, ELEMENT_SIZE */
    bool in_optimizer;        /* ROLE: the larger side peaks in a step of the optimizer */
    bool without_backward; /* ROLE: the larger side's activations are those of a forward pass that
                              no backward pass follows; `path` has the calls of that pass */
    uint64_t unused;      /* ROLE: bytes that only the larger side has: its activations outlived the
                             backward pass, probably in a graph that the pass does not use */
    enum mpr_use use;     /* DEVICE */
    const char *part;     /* DEVICE: its name */
    struct mpr_path path; /* the call site or range that changed most; depth 0: unknown */
    const char *caller;   /* as in struct mpr_line, or "" */
    bool shortened;       /* the path is a line's, not a whole one */
    struct mpr_sides place;        /* bytes of `path` */
    struct mpr_sides place_blocks; /* BLOCKS: their number, or zeros if it is unknown */
    bool estimated;
};

enum mpr_outcome { MPR_OUTCOME_SAME, MPR_OUTCOME_NOISE, MPR_OUTCOME_CHANGED };

struct mpr_verdict {
    enum mpr_outcome outcome;
    const char *of; /* the heap, device or memory of the first change, or else the heap with the
                       largest difference.  NULL if nothing was recorded. */
    struct mpr_sides peak;        /* its peaks */
    bool has_run_spread;          /* run_spread is known: a side has several runs */
    struct mpr_sides run_spread;  /* bytes by which its peaks differ between the runs of a side */
    struct mpr_sides step_spread; /* bytes between the quartiles of the peaks of that heap's
                                     training steps, in each run.  0: it has none. */
    size_t run[2]; /* the runs of the sides that were compared for the first change */
    struct mpr_change *change;
    size_t changes;
    /* private */
    size_t cap;
    struct mpr_arena arena;
    struct mpr_insights *insights[2]; /* that mpr_verdict_read read */
};

/* Reads the two logs again if a difference counts and both sides are compared at their peaks.
 * @diff is finished, and outlives the verdict.  @naming: how owners are grouped, as for
 * mpr_diff_rows.  A log that cannot be read again only leaves out
 * causes. */
void mpr_verdict_read(struct mpr_verdict *verdict, const struct mpr_diff *diff,
                      const struct mpr_naming *naming, const struct mpr_progress *progress);
/* The same for a caller that has the insights of the runs that represent the sides.  They outlive
 * the verdict; NULL: unknown. */
void mpr_verdict_find(struct mpr_verdict *verdict, const struct mpr_diff *diff,
                      const struct mpr_naming *naming, const struct mpr_insights *base,
                      const struct mpr_insights *now);
void mpr_verdict_free(struct mpr_verdict *verdict);

/* Returns now - base. */
static inline int64_t mpr_sides_change(struct mpr_sides s)
{
    return mpr_signed_difference(s.base, s.now);
}
static inline uint64_t mpr_sides_larger(struct mpr_sides s)
{
    return s.base > s.now ? s.base : s.now;
}
static inline uint64_t mpr_sides_smaller(struct mpr_sides s)
{
    return s.base < s.now ? s.base : s.now;
}
static inline uint64_t mpr_sides_distance(struct mpr_sides s)
{
    return mpr_sides_larger(s) - mpr_sides_smaller(s);
}

#endif
