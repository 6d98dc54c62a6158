/* A name without the numbers that count things that are alike (places.h). */
#ifndef MPR_UNNUMBERED_H
#define MPR_UNNUMBERED_H

#include "frame.h"

/* "step 7", "step:7" -> "step"; "h[7].mlp" -> "h[{n}].mlp"; in the arena, or the name itself. */
const char *mpr_unnumbered(struct mpr_arena *arena, const char *name);
/* The frame without them; of a module's path "layers.3" -> "layers.{n}". */
const struct mpr_frame *mpr_unnumbered_frame(struct mpr_arena *arena,
                                             const struct mpr_frame *frame);
/* "layers.{0..15} > mlp" and "layers.{16..31} > mlp" of two ranks are alike: the frames' texts
 * without numbers and without what numbers were folded to (fold.h), joined by " > ". */
const char *mpr_alike_path(struct mpr_arena *arena, struct mpr_path path);

#endif
