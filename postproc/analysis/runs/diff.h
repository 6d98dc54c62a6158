/* What two sides differ by, each of one run or of several: the result behind `memprof-report diff`.
 *
 * An account is what has a sum: a heap at its peak, a device's used bytes, NCCL's communicators,
 * CUDA graphs.  The changes of its rows sum to its own.  Of a side with several runs, the one whose
 * sum is the median stands for the side, so that sums stay exact; the others say how far such runs
 * lie apart, and what two sides need not differ by is noise.  So is a change of estimates that is
 * no more than twice its standard error. */
#ifndef MPR_DIFF_H
#define MPR_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "naming.h"
#include "peaks.h"

struct mpr_error;

/* Bytes of a side: of the run that stands for it, and of its runs' smallest and largest. */
struct mpr_spread {
    int64_t least, is, most;
};

enum mpr_diff_kind { MPR_DIFF_GREW, MPR_DIFF_SHRANK, MPR_DIFF_NOISE, MPR_DIFF_UNMATCHED };

struct mpr_diff_row {
    enum mpr_diff_kind kind;
    struct mpr_path path; /* the newer side's, or else the base's */
    const char *caller;   /* as a line's */
    struct mpr_spread base, now;
    int64_t change;                       /* now.is - base.is */
    uint64_t sibling_least, sibling_most; /* as a line's, of changes */
    bool estimated;
    double variance; /* of change, where samples tell it */
};

enum mpr_diff_of { MPR_DIFF_DEVICE, MPR_DIFF_HEAP, MPR_DIFF_COMMS, MPR_DIFF_GRAPHS };

struct mpr_diff_account {
    enum mpr_diff_of of;
    uint8_t which; /* the heap, or the device's number; devices are numbered as in the first run */
    const char *name;  /* for people: a heap's name, "gpu0 NCCL" */
    uint8_t inside;    /* the heap whose bytes these are a part of; MPF_HEAP_NONE */
    bool is_about;     /* a run's peak may be another (struct mpr_heap_peak) */
    enum mpr_group by; /* of its rows */
    struct mpr_spread base, now;
    int64_t change;
    double variance; /* of change, as a row's */
    bool noise;
    struct mpr_diff_row *row; /* what changed, told, not folded: by kind, the largest change first
                               */
    size_t rows;
    struct mpr_diff_run *run; /* what rows are made of */
    size_t base_run, now_run; /* that stand for the sides */
};

struct mpr_diff {
    struct mpr_peaks peaks; /* one log a run, in the order of their reading: the base's come first;
                               not finished */
    size_t base;            /* of the runs */
    struct mpr_graphs *graphs; /* by run */
    size_t graph_room;
    struct mpr_peaks_guest guest;     /* that reads them */
    struct mpr_diff_account *account; /* by what they are of, the largest first */
    size_t accounts, cap;
    struct mpr_diff_devices *devices; /* by run */
    const char *const *note; /* which devices were taken for one, where that is not plain */
    size_t notes;
    bool names_differ; /* what AUTO stands for is not the same in all runs */
};

/* at: of each run its own (mpr_diff_add). */
void mpr_diff_init(struct mpr_diff *diff, const struct mpr_peaks_options *options);
/* Reads one run, of the base or, after all of those, of the other side.  0, or -1 with *error
 * filled. */
int mpr_diff_add(struct mpr_diff *diff, bool base, const char *path, struct mpr_instant at,
                 const struct mpr_progress *progress, struct mpr_error *error);
/* After the last run; each side has one.  Calls are matched as they are told (telling.h; NULL: by
 * whole stacks): a build may inline otherwise what stands between. */
void mpr_diff_finish(struct mpr_diff *diff, struct mpr_telling *telling);
void mpr_diff_free(struct mpr_diff *diff);

/* An account's changes, in the order of account->row; in the arena. */
struct mpr_diff_row *mpr_diff_rows(struct mpr_arena *arena, const struct mpr_diff *diff,
                                   const struct mpr_diff_account *account,
                                   const struct mpr_naming *naming, size_t *rows);

#endif
