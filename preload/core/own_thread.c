#include "core/own_thread.h"

#include <pthread.h>

#include "base/sys.h"

#ifndef SYS_rseq
#define SYS_rseq 334
#endif

/* A new thread of the C library ends the process where a filter that the program set on itself
 * (seccomp) refuses it the rseq call, which the first thread had made before.  What a filter
 * refuses besides is an error, and no harm. */
static long at_start;

/* Wrong flags: it does nothing */
static long try_rseq(void) { return mp_sys6(SYS_rseq, 0, 0, -1, 0, 0, 0); }

void mp_own_thread_init(void) { at_start = try_rseq(); }

bool mp_own_thread(void *(*run)(void *), void *arg, size_t stack)
{
    pthread_attr_t attr;
    pthread_t thread;
    const bool runs_handlers = mp_sys_signals_come && stack;
    if (runs_handlers || try_rseq() != at_start || pthread_attr_init(&attr) != 0) return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (stack) pthread_attr_setstacksize(&attr, stack);
    const bool ok = pthread_create(&thread, &attr, run, arg) == 0;
    pthread_attr_destroy(&attr);
    return ok;
}
