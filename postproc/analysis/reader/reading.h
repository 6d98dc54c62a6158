/* Samples of the kernel's and the allocator's memory figures in results. */
#ifndef MPR_READING_H
#define MPR_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "mpf/sample.h"

#define MPR_READING_VALUES 12

/* One sample: values in the order of mpf/sample.h, MPF_UNKNOWN if unknown. @taken: when each
 * value was read, because some are read less often. */
struct mpr_reading {
    bool valid;
    uint64_t time, value[MPR_READING_VALUES], taken[MPR_READING_VALUES];
};
enum mpr_reading_source {
    MPR_READ_RSS,
    MPR_READ_CGROUP,
    MPR_READ_JEMALLOC,
    MPR_READ_ALLOCATOR, /* another allocator, in logs whose sums of host/heap are estimates */
    MPR_READ_SOURCES
};

/* ---- from replay's samples, for this layer */
struct mpr_sample;
struct mpr_sample_track;
struct mpr_reading mpr_reading_of(const struct mpr_sample *sample);
/* Returns the time until which the sample's values were true. The recorder omits samples with
 * the same values for up to ten seconds.
 * @next: when the next sample was taken, or the log ended. */
uint64_t mpr_reading_held_until(const struct mpr_sample *sample, uint64_t next);
/* Returns the largest resident bytes in samples and at the end of the log (@at_end, 0 if
 * unknown), or MPF_UNKNOWN. */
struct mpr_samples;
uint64_t mpr_reading_rss_high(const struct mpr_samples *samples, uint64_t at_end);
/* The highest resident bytes of the process, or the highest charge of its cgroup. */
struct mpr_reading_peak {
    uint64_t bytes;    /* MPF_UNKNOWN without samples */
    uint64_t from, to; /* ns: when it was reached; equal if a sample has about this value */
    /* Bytes of the samples before and after it, or MPF_UNKNOWN. If `from` and `to` are equal,
     * the second sample has the highest value. */
    uint64_t before, after;
};
/* An increase by at most this share after the last sample is not a later peak, because writing
 * the end of a log takes some memory. */
enum { MPR_READING_END_SHARE = 64 };
/* Returns the highest value of a source. @at_end: high-water mark of resident bytes at the end
 * of the log, or 0; @end: time of the log's end, ns. */
struct mpr_reading_peak mpr_reading_peak(const struct mpr_samples *samples,
                                         enum mpr_reading_source source, uint64_t told,
                                         uint64_t end);
/* Returns the maximum of one of the kernel's values (MPF_RSS_*) in samples, or 0 without
 * samples. */
uint64_t mpr_reading_high(const struct mpr_samples *samples, int value);
/* Returns the sample that describes the heap's peak, @instant. It is not valid if no sample was
 * taken within the sampling period. */
#define MPR_READING_BEAT_NS UINT64_C(100000000)
struct mpr_reading mpr_reading_at_peak(const struct mpr_sample_track *track, uint8_t heap,
                                       uint64_t instant);

/* A limit of the process on its memory. */
struct mpr_rlimit {
    const char *name;            /* "RLIMIT_AS", "RLIMIT_DATA", or NULL without such a limit */
    const char *of, *option;     /* the limited kind of memory, and ulimit's option */
    uint64_t bytes, used, since; /* used: in the sample; since: allocated after the sample */
};
/* Returns the limit that refused a request of @asked bytes, or one without a name. The sample is
 * older than the request, so a request that comes within a twentieth of the limit counts.
 * @since: bytes of address space that were allocated after the sample. */
struct mpr_rlimit mpr_reading_rlimit(const struct mpr_reading *rss, uint64_t asked, uint64_t since);
/* Returns a value of the sample, or MPF_UNKNOWN if only an earlier sample has it: then the limit
 * was lifted. */
uint64_t mpr_reading_newest(const struct mpr_reading *rss, int value);

#endif
