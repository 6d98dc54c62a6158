/* Accounts by one grouping, summed up from finer ones; and the accounts at several instants.
 *
 * A replay by MPR_GROUP_PLACE keeps an account for each pair of a range path and a site. Both
 * together determine the account of a block by AUTO, RANGE, STACK, PYTHON and LIBRARY. So one
 * replay answers for all of these groupings. A replay by MPR_GROUP_ALL can be projected likewise.
 */
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

enum { MPR_SNAPSHOTS_MAX = 2 };
struct mpr_snapshots {
    struct mpr_snapshot at[MPR_SNAPSHOTS_MAX]; /* in order of time, no two at the same time */
    uint32_t count, taken;
    uint8_t heap;
};

/* Before the first event: the replay, whose options.at is the first snapshot's time, takes all of
 * them. They belong to the caller, who frees them after the replay. */
void mpr_snapshots_begin(struct mpr_snapshots *snapshots, struct mpr_replay *r);
void mpr_snapshots_free(struct mpr_snapshots *snapshots);
/* Called by replay after the chosen instant. Returns true if there is another one. */
bool mpr_snapshots_take(struct mpr_snapshots *snapshots, const struct mpr_replay *r);

/* The own peaks of the cells of a grouping, which are not sums of the replay's: an observer of a
 * replay by MPR_GROUP_PLACE or MPR_GROUP_ALL.  A projection by this grouping takes them from it. */
struct mpr_own_peaks {
    enum mpr_group by;
    struct mpr_own_peaks *next; /* of another grouping, or NULL */
    struct mpr_replay *replay;
    struct mpr_own_peak {
        uint64_t key;
        uint8_t heap;
        uint64_t bytes, peak;
        int64_t more;            /* represented by sampled blocks (estimates.h) */
        uint64_t estimated_peak; /* with these */
    } * at;
    uint32_t count, cap;
    struct mpr_index number; /* of these, by hash of key and heap: + 1 */
    uint32_t *of_cell;       /* by cell of the replay: + 1; 0: unknown yet */
    uint32_t cells;
};

/* Before the first event: observes the replay until its end. */
void mpr_own_peaks_begin(struct mpr_own_peaks *own, struct mpr_replay *r, enum mpr_group by);
void mpr_own_peaks_free(struct mpr_own_peaks *own);
/* A cell of the replay changes; @size: modulo 2^64. */
void mpr_own_peaks_change(struct mpr_own_peaks *own, uint32_t cell, uint64_t size);
/* A sampled block of @size bytes comes into the cell, before it changes, or has left it (0).
 * @more: bytes that it represents beyond its own, negative if it has left. */
void mpr_own_peaks_estimate(struct mpr_own_peaks *own, uint32_t cell, uint64_t size, int64_t more);

/* The accounts of the replay while those of a projection are in their place. */
struct mpr_projection {
    enum mpr_group by;
    struct mpr_index number;
    struct mpr_cell *cell;
    struct mpr_estimate *estimate;
    uint32_t cells, cell_cap, estimates, totals_cell;
    uint32_t *to; /* the projection's cell of each cell of the replay; NULL if the grouping is the
                   * same
                   */
};

/* Replaces the accounts of a finished replay by those of the grouping, until mpr_projection_end.
 * Heaps stay as they are. Own peaks are lower bounds unless mpr_own_peaks observed this grouping.
 * @at: the snapshot that replaces the peak of its heap, or NULL. */
void mpr_projection_begin(struct mpr_projection *p, struct mpr_replay *r, enum mpr_group by,
                          const struct mpr_snapshot *at);
/* Returns true if the estimate of a cell of the replay counts in the projection. */
bool mpr_projection_weighs(const struct mpr_projection *p, const struct mpr_replay *r,
                           uint32_t cell);
void mpr_projection_end(struct mpr_projection *p, struct mpr_replay *r);

#endif
