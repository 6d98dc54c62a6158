/* The records of the program's threads. */
#ifndef MP_THREADS_H
#define MP_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/record.h"

/* Gives the calling thread a record and its first chunk, and records THREAD.  NULL: none can be had (counted as lost).
 * Signals are blocked by the caller. */
struct mp_thread *mp_thread_register(void);
/* Records who the calling thread is (THREAD). */
void mp_thread_tell(struct mp_thread *t);
/* Gives the thread a new chunk in place of the full one.  False: none can be had in time.  Signals blocked. */
bool mp_thread_chunk(struct mp_thread *t);
/* The calling thread records nothing from now on: memprof's own. */
void mp_thread_own(void);
bool mp_thread_is_own(void);
/* Records ever in use: those behind them are empty. */
uint32_t mp_threads_ever(void);
/* Records in use, about: of threads that live, and of those that are gone and not taken back yet. */
uint32_t mp_thread_records(void);
/* Takes back the record of a thread that is gone and has nothing left to drain.  The encoder's. */
void mp_thread_reclaim(struct mp_thread *t);

#endif
