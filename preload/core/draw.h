/* Sampling by bytes: where the next sample is. */
#ifndef MP_DRAW_H
#define MP_DRAW_H

#include <stdint.h>

/* Bytes to the next sample, `mean` on average and at least 1: exponentially distributed, so that
 * each byte has the same chance whatever came before.  *random: the thread's own, 0 at first. */
uint64_t mp_draw(uint32_t *random, uint64_t mean);

#endif
