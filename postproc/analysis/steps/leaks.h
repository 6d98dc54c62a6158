/* Live blocks at an instant, and growing call sites: the result of `memprof-report leaks`.
 *
 * Growth is measured in each site's bytes at the end of each instance of a repeated range, or every
 * few seconds. history.h decides which sites grow and which levelled off.
 *
 * Bytes are requested bytes; times are ns since the process's start. Everything lives until
 * mpr_leaks_free. */
#ifndef MPR_LEAKS_H
#define MPR_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "frame.h"
#include "lifetimes.h"

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

/* ---- growth of call sites
 *
 * Growth of call sites by their own clock (survivors.h): places whose live bytes are higher at each
 * of their calls than before.  It is found wherever it happens: in a validation that runs now and
 * then, in a request, in a step.  Private to this layer. */

struct mpr_log_peaks;
struct mpr_reader;
struct mpr_survivors;

/* The growing sites of a heap. */
struct mpr_site_growth {
    uint8_t heap;
    struct mpr_path path; /* the site with most of the growth, or the path that most sites share */
    size_t sites;
    uint64_t kept_bytes; /* that the sites' allocations left */
    uint64_t times;      /* allocations of the largest site */
    uint64_t last_ns;    /* of the last allocation */
};

/* Call it after the last event, before a projection: the cells are those that the survivors have
 * seen.  Returns the heaps with growing sites; the array and the paths are in the arena. */
struct mpr_site_growth *mpr_site_growth_find(struct mpr_arena *arena,
                                             const struct mpr_survivors *survivors,
                                             const struct mpr_reader *reader, size_t *count);

/* Returns the growth of the heap, or NULL if it has none that counts.  A device's own blocks are
 * PyTorch's segments if the program uses PyTorch.  Growth of host memory is measured over time
 * (leaks.h). */
const struct mpr_site_growth *mpr_site_growth_of(const struct mpr_site_growth *growth, size_t count,
                                                 const struct mpr_log_peaks *log, uint8_t heap);

/* The site of a heap whose blocks at the heap's peak are mostly freed before its next calls. */
struct mpr_site_temporary {
    uint8_t heap;
    struct mpr_path path;
    uint64_t bytes; /* at the peak, without those that it always has */
    uint64_t all;   /* the same of all such sites of the heap */
    uint64_t times; /* allocations */
    bool estimated; /* from samples */
};
/* Call it after mpr_survivors_settle.  The array and the paths are in the arena. */
struct mpr_site_temporary *mpr_site_temporaries_find(struct mpr_arena *arena,
                                                     const struct mpr_survivors *survivors,
                                                     const struct mpr_reader *reader,
                                                     size_t *count);

/* Sites that needed many times their usual bytes in one use, at the heap's peak: together. */
struct mpr_site_use {
    uint8_t heap;
    bool whole;                      /* it is the whole heap, which has no path */
    struct mpr_path path;            /* of the largest */
    uint64_t uses;                   /* its pulses (survivors.h) */
    uint64_t bytes, second, typical; /* sums of the sites' largest uses, of their second largest
                                        ones, and of the means of all but the largest */
    bool estimated;
};
/* Call it after mpr_survivors_settle.  The array and the paths are in the arena. */
struct mpr_site_use *mpr_site_uses_find(struct mpr_arena *arena,
                                        const struct mpr_survivors *survivors,
                                        const struct mpr_reader *reader, size_t *count);

/* PyTorch's segments that the program gave back to the driver again and again. */
struct mpr_segment_churn {
    uint8_t heap; /* the device's */
    struct mpr_path path;
    uint64_t bytes; /* each time, on average */
    uint64_t times;
};
/* Call it after mpr_survivors_settle.  The array and the paths are in the arena. */
struct mpr_segment_churn *mpr_segment_churn_find(struct mpr_arena *arena,
                                                 const struct mpr_survivors *survivors,
                                                 const struct mpr_reader *reader, size_t *count);

#endif
