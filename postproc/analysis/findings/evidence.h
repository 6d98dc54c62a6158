/* The input of the rules of insights, and the functions with which they add findings.  Private to
 * this layer, ranks_findings.c and verdict_torch.c.
 *
 * A rule is a function of the evidence.  It adds a finding only if the numbers show one. */
#ifndef MPR_EVIDENCE_H
#define MPR_EVIDENCE_H

#include "amount.h"
#include "breakdown.h"
#include "heap_names.h"
#include "insights.h"
#include "leaks.h"
#include "mpf/event.h"
#include "retained.h"
#include "segments.h"
#include "steps.h"

struct mpr_device_snapshot;
struct mpr_oom;
struct mpr_reader;
struct mpr_replay;

/* ---- live blocks of a device, when memory ran out or at its peak (device_evidence.c) */

/* Blocks with a common origin.  bytes 0: there are none. */
struct mpr_block_group {
    uint64_t bytes, count; /* count: of blocks, or of captures */
    uint64_t threads;      /* number of threads that made the blocks, or 0 */
    uint64_t groups;       /* number of attempts, or 0 */
    uint64_t largest;      /* bytes of the largest block or capture */
    uint64_t time;         /* ns; see the members below */
    struct mpr_path path;  /* the call stack or range that made most of the bytes */
};

struct mpr_device_evidence {
    uint64_t pool_live; /* live bytes in stream-ordered pools */
    /* Blocks of one call stack that have the size of a cuBLAS workspace. */
    struct mpr_block_group workspaces;
    /* Segments that torch.compile captured for one function, in several graphs. */
    struct mpr_block_group captures;
    /* Pools of graphs at the time of the run at which they had most bytes, and the calls that most
     * segments of graphs in the snapshot have in common. */
    struct mpr_block_group graph_pools;
    /* Live blocks that earlier attempts left.  The attempt that left most ran out of memory at
     * `time`.  The calls with which they began were made again. */
    struct mpr_block_group attempt;
};

/* Call it after the last event.  The paths are in the arena.
 * @snapshot: may be invalid.
 * @oom: the failure at the instant of the snapshot, or NULL. */
void mpr_device_evidence_fill(struct mpr_device_evidence *out, struct mpr_arena *arena,
                              const struct mpr_reader *reader,
                              const struct mpr_device_snapshot *snapshot,
                              const struct mpr_oom *oom);

/* ---- all evidence */

struct mpr_evidence {
    const struct mpr_log_peaks *log;
    const struct mpr_segments *segments; /* when memory ran out, or at each device's peak */
    const struct mpr_steps *steps;       /* NULL if no range repeats */
    const struct mpr_leaks *leaks; /* growth over time, or NULL if the log was not read for it */
    const struct mpr_breakdown *breakdown;     /* at the same instants, or NULL if PyTorch held no
                                                  device memory */
    const struct mpr_site_growth *site_growth; /* by the sites' own clocks, one per heap */
    size_t site_growths;
    const struct mpr_site_temporary *site_temporary; /* one per heap */
    size_t site_temporaries;
    const struct mpr_site_use *site_use; /* one per heap */
    size_t site_uses;
    const struct mpr_segment_churn *churn; /* one per device */
    size_t churns;
    const struct mpr_device_evidence *device; /* by index, at the instants of `state`; or NULL */
    const struct mpr_device_state *state;     /* state of each device at the same instants */
    uint64_t refusals[MPF_GPUS]; /* of device memory, whether or not the program got it later */
    bool at_oom[MPF_GPUS];       /* its state is the one when memory ran out */
    struct mpr_retained retained;
    const struct mpr_occupancy *occupancy; /* of malloc's pages at that time, or NULL if malloc kept
                                              little, or the log does not show them */
    size_t threads;                        /* with events */
    bool jemalloc;                         /* the log has samples of jemalloc's figures */
};

/* The least size of a finding: bytes, and the share of a heap or device. */
enum { MPR_WORTH_BYTES = 64 << 20, MPR_WORTH_SHARE = 20 };
static inline bool mpr_worth(uint64_t bytes, uint64_t whole)
{
    return bytes >= MPR_WORTH_BYTES && bytes >= whole / MPR_WORTH_SHARE;
}

/* Returns true if the bytes are at least that share of the device's memory, if memory ran out, or
 * if the device's size is unknown.  On a device that has room, memory that every such program
 * needs is not worth a change. */
static inline bool mpr_worth_on_device(const struct mpr_evidence *e, uint8_t heap, uint64_t bytes,
                                       unsigned share)
{
    const unsigned device = mpf_heap_device(heap);
    return !e->state || !e->state[device].valid || e->at_oom[device] ||
           e->state[device].total == MPF_UNKNOWN || bytes >= e->state[device].total / share;
}

/* The limit is lower for growth, because it continues. */
enum { MPR_GROWN_BYTES = 4 << 20 };
static inline bool mpr_worth_growth(uint64_t bytes, uint64_t whole)
{
    return bytes >= MPR_GROWN_BYTES && bytes >= whole / MPR_WORTH_SHARE;
}

/* Adds a finding and returns it, so that the rule adds the facts.  The pointer is valid until the
 * next finding is added.  @time: ns, when it was seen. */
struct mpr_finding *mpr_finding_add(struct mpr_insights *out, enum mpr_finding_kind kind,
                                    uint8_t heap, uint64_t time, uint64_t bytes);
void mpr_finding_bytes(struct mpr_finding *f, const char *key, uint64_t value);
/* @estimated: the value is an estimate, and shown as one */
void mpr_finding_estimate(struct mpr_finding *f, const char *key, uint64_t value, bool estimated);
void mpr_finding_count(struct mpr_finding *f, const char *key, uint64_t value);
void mpr_finding_fact(struct mpr_finding *f, struct mpr_fact fact);
/* Adds a value that only the finding's sentences use. */
void mpr_finding_detail(struct mpr_finding *f, struct mpr_fact detail);
/* The same with a text, which outlives the finding. */
void mpr_finding_detail_text(struct mpr_finding *f, const char *key, const char *text);
/* Returns the bytes that were missing when memory ran out. */
uint64_t mpr_insights_missing(const struct mpr_insights *insights);
/* Returns the largest row of the module or of one inside of it, or NULL. */
const struct mpr_row *mpr_row_inside(const struct mpr_row *row, size_t rows, const char *module);

/* Returns true if the heap is at the end of a forward pass that recorded a graph, and that no
 * backward pass follows: many call sites of the pass have live blocks, which the breakdown calls
 * temporaries, because the pass frees them. */
bool mpr_is_kept_by_graph(const struct mpr_breakdown_heap *heap);
/* Returns the outer calls that all large rows of the role share, or an empty path. */
struct mpr_path mpr_role_common_path(const struct mpr_role_share *share);

/* Returns the bytes that malloc may have kept, or 0 if they are not worth a finding. */
uint64_t mpr_evidence_kept(const struct mpr_evidence *e);

/* The rules. */
void mpr_insights_torch(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_roles(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_device(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_growth(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_steps(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_sites(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_uses(struct mpr_insights *out, const struct mpr_evidence *e);
/* Last: looks at the findings of the other rules. */
void mpr_insights_holders(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_family(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_resident(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_host(struct mpr_insights *out, const struct mpr_evidence *e);

#endif
