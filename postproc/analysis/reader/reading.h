/* Samples of the kernel's and jemalloc's figures, as results hold them. */
#ifndef MPR_READING_H
#define MPR_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "mpf/sample.h"

#define MPR_READING_VALUES 12

/* A sample of the kernel's or jemalloc's figures, in the order of mpf/sample.h; MPF_UNKNOWN where
 * it says nothing.  taken: when each value was read, for some are read less often. */
struct mpr_reading {
    bool valid;
    uint64_t time, value[MPR_READING_VALUES], taken[MPR_READING_VALUES];
};
enum mpr_reading_source { MPR_READ_RSS, MPR_READ_CGROUP, MPR_READ_JEMALLOC, MPR_READ_SOURCES };

/* From replay's samples; for this layer. */
struct mpr_sample;
struct mpr_track;
struct mpr_reading mpr_reading_of(const struct mpr_sample *sample);
/* Returns when the sample stopped to be true.  The recorder omits a sample with the same values for
 * ten seconds at most.
 * @next: when the next sample was taken, or the log ended. */
uint64_t mpr_reading_held_until(const struct mpr_sample *sample, uint64_t next);
/* The most resident bytes: of the samples, or what the log's end says (0: nothing); MPF_UNKNOWN. */
struct mpr_samples;
uint64_t mpr_reading_rss_high(const struct mpr_samples *samples, uint64_t told);
/* The largest that samples had of one of the kernel's values (MPF_RSS_*); 0: none had it. */
uint64_t mpr_reading_high(const struct mpr_samples *samples, int value);
/* The sample that held at the instant, the heap's peak; not valid if none was taken within a beat
 * of it, the period of sampling. */
#define MPR_READING_BEAT_NS UINT64_C(100000000)
struct mpr_reading mpr_reading_at_peak(const struct mpr_track *track, uint8_t heap,
                                       uint64_t instant);

/* A limit of the process that refuses what is beyond it. */
struct mpr_rlimit {
    const char *name;            /* "RLIMIT_AS", "RLIMIT_DATA"; NULL: none was in the way */
    const char *of, *option;     /* what it is of, and ulimit's option */
    uint64_t bytes, used, since; /* used: in the sample; since: made after it */
};
/* Which of the limits of a sample that many more bytes would not fit below: a sample is older than
 * the request, so they may be a twentieth of it from it.  since: bytes of addresses that were made
 * after these had been measured. */
struct mpr_rlimit mpr_reading_rlimit(const struct mpr_reading *rss, uint64_t asked, uint64_t since);
/* The limit as of the newest sample, MPF_UNKNOWN: one that has been lifted since is none. */
uint64_t mpr_reading_newest(const struct mpr_reading *rss, int value);

#endif
