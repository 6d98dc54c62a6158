/* Samples of jemalloc's statistics, if jemalloc serves malloc. */
#ifndef MP_JEMALLOC_H
#define MP_JEMALLOC_H

#include "real/real.h"

/* Records a sample if the last one is at least 90 ms old. Samples take at most 0.2 % of the time.
 * Called after an allocation of the program, when the thread holds no lock of jemalloc. */
void mp_jemalloc_read(void);
/* Returns the bytes of the program's blocks, or MPF_UNKNOWN. In the same context; needs jemalloc.
 */
uint64_t mp_jemalloc_allocated(void);
static inline void mp_jemalloc_sample(void)
{
    if (__builtin_expect(mp_real_mallctl != NULL, 0)) mp_jemalloc_read();
}

#endif
