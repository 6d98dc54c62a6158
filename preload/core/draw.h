/* Sampling by bytes: draws the distance to the next sample. */
#ifndef MP_DRAW_H
#define MP_DRAW_H

#include <stdint.h>

/* Returns the bytes to the next sample, at least 1 and `mean` on average, exponentially
 * distributed: each byte has the same probability, independently of earlier ones; 1 if @mean is 1.
 * @random: the thread's generator, 0 at first. */
uint64_t mp_draw(uint32_t *random, uint64_t mean);

#endif
