/* What lives at an instant, and what grows: the result behind `memprof-report leaks`.
 *
 * Growth is what each site held at the end of each instance of a repeated range, or each so many
 * seconds: which of them grow, and which levelled off, is in trend.h.
 *
 * Bytes are requested bytes; times are ns since the process's start.  Everything lives until
 * mpr_leaks_free. */
#ifndef MPR_LEAKS_H
#define MPR_LEAKS_H

#include "ages.h"
#include "peaks.h"

struct mpr_first_look;

struct mpr_leaks_options {
    enum mpr_group by;
    uint8_t heap;          /* only this one; MPF_HEAP_NONE: all */
    struct mpr_instant at; /* whose live blocks are wanted; growth ends then, too */
    bool at_end;           /* when the log ends, instead */
    const char *range; /* whose instances growth is told by (instances.h); NULL: the outermost that
                          repeats */
    uint64_t every;    /* ns: growth is told by this; 0: by a range */
    const struct mpr_first_look *known; /* by whom the log was read before; NULL: by nobody */
};

enum { MPR_LEAKS_LEAST = 6 }; /* instants, to tell growth by */

/* Ages at the last instant of growth of the blocks that lived then; MPR_NO_AGE: there are none, or
 * growth is by the clock. */
#define MPR_NO_AGE UINT64_MAX
struct mpr_leaks_age {
    uint64_t oldest_ns, median_ns;       /* half of the blocks are at least as old as the median */
    uint64_t oldest_steps, median_steps; /* instances that ended since they were made */
};

struct mpr_leaks_row {
    struct mpr_row row;       /* bytes and blocks: by which it grew */
    struct mpr_ages made;     /* its blocks that lived at the last instant */
    struct mpr_leaks_age age; /* theirs */
    uint64_t error;           /* the standard error of row.bytes; 0: that is exact */
};

struct mpr_leaks_heap {
    const struct mpr_heap_peak *live;  /* at the instant */
    enum mpr_group by;                 /* what grows and levelled off is told by */
    int64_t grown_bytes, grown_blocks; /* since the warm-up: the whole heap */
    bool grows;                        /* the whole of it, as a site does */
    struct mpr_leaks_row *growing;     /* since the warm-up, the largest first */
    size_t growings;
    struct mpr_leaks_row *levelled; /* since the first instant, before */
    size_t levelleds;
    struct mpr_leaks_row *few; /* those that may grow: too few samples tell */
    size_t fews;
};

struct mpr_leaks {
    struct mpr_leaks_options options;
    struct mpr_peaks peaks; /* of the one log, at the instant */
    struct mpr_arena arena;
    const char *range; /* "": by the clock */
    uint64_t every;    /* ns */
    uint64_t until;    /* ns: growth is told by instants until then */
    uint64_t instants; /* instances that ended, or ticks of the clock */
    size_t kept;       /* of these; growth is known where they are MPR_LEAKS_LEAST or more */
    uint64_t warm_number, last_number; /* which of the instants ended the warm-up, and was the last
                                          one kept */
    uint64_t warm_ns, last_ns;
    bool is_too_short;     /* by the clock: then growth is not known, because programs grow as they
                              start */
    const uint64_t *ended; /* ns: when instances of the range did, up to the last one kept */
    size_t endings;
    struct mpr_leaks_heap *heap; /* as peaks.log->heap */
    struct mpr_leaks *calls;     /* the same by call stacks, whose rows some heaps have; NULL: they
                                    were not asked */
};

/* 0, or -1 with *error filled. */
int mpr_leaks_read(struct mpr_leaks *out, const char *path, const struct mpr_leaks_options *options,
                   const struct mpr_progress *progress, struct mpr_error *error);
void mpr_leaks_free(struct mpr_leaks *leaks);
/* Of blocks that lived at the last instant. */
struct mpr_leaks_age mpr_leaks_age(const struct mpr_leaks *leaks, const struct mpr_ages *made);

/* What growth is counted by: the instances, or the seconds, since the warm-up. */
static inline double mpr_leaks_steps(const struct mpr_leaks *l)
{
    return *l->range ? (double)(l->last_number - l->warm_number)
                     : (double)(l->last_ns - l->warm_ns) / 1e9;
}

#endif
