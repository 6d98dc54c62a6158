/* The differences between two sides, each of one or more runs: the result of `memprof-report
 * diff`.
 *
 * An account is a sum with rows: a heap at its peak, a device's used bytes, NCCL's
 * communicators, CUDA graphs. The changes of the rows sum to the account's change. A side of
 * several runs is represented by the run with the median sum, so that sums are exact. The other
 * runs show the spread of the side; a change within the spreads is noise. A change of estimates
 * is noise up to twice its standard error. */
#ifndef MPR_DIFF_H
#define MPR_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "frame.h"
#include "index.h"
#include "naming.h"
#include "peaks.h"
#include "retained.h"

struct mpr_error;
struct mpr_role_share;

/* Bytes of a side: in its median run, and the minimum and maximum of its runs. */
struct mpr_spread {
    int64_t min, bytes, max;
};

enum mpr_diff_kind { MPR_DIFF_GREW, MPR_DIFF_SHRANK, MPR_DIFF_NOISE, MPR_DIFF_UNMATCHED };

struct mpr_diff_row {
    enum mpr_diff_kind kind;
    struct mpr_path path; /* path on the newer side, or on the base if the newer side has none */
    const char *caller;   /* as in struct mpr_line */
    struct mpr_spread base, now;
    int64_t change;                       /* now.bytes - base.bytes */
    uint64_t sibling_least, sibling_most; /* as in struct mpr_line, of changes */
    bool estimated;
    double variance; /* of `change`, or 0 if it is exact */
};

/* The rows of an account in one run. */
struct mpr_diff_run {
    struct mpr_diff_entry {
        struct mpr_path path;
        int64_t bytes;
        bool estimated;
        double variance;
    } * entry;
    size_t entries;
    int64_t total;   /* sum of the entries' bytes */
    double variance; /* variance of the total, or 0 if it is exact */
};

enum mpr_diff_subject { MPR_DIFF_DEVICE, MPR_DIFF_HEAP, MPR_DIFF_COMMS, MPR_DIFF_GRAPHS };

/* The total is the first member, so that an account is shown like a row. */
struct mpr_diff_account {
    struct mpr_diff_row total; /* without a path; estimated if the peak of a run is approximate
                                  (struct mpr_heap_peak), or if the account is inside another one */
    enum mpr_diff_subject subject;
    uint8_t number; /* the heap, or the device's number; devices are numbered as in the first run */
    const char *name;         /* for people: "host/heap", "gpu0 NCCL" */
    uint8_t inside;           /* the heap that includes these bytes, or MPF_HEAP_NONE */
    enum mpr_group by;        /* grouping of the rows */
    struct mpr_diff_row *row; /* the changes by kind, largest first; paths are shortened, numbers
                                 are not grouped */
    size_t rows;
    struct mpr_diff_run *run;   /* by run */
    size_t base_run, now_run;   /* the median runs of the sides */
    struct mpr_call_pair *pair; /* rows of all runs by call, from which mpr_diff_rows makes rows */
    size_t pairs;
};

struct mpr_diff {
    struct mpr_peaks peaks;    /* one log for each run, those of the base first; mpr_peaks_finish is
                                  not called */
    size_t base;               /* number of runs of the base */
    struct mpr_graphs *graphs; /* by run */
    struct mpr_retained_samples *retained; /* by run */
    size_t graph_room, retained_room;
    struct mpr_diff_account *account; /* by kind, the largest first */
    size_t accounts, cap;
    struct mpr_diff_devices *devices; /* by run */
    const char *const *note;          /* sentences about devices whose match is not obvious */
    size_t notes;
    bool names_differ; /* the grouping for AUTO differs between runs */
};

/* Initializes a comparison; mpr_diff_add gives each run its instant. */
void mpr_diff_init(struct mpr_diff *diff, const struct mpr_peaks_options *options);
/* Reads one run. All runs of the base must be read first. Returns 0, or -1 with *error filled. */
int mpr_diff_add(struct mpr_diff *diff, bool base, const char *path, struct mpr_instant at,
                 const struct mpr_progress *progress, struct mpr_error *error);
/* Compares the sides. Call it after the last run; each side must have one. Calls are paired by
 * their user frames (user_frame.h), because another build may inline other calls. @user_frames:
 * NULL to pair whole stacks. */
void mpr_diff_finish(struct mpr_diff *diff, struct mpr_user_frames *user_frames);
void mpr_diff_free(struct mpr_diff *diff);

/* Returns an account's changes in the order of account->row, in the arena. @naming: whether
 * numbers are grouped; its user_frames must be those of mpr_diff_finish. */
struct mpr_diff_row *mpr_diff_rows(struct mpr_arena *arena, const struct mpr_diff *diff,
                                   const struct mpr_diff_account *account,
                                   const struct mpr_naming *naming, size_t *rows);

/* Returns the changes of a role's rows like mpr_diff_rows. @share: the role on the base and on
 * the new side, or NULL. All runs of a side have the same. */
struct mpr_diff_row *mpr_diff_role_rows(struct mpr_arena *arena, const struct mpr_diff *diff,
                                        const struct mpr_naming *naming,
                                        const struct mpr_role_share *const *share, size_t *rows);
/* Returns the heap with the run's own number of the device. @heap: with the number of the first
 * run. */
uint8_t mpr_diff_own_heap(const struct mpr_diff *diff, size_t run, uint8_t heap);

/* ---- paired rows
 *
 * Rows of several runs are one pair if their paths have the same stable parts
 * (mpr_frame_stable). A pair has the bytes of each run.
 *
 * Pairs that only one side has are joined if they have the same functions, whatever their source
 * files: first without the caller, then with it. The caller is the last frame of a path ("" if
 * unknown). They are joined only if each side has exactly one such pair. */

struct mpr_call_pair {
    struct mpr_path path; /* path on the newer side, or on the older side if the newer one has none;
                             frames that differ between its runs have only their stable part */
    int64_t *bytes;       /* by run */
    bool estimated;
    double variance; /* sum of the rows' variances */
    const char *const *key, *const *function;
    bool older, newer; /* the side has rows of it */
};

struct mpr_pairs {
    struct mpr_call_pair *pair;
    uint32_t pairs;
    /* private */
    uint32_t cap;
    struct mpr_arena *arena;
    size_t runs, older; /* the older side has the first `older` runs */
    size_t run;         /* path of the rows that are added now */
    const char *program;
    struct mpr_index by_key, by_name;
    struct mpr_pairs_name *name;
    uint32_t names, name_cap;
};

/* The paths and texts of pairs live in the arena. */
void mpr_pairs_begin(struct mpr_pairs *pairs, struct mpr_arena *arena, size_t runs, size_t older);
/* Sets the run of the following rows, and its program (mpr_frame_stable). */
void mpr_pairs_run(struct mpr_pairs *pairs, size_t run, const char *program);
/* Adds a row. Its path must live as long as the arena, and all its frames are of that run. */
void mpr_pairs_add(struct mpr_pairs *pairs, struct mpr_path path, int64_t bytes, bool estimated,
                   double variance);
/* Joins pairs that only one side has. Call it after the last row. */
void mpr_pairs_join(struct mpr_pairs *pairs);
void mpr_pairs_free(struct mpr_pairs *pairs);

#endif
