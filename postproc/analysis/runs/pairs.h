/* Rows of several runs, paired: those of one path, as far as it is the same from run to run
 * (matching.h), become one with the bytes of each run.
 *
 * What is left of the sides then is paired by its functions without their source files, and without
 * the caller, which is the last name of a path ("": none is told), where each side has it in one
 * pair only; then in the same way with the caller.  Where several fit nobody guesses. */
#ifndef MPR_PAIRS_H
#define MPR_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "index.h"

struct mpr_pair {
    struct mpr_path path; /* the newer side's, or else the older one's; of a name that varies
                             between its runs the common part */
    int64_t *bytes;       /* by run */
    bool estimated;
    double variance; /* of all that was added */
    const char *const *key, *const *function;
    bool older, newer; /* which sides have it; of the newer one is the path, where it does */
};

struct mpr_pairs {
    struct mpr_pair *pair;
    uint32_t pairs;
    /* private */
    uint32_t cap;
    struct mpr_arena *arena;
    size_t runs, older; /* the first `older` of them are of the older side */
    size_t run;         /* that rows are added of */
    const char *program;
    struct mpr_index by_key, by_name;
    struct mpr_pairs_name *name;
    uint32_t names, name_cap;
};

/* What pairs point to lives in the arena. */
void mpr_pairs_begin(struct mpr_pairs *pairs, struct mpr_arena *arena, size_t runs, size_t older);
/* What is added next is of this run, of a process of that program (matching.h). */
void mpr_pairs_run(struct mpr_pairs *pairs, size_t run, const char *program);
/* The path must live as long as the arena, and its frames are of one run. */
void mpr_pairs_add(struct mpr_pairs *pairs, struct mpr_path path, int64_t bytes, bool estimated,
                   double variance);
/* Pairs what is left, after the last row. */
void mpr_pairs_join(struct mpr_pairs *pairs);
void mpr_pairs_free(struct mpr_pairs *pairs);

#endif
