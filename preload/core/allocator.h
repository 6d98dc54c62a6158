/* Samples of the allocator's own figures: jemalloc's statistics, and with MEMPROF_HOST=sample,
 * whose sums of blocks are estimates, the bytes in use of glibc, tcmalloc and mimalloc. */
#ifndef MP_ALLOCATOR_H
#define MP_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/state.h"

extern bool mp_allocator_answers; /* there are figures to sample */

/* Finds the allocator's functions. Called when the mode is known. */
void mp_allocator_init(void);
/* Records a sample if the last one is at least 90 ms old. Samples take at most 0.2 % of the time.
 * The functions take the allocator's locks and use thread-local storage. So this is called after an
 * allocation of the program, when the thread holds none of these locks. */
void mp_allocator_read(void);
/* Returns the bytes of the program's blocks, with the heads of glibc's, or MPF_UNKNOWN: only glibc
 * and jemalloc are asked. In the same context. */
uint64_t mp_allocator_in_use(void);
static inline void mp_allocator_sample(void)
{
    if (__builtin_expect(mp_allocator_answers, 0)) mp_allocator_read();
}

#endif
