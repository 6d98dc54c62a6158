/* Live blocks at an instant, and growing call sites: the result of `memprof-report leaks`.
 *
 * Growth is measured in each site's bytes at the end of each instance of a repeated range, or every
 * few seconds. trend.h decides which sites grow and which levelled off.
 *
 * Bytes are requested bytes; times are ns since the process's start. Everything lives until
 * mpr_leaks_free. */
#ifndef MPR_LEAKS_H
#define MPR_LEAKS_H

#include "lifetimes.h"
#include "site_growth.h"

struct mpr_prescan;

struct mpr_leaks_options {
    enum mpr_group by;
    uint8_t heap;          /* MPF_HEAP_NONE: all */
    struct mpr_instant at; /* the instant of the live blocks; growth also ends there */
    bool at_end;           /* the end of the log replaces it */
    const char *range;     /* growth is measured per instance of this range (instances.h), or of the
                              outermost that repeats if NULL */
    uint64_t every; /* ns: growth is measured in these intervals, or per instance of a range if 0 */
    const struct mpr_prescan *known; /* results of an earlier reading, or NULL */
};

enum { MPR_LEAKS_LEAST = 6 }; /* instants that growth needs */

/* Ages of the live blocks at the last instant of growth; MPR_NO_AGE if there are none, or if growth
 * is measured in intervals. */
#define MPR_NO_AGE UINT64_MAX
struct mpr_leaks_age {
    uint64_t oldest_ns, median_ns;       /* half of the blocks are at least as old as the median */
    uint64_t oldest_steps, median_steps; /* instances that ended since their allocation */
};

struct mpr_leaks_row {
    struct mpr_row row;       /* bytes and blocks: its growth */
    struct mpr_ages made;     /* its live blocks at the last instant */
    struct mpr_leaks_age age; /* ages of these blocks */
    uint64_t error;           /* the standard error of row.bytes, or 0 if that is exact */
    uint64_t samples;         /* growth in blocks if each is a sample, else 0 */
};

struct mpr_leaks_rows {
    struct mpr_leaks_row *row; /* the largest first */
    size_t rows;
};

struct mpr_leaks_heap {
    const struct mpr_heap_peak *live;  /* at the instant */
    enum mpr_group by;                 /* grouping of the sites below */
    int64_t grown_bytes, grown_blocks; /* growth of the whole heap since the warm-up */
    bool grows;                        /* the whole heap grows, by the rule for sites */
    struct mpr_leaks_rows growing;     /* since the warm-up */
    struct mpr_leaks_rows levelled;    /* they grew since the first instant, but not any more */
    struct mpr_leaks_rows few;         /* sites that may grow, with too few samples to decide */
};

struct mpr_leaks {
    struct mpr_leaks_options options;
    struct mpr_peaks peaks; /* the owners at the instant, with one log */
    struct mpr_arena arena;
    const char *range; /* "" if growth is measured in intervals */
    uint64_t every;    /* ns */
    uint64_t until;    /* ns: the last instant of growth is not later */
    uint64_t instants; /* instances that ended, or ticks of the clock */
    size_t kept;       /* instants in use; growth is known if they are at least MPR_LEAKS_LEAST */
    uint64_t warm_number, last_number; /* numbers of the instants at the end of the warm-up and at
                                          the end of growth */
    uint64_t warm_ns, last_ns;
    bool is_too_short; /* in intervals: growth is unknown, because programs grow at their start */
    const uint64_t *ended; /* ns: ends of the range's instances, up to the last one in use */
    size_t endings;
    struct mpr_leaks_heap *heap; /* as peaks.log->heap */
    /* Growth by the clock of each site, until the end of the log.  NULL without call stacks. */
    const struct mpr_site_growth *site_growth;
    size_t site_growths;
};

/* Returns 0, or -1 with *error filled. */
int mpr_leaks_read(struct mpr_leaks *out, const char *path, const struct mpr_leaks_options *options,
                   const struct mpr_progress *progress, struct mpr_error *error);
void mpr_leaks_free(struct mpr_leaks *leaks);
/* Ages of blocks that were live at the last instant. */
struct mpr_leaks_age mpr_leaks_age(const struct mpr_leaks *leaks, const struct mpr_ages *made);

/* Returns true if it is known whether the program grows. */
static inline bool mpr_leaks_has_growth(const struct mpr_leaks *l)
{
    return l->kept >= MPR_LEAKS_LEAST && !l->is_too_short;
}

/* Returns the instances, or seconds, of growth since the warm-up. */
static inline double mpr_leaks_steps(const struct mpr_leaks *l)
{
    return *l->range ? (double)(l->last_number - l->warm_number)
                     : (double)(l->last_ns - l->warm_ns) / 1e9;
}

/* Growth by the clock from the start of a program, which loads code and data and keeps them: it is
 * not judged if the instants after the warm-up span less time than this. */
enum { MPR_STARTUP_NS = 500000000 };
/* Returns true if the site imports modules or loads code when it is first used.  Such a site grows
 * until all code is loaded. */
bool mpr_startup_loads(const struct mpr_row *row);
/* Removes the sites that only load, so that they do not count as growing. */
void mpr_startup_leave_out(struct mpr_leaks_heap *heap);
/* Returns true if growth is by the clock and of a short run, which may still be loading: only a
 * longer run can show that it is a leak. */
static inline bool mpr_startup_is_short(const struct mpr_leaks *l)
{
    enum { SHORT_SECONDS = 5 };
    return !*l->range && mpr_leaks_steps(l) < SHORT_SECONDS;
}

#endif
