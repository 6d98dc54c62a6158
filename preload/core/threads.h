/* A thread of the program gets its record, and chunks as it fills them. */
#ifndef MP_THREADS_H
#define MP_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/thread.h"

/* Gives the calling thread a record and its first chunk; that the log says whose it is (THREAD) is
 * still to be done.  NULL: none can be had (counted as lost). Signals are blocked by the caller. */
struct mp_thread *mp_thread_register(void);
/* The guard that a new thread's record has. */
uint32_t mp_thread_guard(void);
/* Records who the calling thread is (THREAD). */
void mp_thread_tell(struct mp_thread *t);
/* Gives the thread a new chunk in place of the full one.  False: none can be had in time.  Signals
 * blocked. */
bool mp_thread_chunk(struct mp_thread *t);

#endif
