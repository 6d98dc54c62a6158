/* An instant: the time of a run for which a report shows the state. */
#ifndef MPR_INSTANT_H
#define MPR_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

#define MPR_PEAK_TIME UINT64_MAX

/* Several events may have the same time, and a user may give few digits.  So an instant lasts from
 * `from` to `to`, both included, and means the largest state in that time.  The state before
 * that counts only if it did not change at `from`, so that a time which a report printed with all
 * digits stands for the state that the report showed. */
struct mpr_instant {
    uint64_t from, to; /* ns; both MPR_PEAK_TIME: the peak of each heap and device */
    bool settled;      /* the state after the last event at `to`, instead of the largest */
};
#define MPR_INSTANT_PEAK       ((struct mpr_instant){ MPR_PEAK_TIME, MPR_PEAK_TIME, false })
#define MPR_INSTANT_AT(ns)     ((struct mpr_instant){ (ns), (ns), false })
#define MPR_INSTANT_END_OF(ns) ((struct mpr_instant){ (ns), (ns), true })

static inline bool mpr_instant_is_peak(struct mpr_instant at) { return at.from == MPR_PEAK_TIME; }

/* Reads "12.5s", "300ms", "7us", "123ns", "12.5" (seconds), "mm:ss.fff" or "hh:mm:ss.fff".  The
 * instant is as long as one unit of the last digit, at most a millisecond.  Returns false for any
 * other text. */
bool mpr_instant_parse(const char *text, struct mpr_instant *instant);

/* A local time of day, without its date ("00:13:20.018") or with it ("2023-11-15 00:13:20.018",
 * "11-15 00:13:20.018"; a T may be there instead of the blank, and Z at the end for UTC). */
enum mpr_wall { MPR_NO_WALL, MPR_WALL_TIME, MPR_WALL_DAY };
enum mpr_wall mpr_instant_wall_kind(const char *text);
/* Converts a time of day to an instant of a run.  Without a date it is the first such time in the
 * run; without a year the one nearest to the start.  Returns false if it is before the start.
 * @start: CLOCK_REALTIME ns at which the run began */
bool mpr_instant_from_wall(const char *text, uint64_t start, struct mpr_instant *instant);

#endif
