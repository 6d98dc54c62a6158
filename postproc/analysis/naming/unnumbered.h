/* A name without the numbers that count things that are alike (places.h). */
#ifndef MPR_UNNUMBERED_H
#define MPR_UNNUMBERED_H

#include "arena.h"

/* "step 7", "step:7" -> "step"; "h[7].mlp" -> "h[{n}].mlp"; in the arena, or the name itself. */
const char *mpr_unnumbered(struct mpr_arena *arena, const char *name);

#endif
