/* Lets one thread of a process make a call, through ptrace: stops the threads, chooses one that is
 * at a safe place, writes a signal frame onto its stack and changes its registers, and lets go of
 * all at once. The thread returns from the call as from a signal handler, so it continues where it
 * was stopped, whatever happens to this program.
 *
 * No code of the process is changed, and no breakpoint is set. */
#ifndef MPL_TRACER_H
#define MPL_TRACER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "safe_thread.h"

/* A call function(data, second), where `data` is the address of a copy of these bytes. */
struct mpl_call {
    uintptr_t function;
    const void *data;
    size_t bytes;
    unsigned long second;
};

enum mpl_traced {
    MPL_TRACED_STARTED, /* the thread is about to make the call */
    MPL_TRACED_BUSY,    /* no thread was at a safe place within the time limit */
    MPL_TRACED_STOPPED, /* the process is stopped by a signal */
    MPL_TRACED_REFUSED, /* the kernel refuses it: errno */
    MPL_TRACED_GONE     /* it has ended, or executed another program */
};

/* The process may run on while this waits for a thread at a safe place, for at most @limit_ns. */
enum mpl_traced mpl_trace_call(const struct mpl_safety *s, const struct mpl_call *call,
                               uint64_t limit_ns);

/* The longest time for which a thread was stopped by the last call, ns. */
uint64_t mpl_traced_longest(void);

#endif
