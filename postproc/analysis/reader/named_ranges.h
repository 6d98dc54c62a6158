/* Which nodes of the ranges are meant by a name that somebody gave: each is compared once.  Private
 * to this layer. */
#ifndef MPR_NAMED_RANGES_H
#define MPR_NAMED_RANGES_H

#include "repeats.h"

enum { MPR_NAMES_MAX = 2 };

struct mpr_named_ranges {
    struct mpr_repeats *repeats;     /* for names */
    const char *name[MPR_NAMES_MAX]; /* the caller's; NULL: none is meant */
    uint8_t *which;                  /* by node; 0: not compared yet */
    uint32_t nodes;
    bool any; /* there was one */
};

void mpr_named_ranges_begin(struct mpr_named_ranges *named, const char *name, const char *other);
void mpr_named_ranges_free(struct mpr_named_ranges *named);
/* 1: meant by the first name, 2: else by the other one; 0: by neither. */
uint32_t mpr_named_ranges_which(struct mpr_named_ranges *named, const struct mpr_replay *r,
                                uint32_t node);

/* Where no range has the name: "; is step meant?" where one has nearly it, else those that the
 * program opens most often, "; there are: step; forward; ...". */
const char *mpr_named_ranges_hint(const struct mpr_named_ranges *named, struct mpr_arena *arena);

#endif
