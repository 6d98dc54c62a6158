/* Threads of memprof's own in the program's process: the one place where they are made. */
#ifndef MP_OWN_THREAD_H
#define MP_OWN_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* When the recording starts. */
void mp_own_thread_init(void);
/* Starts a detached thread with a stack of so many bytes (0: what the program's have), which does
 * not know the program's signals (sys.h: mp_sys_begin_thread): those of the calling thread are
 * blocked.  Where they cannot be the program's handlers would run there, and only a stack like its
 * own is made.  False: there may be none. */
bool mp_own_thread(void *(*run)(void *), void *arg, size_t stack);

#endif
