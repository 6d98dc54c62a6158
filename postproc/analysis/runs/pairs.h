/* Rows of several runs, paired: rows of one path, as far as it stays the same from run to run
 * (mpr_frame_stable), become one pair with the bytes of each run.
 *
 * Pairs that only one side has are joined if they have the same functions without source files,
 * first without and then with the caller, which is the last frame of a path ("" if it is unknown).
 * They are joined only if each side has exactly one such pair. */
#ifndef MPR_PAIRS_H
#define MPR_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "index.h"

struct mpr_pair {
    struct mpr_path path; /* the newer side's, or else the older one's; the common part of frames
                             that vary between its runs */
    int64_t *bytes;       /* by run */
    bool estimated;
    double variance; /* sum of the rows' */
    const char *const *key, *const *function;
    bool older, newer; /* it has rows of that side */
};

struct mpr_pairs {
    struct mpr_pair *pair;
    uint32_t pairs;
    /* private */
    uint32_t cap;
    struct mpr_arena *arena;
    size_t runs, older; /* the first `older` runs are the older side */
    size_t run;         /* the run of the rows that are added */
    const char *program;
    struct mpr_index by_key, by_name;
    struct mpr_pairs_name *name;
    uint32_t names, name_cap;
};

/* Paths and texts of pairs live in the arena. */
void mpr_pairs_begin(struct mpr_pairs *pairs, struct mpr_arena *arena, size_t runs, size_t older);
/* Sets the run of the rows that follow, and its program (mpr_frame_stable). */
void mpr_pairs_run(struct mpr_pairs *pairs, size_t run, const char *program);
/* Adds a row.  The path must live as long as the arena; its frames are of one run. */
void mpr_pairs_add(struct mpr_pairs *pairs, struct mpr_path path, int64_t bytes, bool estimated,
                   double variance);
/* Joins the pairs that only one side has.  Call it after the last row. */
void mpr_pairs_join(struct mpr_pairs *pairs);
void mpr_pairs_free(struct mpr_pairs *pairs);

#endif
