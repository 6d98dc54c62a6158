/* Accounts by one grouping, summed up from finer ones; and the accounts at several instants.
 *
 * A replay by MPR_GROUP_PLACE has a cell for each pair of a range path and a site.  This pair
 * determines the cell of a block by AUTO, RANGE, STACK, PYTHON and LIBRARY, so one replay is enough
 * for all of these groupings.  A replay by MPR_GROUP_ALL can also be projected. */
#ifndef MPR_PROJECTION_H
#define MPR_PROJECTION_H

#include "replay.h"

/* The state of one heap at an instant, by cell. */
struct mpr_snapshot {
    uint64_t time; /* ns */
    struct mpr_snapshot_cell {
        uint64_t bytes, blocks;
        struct mpr_estimate_state more;
    } * cell;
    uint32_t cells;
};

/* Snapshots that a replay takes in one pass.  The caller sets replay.snapshots before the first
 * event, with the first snapshot's time in options.at, and frees them after the replay. */
enum { MPR_SNAPSHOTS_MAX = 2 };
struct mpr_snapshots {
    struct mpr_snapshot at[MPR_SNAPSHOTS_MAX]; /* in order of time, no two at the same time */
    uint32_t count, taken;
    uint8_t heap;
};

void mpr_snapshots_free(struct mpr_snapshots *snapshots);
/* Called by replay after the selected instant.  Returns true if another one follows. */
bool mpr_snapshots_take(struct mpr_snapshots *snapshots, const struct mpr_replay *r);

/* The own peaks of the cells of a grouping, which are not sums of own peaks of the replay's cells:
 * an observer of a replay by MPR_GROUP_PLACE or MPR_GROUP_ALL, used by a projection to this
 * grouping. */
struct mpr_own_peaks {
    enum mpr_group by;
    struct mpr_own_peaks *next; /* of another grouping, or NULL */
    struct mpr_replay *replay;
    struct mpr_own_peak {
        uint64_t key;
        uint8_t heap;
        uint64_t bytes, peak;
        int64_t more;            /* bytes that sampled blocks represent (estimates.h) */
        uint64_t estimated_peak; /* including `more` */
    } * at;
    uint32_t count, cap;
    struct mpr_index number; /* by hash of key and heap: index + 1 */
    uint32_t *of_cell; /* for each cell of the replay: index + 1, or 0 if it is not known yet */
    uint32_t cells;
};

/* Call before the first event: observes the replay until its end. */
void mpr_own_peaks_begin(struct mpr_own_peaks *own, struct mpr_replay *r, enum mpr_group by);
void mpr_own_peaks_free(struct mpr_own_peaks *own);
/* Called when a cell of the replay changes.  @size: modulo 2^64. */
void mpr_own_peaks_change(struct mpr_own_peaks *own, uint32_t cell, uint64_t size);
/* Called before a sampled block is added to a cell, or after one was removed.
 * @size: of an added block, otherwise 0
 * @more: bytes that the block represents, without itself; negative if it was removed */
void mpr_own_peaks_estimate(struct mpr_own_peaks *own, uint32_t cell, uint64_t size, int64_t more);

/* The replay's own accounts, saved here while those of a projection replace them. */
struct mpr_projection {
    enum mpr_group by;
    struct mpr_index number;
    struct mpr_cell *cell;
    struct mpr_estimate *estimate;
    uint32_t cells, cell_cap, estimates, totals_cell;
    uint32_t *to; /* by cell of the replay: the projection's; NULL if the grouping is the same */
};

/* Replaces the accounts of a finished replay by those of the grouping, until mpr_projection_end.
 * Heaps stay as they are.  Own peaks are lower bounds unless mpr_own_peaks observed this grouping.
 * @at: the snapshot that replaces the peak of its heap, or NULL */
void mpr_projection_begin(struct mpr_projection *p, struct mpr_replay *r, enum mpr_group by,
                          const struct mpr_snapshot *at);
void mpr_projection_end(struct mpr_projection *p, struct mpr_replay *r);
/* Returns true if sampled blocks in a cell by grouping @before represent others by grouping @by.
 * By AUTO a block in a range has the range's name and represents none.  Only the Python stacks of
 * PyTorch's blocks are sampled. */
bool mpr_cell_is_weighed(const struct mpr_replay *r, const struct mpr_cell *cell, enum mpr_group by,
                         enum mpr_group before);

#endif
