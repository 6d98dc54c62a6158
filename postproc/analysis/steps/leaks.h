/* Live blocks at an instant, and growing call sites: the result of `memprof-report leaks`.
 *
 * A site's bytes are compared at the ends of the instances of a repeated range, or every few
 * seconds.  history.h decides which sites grow and which levelled off.
 *
 * Bytes are requested bytes; times are ns since the process's start.  Everything lives until
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
    bool at_end;           /* use the end of the log instead of `at` */
    const char *range;     /* measure growth per instance of this range (instances.h), or of the
                              outermost range that repeats if NULL */
    uint64_t every;        /* ns: measure growth in these intervals, or per instance if 0 */
    const struct mpr_prescan *known; /* results of an earlier reading, or NULL */
};

enum { MPR_LEAKS_LEAST = 6 }; /* instants that growth needs */

/* Ages of the live blocks at the last instant of growth.  MPR_NO_AGE if there are no blocks; for
 * steps also if growth is measured in intervals. */
#define MPR_NO_AGE UINT64_MAX
struct mpr_leaks_age {
    uint64_t oldest_ns, median_ns;       /* half of the blocks are at least as old as the median */
    uint64_t oldest_steps, median_steps; /* instances that ended since their allocation */
};

struct mpr_leaks_row {
    struct mpr_row row;       /* bytes and blocks: the growth */
    struct mpr_ages made;     /* allocation times of its live blocks at the last instant */
    struct mpr_leaks_age age; /* ages of these blocks */
    uint64_t error;           /* standard error of row.bytes, or 0 if it is exact */
    uint64_t samples;         /* growth in sampled blocks, or 0 if the site has other blocks */
};

struct mpr_leaks_rows {
    struct mpr_leaks_row *row; /* the largest first */
    size_t rows;
};

struct mpr_leaks_heap {
    const struct mpr_heap_peak *live;  /* the live blocks at the instant */
    enum mpr_group by;                 /* grouping of the sites below */
    int64_t grown_bytes, grown_blocks; /* growth of the whole heap since the warm-up */
    bool grows;                        /* the whole heap grows, by the rule for sites */
    struct mpr_leaks_rows growing;     /* sites that grow since the warm-up */
    struct mpr_leaks_rows levelled;    /* sites that grew at first, but not in the second half */
    struct mpr_leaks_rows few;         /* sites that may grow, with too few samples to decide */
};

struct mpr_leaks {
    struct mpr_leaks_options options;
    struct mpr_peaks peaks; /* the owners at the instant, with one log */
    struct mpr_arena arena;
    const char *range; /* "" if growth is measured in intervals */
    uint64_t every;    /* ns */
    uint64_t until;    /* ns: no instant of growth is later */
    uint64_t instants; /* ends of instances, or of intervals */
    size_t kept; /* instants in use: growth is unknown if there are fewer than MPR_LEAKS_LEAST */
    uint64_t warm_number, last_number; /* numbers of the instants at the end of the warm-up and of
                                          growth */
    uint64_t warm_ns, last_ns;
    bool is_too_short; /* growth in intervals is unknown, because programs grow at their start */
    const uint64_t *ended; /* ns: ends of the range's instances, up to the last instant in use */
    size_t endings;
    struct mpr_leaks_heap *heap; /* one for each element of peaks.log->heap */
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

/* Returns true if growth is known: 0 or more. */
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

/* A program loads code and data at its start and keeps them.  So growth by the clock is unknown if
 * the instants after the warm-up span less time than this. */
enum { MPR_STARTUP_NS = 500000000 };
/* Returns true if the site imports modules or loads code at its first use.  Such a site grows until
 * all code is loaded. */
bool mpr_startup_loads(const struct mpr_row *row);
/* Removes sites that only load code from the growing ones. */
void mpr_startup_leave_out(struct mpr_leaks_heap *heap);
/* Returns true if growth is by the clock and the run is short, so that the program may still be
 * loading: only a longer run can show whether it is a leak. */
static inline bool mpr_startup_is_short(const struct mpr_leaks *l)
{
    enum { SHORT_SECONDS = 5 };
    return !*l->range && mpr_leaks_steps(l) < SHORT_SECONDS;
}

/* ---- growth of call sites
 *
 * Growth of call sites by their own clocks (survivors.h): sites whose live bytes are higher at each
 * of their calls than at the one before.  This finds growth in code that runs rarely, such as a
 * validation.  Private to this layer. */

struct mpr_log_peaks;
struct mpr_reader;
struct mpr_survivors;

/* The growing sites of a heap. */
struct mpr_site_growth {
    uint8_t heap;
    struct mpr_path path; /* the site with most of the growth, or the outer calls that the sites
                             with most of it share */
    size_t sites;
    uint64_t kept_bytes; /* allocated by the sites and not freed */
    uint64_t times;      /* allocations of the largest site */
    uint64_t last_ns;    /* of the last allocation */
};

/* Returns the heaps with growing sites; the array and the paths are in the arena.  Call it after
 * the last event and before a projection, because the survivors refer to the replay's own cells. */
struct mpr_site_growth *mpr_site_growth_find(struct mpr_arena *arena,
                                             const struct mpr_survivors *survivors,
                                             const struct mpr_reader *reader, size_t *count);

/* Returns the growth of the heap, or NULL if it has none, or less than a twentieth of its peak.
 * NULL for a device's heap if the program uses PyTorch, whose segments it has, and for host memory,
 * whose growth is measured over time. */
const struct mpr_site_growth *mpr_site_growth_of(const struct mpr_site_growth *growth, size_t count,
                                                 const struct mpr_log_peaks *log, uint8_t heap);

/* The largest site of temporaries of a heap: most of its blocks at the heap's peak are freed before
 * its next calls. */
struct mpr_site_temporary {
    uint8_t heap;
    struct mpr_path path;
    uint64_t bytes; /* at the peak, without those that the site holds all the time */
    uint64_t all;   /* the same of all such sites of the heap */
    uint64_t times; /* allocations */
    bool estimated; /* from samples */
};
/* Returns one for each heap that has some, in the arena.  Call it after mpr_survivors_finish. */
struct mpr_site_temporary *mpr_site_temporaries_find(struct mpr_arena *arena,
                                                     const struct mpr_survivors *survivors,
                                                     const struct mpr_reader *reader,
                                                     size_t *count);

/* The sites of a heap of which one use, at the heap's peak, needed many times the usual bytes. */
struct mpr_site_use {
    uint8_t heap;
    bool whole;           /* the whole heap, without a path */
    struct mpr_path path; /* of the largest site */
    uint64_t uses;        /* of that site: its pulses (survivors.h) */
    /* Sums over the sites: of their largest uses, of their second largest ones, and of the means of
     * all except the largest. */
    uint64_t bytes, second, typical;
    bool estimated;
};
/* Returns one for each heap that has some, in the arena.  Call it after mpr_survivors_finish. */
struct mpr_site_use *mpr_site_uses_find(struct mpr_arena *arena,
                                        const struct mpr_survivors *survivors,
                                        const struct mpr_reader *reader, size_t *count);

/* Segments that PyTorch's allocator returned to the driver and allocated again many times. */
struct mpr_segment_churn {
    uint8_t heap; /* the device's */
    struct mpr_path path;
    uint64_t bytes; /* each time, on average */
    uint64_t times;
};
/* Returns one for each heap that has some, in the arena.  Call it after mpr_survivors_finish. */
struct mpr_segment_churn *mpr_segment_churn_find(struct mpr_arena *arena,
                                                 const struct mpr_survivors *survivors,
                                                 const struct mpr_reader *reader, size_t *count);

#endif
