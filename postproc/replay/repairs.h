/* Events that were seen in the wrong order.
 *
 * Two threads that exchange a block read their clocks within 20 us of each other, so the log may
 * hold the free of a block after the next allocation of its address, or before its own allocation.
 * The k-th allocation of an address pairs with its k-th free: what came too early waits here for
 * its partner, at most MPR_REPAIR_NS.
 *
 * A thread's own events are in order, so a free that waits is not that of its own thread's next
 * allocation, unless two frees changed places:
 *
 *     as it was            in the log
 *     1 allocates X        1 allocates X
 *     1 frees X            2 frees X        taken for the end of the first block
 *     1 allocates X        1 frees X        waits
 *     2 frees X            1 allocates X    the block that 2 freed
 *
 * So it is where the free before the one that waits, with no block of that address between them, is
 * another thread's and at most MPR_REPAIR_NS old: behind the allocation it leaves all in order.
 * Without such a free the one that waits belongs to no block, or to one of another thread's that is
 * still to come.  The other way round, a thread's own free may be taken for the one that its own
 * allocation waits for: the block that was there may be of an allocation that is seen too early,
 * and its free come at any time. */
#ifndef MPR_REPAIRS_H
#define MPR_REPAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "recent.h"

#define MPR_REPAIR_NS   20000u
#define MPR_REPAIRS_MAX 1024u /* waiting at once; the oldest gives way */

enum mpr_waiting {
    MPR_WAIT_FREE = 1, /* a block's address was handed out again: its free is to come */
    MPR_WAIT_ALLOC,    /* a free of a block that is not live: its allocation is to come */
};

struct mpr_repair {
    uint64_t key, time;
    uint32_t thread;
    uint8_t kind;
};

struct mpr_repairs {
    struct mpr_repair at[MPR_REPAIRS_MAX]; /* a ring in time order; kind 0: its partner came */
    uint32_t first, count;
    struct mpr_recent recent; /* at: the event at hand, set while something waits */
};

void mpr_repairs_wait(struct mpr_repairs *r, const struct mpr_repair *repair);
/* The oldest entry of that kind and key, and not of thread `not_thread` (0: any), is taken out:
 * true when there was one. */
bool mpr_repairs_match(struct mpr_repairs *r, uint64_t key, enum mpr_waiting kind,
                       uint32_t not_thread);
/* The same of a free that waits, whichever thread's, where another thread's changed places with it
 * and may be that of recent.at, the allocation at hand. */
bool mpr_repairs_swap(struct mpr_repairs *r, uint64_t key);
/* Takes out the oldest entry when it was waiting for longer than MPR_REPAIR_NS at `now`, or there
 * is no room for one more. */
bool mpr_repairs_expire(struct mpr_repairs *r, uint64_t now, struct mpr_repair *out);

#endif
