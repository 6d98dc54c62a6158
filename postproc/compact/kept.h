/* Which instants of a log a thinned one keeps whole: by heap, the state after an event, which is
 * told by its number in the log (from 0).
 *
 * Whole for every heap: the heaps' and devices' peaks, failures, the end.  For one heap: its
 * largest state in each bin of time, and in each instance of the range that repeats only its bytes
 * and blocks then (a level).  So what a report says of these instants it says of the thinned log,
 * too, and at no other instant has a heap more there than it had. */
#ifndef MPR_KEPT_H
#define MPR_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "replay.h"

struct mpr_moments { /* numbers of events, in order */
    uint64_t *at;
    size_t count, cap;
};

/* A heap's largest state in a bin of time. */
struct mpr_binned {
    uint64_t bin, after, bytes;
};
struct mpr_bins {
    struct mpr_binned *at;
    size_t count, cap;
};

/* A heap's bytes and blocks after an event are told in the thinned log, not which blocks. */
enum mpr_level_how {
    MPR_LEVEL_TOLD,   /* the event itself tells it: a FOLDED of a log that was thinned before */
    MPR_LEVEL_ACROSS, /* it holds for the next event, too: the range's PUSH or POP */
    MPR_LEVEL_AT,
};
struct mpr_level {
    uint64_t after;
    enum mpr_level_how how;
};
struct mpr_levels_of {
    struct mpr_level *at;
    size_t count, cap;
};

enum { MPR_KEPT_BINS = 4096 }; /* at most */

struct mpr_kept {
    uint64_t events, until, grain; /* in that part of the log; its newest time; a bin's width, ns */
    struct mpr_moments whole[MPR_HEAPS]; /* by heap; of MPF_HEAP_NONE those of any */
    struct mpr_levels_of level[MPR_HEAPS];
    struct mpr_moments instances; /* PUSHes of the range that repeats */
    struct mpr_moments busy;      /* first and last events, in turn, of the spans around those of
                                     `always`, from an instance's beginning to the end of the next:
                                     all of their ranges and of PyTorch's blocks stays, for these
                                     tell what a block is for */
    struct mpr_moments always;    /* what is whole for every heap, whatever the grain */
    struct mpr_bins bins[MPR_HEAPS];
    struct mpr_used_heaps heaps;
};

/* Reads the log up to frame `seq`.  grain: ns, the least width of a bin.  0, or -1 with *error
 * filled. */
int mpr_kept_find(struct mpr_kept *kept, const char *log, uint64_t seq, uint64_t grain,
                  struct mpr_error *error);
/* Each two bins become one.  False: there is but one. */
bool mpr_kept_coarsen(struct mpr_kept *kept);
void mpr_kept_free(struct mpr_kept *kept);

#endif
