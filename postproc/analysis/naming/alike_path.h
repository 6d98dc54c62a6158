/* A line's path without the numbers that count things that are alike: "layers.{0..15} > mlp" and
 * "layers.{16..31} > mlp" of two ranks are one. */
#ifndef MPR_ALIKE_PATH_H
#define MPR_ALIKE_PATH_H

#include <stddef.h>

#include "frame.h"

/* Names joined by " > ", each without its numbers (unnumbered.h) and what numbers were folded to
 * (fold.h); "" for none.  In the arena. */
const char *mpr_alike_path(struct mpr_arena *arena, struct mpr_path path);

#endif
