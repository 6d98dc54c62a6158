/* The newest events of a log: those of the batch that is replayed, and the last ones of the batches
 * before. */
#ifndef MPR_RECENT_H
#define MPR_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "mpf/event.h"

#define MPR_RECENT 512u /* so far back at most */

struct mpr_recent {
    const struct mpf_event *batch, *at;  /* at: the event of it that is looked back from */
    struct mpf_event before[MPR_RECENT]; /* a ring; their data is gone */
    uint64_t count;                      /* that were ever put there */
};

static inline void mpr_recent_begin(struct mpr_recent *r, const struct mpf_event *events)
{
    r->batch = events;
}
/* The batch is over. */
void mpr_recent_end(struct mpr_recent *r, size_t count);
/* The n-th event before r->at, from 1 on; NULL where it is not known any more. */
const struct mpf_event *mpr_recent_back(const struct mpr_recent *r, uint32_t n);

#endif
