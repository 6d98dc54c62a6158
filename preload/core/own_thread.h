/* Threads of the C library that memprof creates in the program's process, for libraries that need
 * one. */
#ifndef MP_OWN_THREAD_H
#define MP_OWN_THREAD_H

#include <stdbool.h>

/* Remembers which calls threads may make when the recording starts. */
void mp_own_thread_init(void);
/* Starts a detached thread with the calling thread's blocked signals (sys.h: mp_sys_begin_thread).
 * Returns false if it cannot be started, or if signals cannot be blocked, because the program's
 * handlers would run on its stack. */
bool mp_own_thread(void *(*run)(void *));

#endif
