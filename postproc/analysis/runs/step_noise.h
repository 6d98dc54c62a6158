/* Noise of training steps: the difference of two peaks that the steps of each run also show.
 * Private to verdict*.c. */
#ifndef MPR_STEP_NOISE_H
#define MPR_STEP_NOISE_H

#include <stdbool.h>

#include "breakdown.h"
#include "verdict.h"

/* Returns true if the training steps of each run vary by at least as much as the two peaks differ,
 * and the steps of one run are not larger than those of the other one.
 * @breakdown, @heap: of both runs
 * @spread: the distance between the quartiles of each run's steps, if both have enough of them */
bool mpr_step_noise(struct mpr_arena *arena, const struct mpr_breakdown *const *breakdown,
                    const struct mpr_breakdown_heap *const *heap, struct mpr_sides peak,
                    struct mpr_sides *spread);

#endif
