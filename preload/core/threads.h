/* Gives a thread of the program its record, and chunks when it has filled one. */
#ifndef MP_THREADS_H
#define MP_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/thread.h"

/* Gives the calling thread a record and its first chunk. The caller must still record who the
 * thread is (THREAD). Returns NULL if none is available (counted as lost). Signals must be
 * blocked. */
struct mp_thread *mp_thread_register(void);
/* Returns the guard of a new thread's record. */
uint32_t mp_thread_guard(void);
/* Records the calling thread's identity (THREAD). */
void mp_thread_tell(struct mp_thread *t);
/* Gives the thread a new chunk instead of the full one. Returns false if none is available in time.
 * Signals must be blocked. */
bool mp_thread_chunk(struct mp_thread *t);

#endif
