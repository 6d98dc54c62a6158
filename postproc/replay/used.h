/* Used bytes of a GPU at any instant: what the driver said last, and what tracked blocks changed since.
 *
 * A sample is taken on a thread of its own: it may see memory that an allocation took before that allocation's event, or
 * miss what a free is about to report.  The event that follows within MPR_USED_RACE_NS and explains the sample's jump does
 * not count a second time. */
#ifndef MPR_USED_H
#define MPR_USED_H

#include <stdbool.h>
#include <stdint.h>

#define MPR_USED_RACE_NS 2000000u

struct mpr_used {
    bool known;                 /* measured at least once */
    int64_t hidden;             /* used - tracked, as last measured */
    int64_t jump;               /* of `hidden` at the newest sample, as far as no event has explained it */
    uint64_t jump_time;
    int64_t mark;               /* hidden at the newest call's entry or return */
    unsigned inside;            /* calls that have been entered and not returned */
};

void mpr_used_sample(struct mpr_used *u, uint64_t used, uint64_t tracked, uint64_t time);
/* Measured by a call at its entry or return: how much `hidden` grew since the call before. */
int64_t mpr_used_mark(struct mpr_used *u, uint64_t used, uint64_t tracked);
/* Tracked bytes change by `delta`. */
void mpr_used_tracked(struct mpr_used *u, int64_t delta, uint64_t time);

static inline uint64_t mpr_used_now(const struct mpr_used *u, uint64_t tracked)
{
    const int64_t used = (int64_t)tracked + u->hidden;
    return used > 0 ? (uint64_t)used : 0;
}

#endif
