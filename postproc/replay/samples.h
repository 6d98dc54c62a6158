/* Samples of counters of the kernel and the allocator: the newest values, the maxima, and the
 * values around each heap's peak. */
#ifndef MPR_SAMPLES_H
#define MPR_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "accounts.h"
#include "intervals.h"
#include "mpf/event.h"
#include "mpf/sample.h"
#include "resident.h"

#define MPR_SAMPLE_VALUES 12 /* further values of a newer log are ignored */
_Static_assert(MPF_RSS_COUNT <= MPR_SAMPLE_VALUES && MPF_CGROUP_COUNT <= MPR_SAMPLE_VALUES &&
                   MPF_JEMALLOC_COUNT <= MPR_SAMPLE_VALUES,
               "there is room for each source's values");

enum mpr_source {
    MPR_SOURCE_RSS,
    MPR_SOURCE_CGROUP,
    MPR_SOURCE_JEMALLOC,
    MPR_SOURCE_ALLOCATOR,
    MPR_SOURCES
};

/* A value that is not in a sample is that of the previous sample, or MPF_UNKNOWN if there is none.
 * taken: ns when each value was read */
struct mpr_sample {
    bool valid;
    uint64_t time, value[MPR_SAMPLE_VALUES], taken[MPR_SAMPLE_VALUES];
};

/* The samples of RSS that were taken while a heap had about the bytes of its peak.  They are an
 * upper bound of the part of the peak that was in memory. */
struct mpr_peak_samples {
    /* Upper bound of the bytes in memory or swap: the maximum, over the samples, of their bytes
     * plus the bytes freed since the peak; MPF_UNKNOWN without samples. */
    uint64_t touched, time;
    struct mpr_sample last; /* the last of them, or the first one after the heap shrank */
    bool over;              /* the heap shrank */
};

/* The highest resident bytes, or the highest charge of the cgroup: by a sample, or by the kernel's
 * high-water mark, which rose between two samples. */
struct mpr_sample_high {
    uint64_t bytes;                  /* MPF_UNKNOWN without samples */
    bool sampled;                    /* the sample `after` has this value */
    struct mpr_sample before, after; /* the samples around it; `before` is not valid without an
                                        earlier sample */
    uint64_t first_mark; /* the mark in the first sample, which may be older than the process */
};

struct mpr_sample_track {
    uint64_t count;
    struct mpr_sample_high high; /* of RSS and of the cgroup */
    struct mpr_sample now;
    struct mpr_sample largest;           /* of each value */
    struct mpr_sample before[MPR_HEAPS]; /* the newest one that is not later than the heap's peak */
    struct mpr_sample after[MPR_HEAPS];  /* the first one after it */
    uint64_t epoch[MPR_HEAPS];           /* epoch of each heap at the newest sample */
};

struct mpr_samples {
    struct mpr_sample_track source[MPR_SOURCES];
    struct mpr_peak_samples at_peak[MPR_HEAPS];
    struct mpr_resident resident; /* the one with the largest sum, then most page tables */
    bool resident_is_newest;      /* no SAMPLE_RESIDENT came after it */
};

/* Returns the resident bytes in a sample of RSS, or the charge in a sample of the cgroup, or
 * MPF_UNKNOWN. */
uint64_t mpr_sample_bytes(enum mpr_source source, const struct mpr_sample *sample);

void mpr_samples_init(struct mpr_samples *samples);
void mpr_samples_add(struct mpr_samples *samples, const struct mpr_accounts *accounts,
                     enum mpr_source source, const struct mpf_event *event);
/* Apply SAMPLE_RESIDENT, and RESIDENT_FILE, which belongs to the SAMPLE_RESIDENT before it. */
void mpr_samples_add_resident(struct mpr_samples *samples, const struct mpr_accounts *accounts,
                              const struct mpf_event *event);
void mpr_samples_add_file(struct mpr_samples *samples, const struct mpf_event *event);
/* Applies RESIDENT_MAPPING, which belongs to the newest SAMPLE_RESIDENT.
 * @large_blocks, @mappings: possible owners by address */
void mpr_samples_add_mapping(struct mpr_samples *samples, const struct mpr_intervals *large_blocks,
                             const struct mpr_intervals *mappings, const struct mpf_event *event);
/* Replaces the cells of the owners of resident memory by those of a projection.
 * @to: by cell of the replay; NULL: restores the replay's cells */
void mpr_samples_project(struct mpr_samples *samples, const uint32_t *to);
/* Call after the last event: handles the peaks that no sample followed. */
void mpr_samples_finish(struct mpr_samples *samples, const struct mpr_accounts *accounts);

#endif
