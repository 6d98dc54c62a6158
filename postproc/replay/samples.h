/* What the kernel and the allocator said: the newest values, the largest ones, and those around
 * each heap's peak. */
#ifndef MPR_SAMPLES_H
#define MPR_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "books.h"
#include "mpf/event.h"
#include "mpf/sample.h"

#define MPR_SAMPLE_VALUES 12 /* room: what a newer log has more is passed over */
_Static_assert(MPF_RSS_COUNT <= MPR_SAMPLE_VALUES && MPF_CGROUP_COUNT <= MPR_SAMPLE_VALUES &&
                   MPF_JEMALLOC_COUNT <= MPR_SAMPLE_VALUES,
               "there is room for each source's values");

enum mpr_source { MPR_SOURCE_RSS, MPR_SOURCE_CGROUP, MPR_SOURCE_JEMALLOC, MPR_SOURCES };

/* A value that a sample does not hold keeps what the one before said; MPF_UNKNOWN: never said.
 * taken: when each was said. */
struct mpr_sample {
    bool valid;
    uint64_t time, value[MPR_SAMPLE_VALUES], taken[MPR_SAMPLE_VALUES];
};

/* The samples of RSS that were taken while a heap held about its peak: they limit how much of the
 * peak was in memory. */
struct mpr_peak_samples {
    uint64_t touched, time; /* bytes in memory or swap, at most: the largest of the samples, with
                               bytes freed since the peak; MPF_UNKNOWN: none was taken */
    struct mpr_sample last; /* the last of them, or the first one after the heap fell */
    bool over;              /* the heap fell */
};

struct mpr_track {
    uint64_t count;
    struct mpr_sample now;
    struct mpr_sample largest;           /* of each value */
    struct mpr_sample before[MPR_HEAPS]; /* the last one not after the heap's peak */
    struct mpr_sample after[MPR_HEAPS];  /* the first one after it */
    uint64_t epoch[MPR_HEAPS];           /* of the heap when the newest sample came */
};

struct mpr_samples {
    struct mpr_track source[MPR_SOURCES];
    struct mpr_peak_samples at_peak[MPR_HEAPS];
};

void mpr_samples_init(struct mpr_samples *samples);
void mpr_samples_add(struct mpr_samples *samples, const struct mpr_books *books,
                     enum mpr_source source, const struct mpf_event *event);
/* After the last event: peaks that no sample followed. */
void mpr_samples_finish(struct mpr_samples *samples, const struct mpr_books *books);

#endif
