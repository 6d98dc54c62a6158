/* Freed blocks of malloc whose pages may still be in memory.
 *
 * A log has no figure of malloc itself.  So this is anonymous memory that belongs to no live block,
 * and that appeared as blocks were freed. */
#ifndef MPR_RETAINED_H
#define MPR_RETAINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "amount.h"
#include "peaks.h"

struct mpr_replay;

/* A sample of the process's anonymous memory after the peak of host/heap, in bytes. */
struct mpr_retained {
    uint64_t time; /* ns; 0: no sample */
    uint64_t anonymous, memprof;
    uint64_t live;         /* blocks and mappings: host/heap and host/mmap */
    uint64_t others;       /* beyond these near the peak, when malloc kept least: data of libraries,
                              stacks */
    uint64_t fallen;       /* bytes of host/heap that were freed since its peak */
    uint64_t kept_at_most; /* see mpr_kept_at_most */
};
/* Returns how many bytes of freed blocks malloc can have kept at a sample, if it kept at most
 * @before at the previous one and the heap fell by @freed since.  It cannot keep more than belongs
 * to no live block.  So memory that appears later, while no block is freed, is not malloc's. */
static inline uint64_t mpr_kept_at_most(uint64_t before, uint64_t freed, uint64_t beyond)
{
    return before + freed < beyond ? before + freed : beyond;
}
/* Returns the bytes that belong to no block, mapping or library. */
static inline uint64_t mpr_retained_unowned(const struct mpr_retained *r)
{
    return mpr_saturating_sub(r->anonymous, r->live + r->memprof + r->others);
}
/* Returns the part of it that can be freed blocks, which malloc may have kept. */
static inline uint64_t mpr_retained_bytes(const struct mpr_retained *r)
{
    const uint64_t beyond = mpr_retained_unowned(r),
                   freed = r->fallen < r->kept_at_most ? r->fallen : r->kept_at_most;
    return beyond < freed ? beyond : freed;
}

/* MPR_RETAINED_NEWEST samples, one each tick, cover more than a second. */
enum { MPR_RETAINED_NEWEST = 12, MPR_RETAINED_TICK_NS = 100000000 };

/* The samples of a reading.  Zeros begin it. */
struct mpr_retained_samples {
    /* Samples after the heap's peak that lasted for a second.  largest: malloc may keep most bytes;
     * lowest: host/heap has fewest live bytes.  time 0: none */
    struct mpr_retained largest, lowest;
    struct mpr_retained newest[MPR_RETAINED_NEWEST]; /* since the heap's peak; time 0: none */
    uint64_t taken, peak, others;
    struct {
        uint64_t kept_at_most, heap; /* bytes; heap: live in host/heap */
    } newest_sample;                 /* of RSS, since the peak of host/heap; or that peak */
};

/* Returns the row of host/heap that has most blocks at the heap's peak, if at least half of the
 * bytes that malloc may have kept are freed blocks of it; or NULL. */
const struct mpr_row *mpr_retained_owner(const struct mpr_retained *retained,
                                         const struct mpr_heap_peak *heap);

/* Observes the replay from its begin, and uses its clock.  @samples outlives the replay. */
void mpr_retained_watch(struct mpr_retained_samples *samples, struct mpr_replay *replay);
/* Call it after the last event.  The last second counts if the process was killed: a normal exit
 * frees all blocks. */
void mpr_retained_end(struct mpr_retained_samples *samples, uint64_t end, bool was_killed);

#endif
