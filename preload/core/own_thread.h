/* Threads of the C library's that memprof makes in the program's process, for libraries that need
 * one. */
#ifndef MP_OWN_THREAD_H
#define MP_OWN_THREAD_H

#include <stdbool.h>

/* Remembers what the kernel allows threads when the recording starts. */
void mp_own_thread_init(void);
/* Starts a detached thread whose signals are those that the calling thread has blocked (sys.h:
 * mp_sys_begin_thread).  Returns false if it cannot be started, or if signals cannot be blocked:
 * the program's handlers would run on its stack. */
bool mp_own_thread(void *(*run)(void *));

#endif
