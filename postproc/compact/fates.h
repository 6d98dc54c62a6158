/* Which events of a log a thinned one is without, and what these were.
 *
 * A block goes, with its allocation, its free and where these happened, if it was live at no
 * instant that is kept whole (kept.h); a range if nothing that stays happened in it; samples of the
 * kernel if they are neither the largest of a while nor the nearest ones to such an instant. */
#ifndef MPR_FATES_H
#define MPR_FATES_H

#include <stdbool.h>

#include "kept.h"

/* Of the blocks of a heap that went. */
struct mpr_gone {
    int64_t *bytes, *blocks; /* by level: live at it, more than at the level before */
    uint64_t allocations, frees;
};

struct mpr_fates {
    uint64_t *gone;   /* a bit an event */
    uint64_t removed; /* events */
    struct mpr_gone of[MPR_HEAPS];
};

static inline bool mpr_fates_gone(const struct mpr_fates *f, uint64_t event)
{
    return f->gone[event / 64] >> event % 64 & 1;
}

/* Reads the same part of the log as mpr_kept_find did.  0, or -1 with *error filled. */
int mpr_fates_find(struct mpr_fates *fates, const struct mpr_kept *kept, const char *log,
                   uint64_t seq, struct mpr_error *error);
void mpr_fates_free(struct mpr_fates *fates);

#endif
