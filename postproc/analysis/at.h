/* Which instant a report is of. */
#ifndef MPR_AT_H
#define MPR_AT_H

#include <stdbool.h>
#include <stdint.h>

#define MPR_PEAK_TIME UINT64_MAX

/* Where something was largest from `from` to `to`, both included; what it was before does not count if it changed at `from`: so a
 * time that a report printed, with all its digits, is what that report showed. */
struct mpr_at {
    uint64_t from, to;          /* ns; both MPR_PEAK_TIME: at the peak itself */
    bool last;                  /* not where it was largest, but what `to` left behind */
};
#define MPR_AT_THE_PEAK ((struct mpr_at){ MPR_PEAK_TIME, MPR_PEAK_TIME, false })
#define MPR_AT_THE_END_OF(ns) ((struct mpr_at){ (ns), (ns), true })

static inline bool mpr_at_is_peak(struct mpr_at at) { return at.from == MPR_PEAK_TIME; }

#endif
