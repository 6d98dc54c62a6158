/* Finds the nodes of the ranges that have a name given by the user; compares each node once.
 * Private to this layer. */
#ifndef MPR_NAMED_RANGES_H
#define MPR_NAMED_RANGES_H

#include "repeats.h"

enum { MPR_NAMES_MAX = 2 };

struct mpr_named_ranges {
    struct mpr_repeats *repeats;     /* for names */
    const char *name[MPR_NAMES_MAX]; /* owned by the caller, or NULL */
    uint8_t *which;                  /* by node: the result, or 0 if it is not compared yet */
    uint32_t nodes;
    bool any; /* a node had one of the names */
};

void mpr_named_ranges_begin(struct mpr_named_ranges *named, const char *name, const char *other);
void mpr_named_ranges_free(struct mpr_named_ranges *named);
/* Returns 1 if the node has the first name, 2 if it has only the other one, or 0.  For struct
 * mpr_follow; @named: the struct mpr_named_ranges. */
uint32_t mpr_named_ranges_which(void *named, const struct mpr_replay *r, uint32_t node);

/* Returns the hint for a name that no range has: "; did you mean step?" if a range has a similar
 * name, else the ranges with the most instances, "; found: step; forward; ...". */
const char *mpr_named_ranges_hint(const struct mpr_named_ranges *named, struct mpr_arena *arena);

#endif
