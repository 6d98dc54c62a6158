/* Samples of the kernel's and jemalloc's figures, as results hold them. */
#ifndef MPR_READING_H
#define MPR_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "mpf/sample.h"

#define MPR_READING_VALUES 12

/* A sample of the figures of the kernel or of jemalloc, in the order of mpf/sample.h; unknown
 * values are MPF_UNKNOWN.  @taken: when each value was read, because some are read less often. */
struct mpr_reading {
    bool valid;
    uint64_t time, value[MPR_READING_VALUES], taken[MPR_READING_VALUES];
};
enum mpr_reading_source { MPR_READ_RSS, MPR_READ_CGROUP, MPR_READ_JEMALLOC, MPR_READ_SOURCES };

/* From replay's samples; for this layer. */
struct mpr_sample;
struct mpr_sample_track;
struct mpr_reading mpr_reading_of(const struct mpr_sample *sample);
/* Returns when the sample stopped to be true.  The recorder omits a sample with the same values for
 * ten seconds at most.
 * @next: when the next sample was taken, or the log ended. */
uint64_t mpr_reading_held_until(const struct mpr_sample *sample, uint64_t next);
/* Returns the largest resident bytes, from samples or from the end of the log (@at_end, or 0), or
 * MPF_UNKNOWN. */
struct mpr_samples;
uint64_t mpr_reading_rss_high(const struct mpr_samples *samples, uint64_t at_end);
/* The highest resident bytes of the process, or the highest charge of its cgroup. */
struct mpr_reading_peak {
    uint64_t bytes;    /* MPF_UNKNOWN without samples */
    uint64_t from, to; /* ns: it was reached in this time; equal if a sample has about this value */
    /* Bytes of the samples around it, MPF_UNKNOWN without a sample. If from and to are equal, the
     * second sample has the highest value. */
    uint64_t before, after;
};
/* Writing the end of a log takes some memory, so an increase by this share after the last sample is
 * not a later peak. */
enum { MPR_READING_END_SHARE = 64 };
/* @told: resident bytes from the end of the log, or 0; @end: the time of the log's end, ns. */
struct mpr_reading_peak mpr_reading_peak(const struct mpr_samples *samples,
                                         enum mpr_reading_source source, uint64_t told,
                                         uint64_t end);
/* Returns the largest sample of one of the kernel's values (MPF_RSS_*), or 0 without any. */
uint64_t mpr_reading_high(const struct mpr_samples *samples, int value);
/* Returns the sample that was valid at the heap's peak, @instant; it is not valid if no sample was
 * taken within the period of sampling. */
#define MPR_READING_BEAT_NS UINT64_C(100000000)
struct mpr_reading mpr_reading_at_peak(const struct mpr_sample_track *track, uint8_t heap,
                                       uint64_t instant);

/* A limit of the process on its memory. */
struct mpr_rlimit {
    const char *name;            /* "RLIMIT_AS", "RLIMIT_DATA", or NULL without such a limit */
    const char *of, *option;     /* the limited kind of memory, and the option of ulimit */
    uint64_t bytes, used, since; /* used: in the sample; since: allocated after it */
};
/* Returns the limit of a sample that refused a request of @asked bytes. A sample is older than the
 * request, so a request within a twentieth of the limit counts.  @since: bytes of address space
 * that were allocated after the sample. */
struct mpr_rlimit mpr_reading_rlimit(const struct mpr_reading *rss, uint64_t asked, uint64_t since);
/* Returns the limit in the newest sample, or MPF_UNKNOWN if it has been lifted. */
uint64_t mpr_reading_newest(const struct mpr_reading *rss, int value);

#endif
