/* An instant: a time of a run whose state is wanted. */
#ifndef MPR_INSTANT_H
#define MPR_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

#define MPR_PEAK_TIME UINT64_MAX

/* Several events share a time, and texts have few digits: an instant lasts from `from` to `to`,
 * both included, and means the largest state in it.  What was before does not count if it changed
 * at `from`: so a time that a report printed, with all its digits, is what that report showed. */
struct mpr_instant {
    uint64_t from, to; /* ns; both MPR_PEAK_TIME: the peak itself, each heap's and device's own */
    bool settled;      /* not the largest state, but what `to` left behind */
};
#define MPR_INSTANT_PEAK       ((struct mpr_instant){ MPR_PEAK_TIME, MPR_PEAK_TIME, false })
#define MPR_INSTANT_AT(ns)     ((struct mpr_instant){ (ns), (ns), false })
#define MPR_INSTANT_END_OF(ns) ((struct mpr_instant){ (ns), (ns), true })

static inline bool mpr_instant_is_peak(struct mpr_instant at) { return at.from == MPR_PEAK_TIME; }

/* "12.5s", "300ms", "7us", "123ns", "12.5" (seconds), "mm:ss.fff" or "hh:mm:ss.fff": as long as the
 * last digit says, at most a millisecond.  False: none of these. */
bool mpr_instant_parse(const char *text, struct mpr_instant *instant);

/* A time of the clock, in local time: with its day ("2023-11-15 00:13:20.018", "11-15
 * 00:13:20.018", a T for the blank, a Z behind it for UTC) or without ("00:13:20.018"). */
enum mpr_wall { MPR_NO_WALL, MPR_WALL_TIME, MPR_WALL_DAY };
enum mpr_wall mpr_instant_is_wall(const char *text);
/* The instant of it in a run that began then (CLOCK_REALTIME ns).  Without its day the first one of
 * the run, without its year the one nearest to its start.  False: it is before the start. */
bool mpr_instant_of_wall(const char *text, uint64_t start, struct mpr_instant *instant);

#endif
