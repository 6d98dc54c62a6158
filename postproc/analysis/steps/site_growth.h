/* Growth of call sites by their own clock (survivors.h): places whose live bytes are higher at each
 * of their calls than before.  It is found wherever it happens: in a validation that runs now and
 * then, in a request, in a step.  Private to this layer. */
#ifndef MPR_SITE_GROWTH_H
#define MPR_SITE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "frame.h"

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
