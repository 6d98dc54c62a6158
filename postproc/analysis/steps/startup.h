/* Tells growth by the clock from the start of a program, which loads code and data and keeps them.
 */
#ifndef MPR_STARTUP_H
#define MPR_STARTUP_H

#include "leaks.h"

/* Growth is not judged if the instants after the warm-up span less time than this. */
enum { MPR_STARTUP_NS = 500000000 };

/* Returns true if the site imports modules or loads code when it is first used.  Such a site grows
 * until all code is loaded. */
bool mpr_startup_loads(const struct mpr_row *row);
/* Removes the sites that only load, so that none of them counts as growing. */
void mpr_startup_leave_out(struct mpr_leaks_heap *h);
/* Returns true if growth is by the clock and of a short run, which may still be loading: only a
 * longer run can show that it is a leak. */
static inline bool mpr_startup_is_short(const struct mpr_leaks *l)
{
    enum { SHORT_SECONDS = 5 };
    return !*l->range && mpr_leaks_steps(l) < SHORT_SECONDS;
}

#endif
