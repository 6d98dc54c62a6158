/* Sampling by bytes: where the next sample is. */
#ifndef MP_DRAW_H
#define MP_DRAW_H

#include <stdint.h>

/* Bytes to the next sample, MP_STACKS_MEAN on average: exponentially distributed, so that each byte
 * has the same chance whatever came before.  *random: the thread's own, 0 at first. */
int32_t mp_draw(uint32_t *random);

#endif
