/* Who held how many bytes when: the result behind `memprof-report timeline` and the page.
 *
 * Everything in it lives until mpr_timeline_free.  Bytes are requested bytes; times are ns since the process's start.
 * A heap's bands sum to its bytes at every instant that is stored, and one of these is the peak. */
#ifndef MPR_TIMELINE_H
#define MPR_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

/* MPR_BAND_ALL: a band is what shares range, thread and size class, so that a page can stack by any of them. */
enum mpr_band_by { MPR_BAND_RANGE, MPR_BAND_THREAD, MPR_BAND_SIZE, MPR_BAND_HEAP, MPR_BAND_ALL };

struct mpr_timeline_options {
    enum mpr_band_by by;
    const char *heap;           /* only this one; NULL: all */
    uint64_t from, to;          /* ns */
    size_t buckets;             /* of a heap at most */
    size_t bands;               /* of a heap at most: the largest, and one for the rest */
    size_t changes;             /* of a heap at most */
};

enum mpr_band_kind {
    MPR_BAND_ONE,               /* exactly what its labels say */
    MPR_BAND_SMALL,             /* of that range, the threads and size classes that have no band of their own */
    MPR_BAND_OTHER,             /* everything that has none */
};

struct mpr_band {
    enum mpr_band_kind kind;
    const char *const *path;    /* outermost first; by thread or size: that one label */
    size_t depth;
    uint32_t node, thread, class;       /* numbers that are equal where range, thread or size class are */
    uint64_t largest;           /* bytes in any vector */
};

/* An interval of width_ns, or as long as nothing changes. */
struct mpr_span {
    uint64_t start;
    uint64_t time;              /* of the maximum */
    uint64_t max, min, close;
    uint64_t allocs, frees;
    size_t end;                 /* of its part of `change`: what differs from the vector of the span before */
};
struct mpr_band_change { uint32_t band; uint64_t bytes; };

struct mpr_heap_line {
    const char *name;
    uint64_t peak_bytes, peak_time, peak_blocks, end_bytes, end_blocks;
    uint64_t allocations, frees, failures;
    uint64_t width_ns;          /* 1: every change has its own span */
    struct mpr_band *band;      /* those of their own first, by largest */
    size_t bands;
    struct mpr_span *span;
    size_t spans;
    struct mpr_band_change *change;
    size_t changes;
};

struct mpr_timeline {
    struct mpr_timeline_options options;
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_heap_line *heap; /* largest peak first */
    size_t heaps;
    const char **thread_name;   /* by number */
    size_t threads;
};

/* 0, or -1 with *error filled (nothing to free then). */
int mpr_timeline_read(struct mpr_timeline *timeline, const char *path, const struct mpr_timeline_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error);
void mpr_timeline_free(struct mpr_timeline *timeline);

#endif
