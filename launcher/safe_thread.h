/* Decides whether a stopped thread may be interrupted for a call of dlopen. The call takes the
 * locks of the loader and of the allocator, which are not for signal handlers: a thread that holds
 * one of them would wait for itself. */
#ifndef MPL_SAFE_THREAD_H
#define MPL_SAFE_THREAD_H

#include <stdbool.h>
#include <sys/user.h>

#include "remote.h"

enum { MPL_LOADER_LOCKS = 3, MPL_RANGES = 128 };

struct mpl_ranges {
    struct mpl_range range[MPL_RANGES];
    size_t count;
};

/* Facts about the C library of a process, found before its threads are stopped. */
struct mpl_safety {
    const struct mpl_remote *process;
    uintptr_t lock[MPL_LOADER_LOCKS]; /* the loader's recursive mutexes; 0 if there are fewer */
    /* The code that kernel signal frames return to; 0 if it was not found. */
    uintptr_t restorer;
    struct mpl_ranges holders; /* functions of libc that may hold a lock which dlopen needs */
    struct mpl_ranges waiters; /* functions of libc that wait for the program and hold none */
};

/* Returns false if the process's C library or loader is unknown in this respect. */
bool mpl_safety_find(struct mpl_safety *s, const struct mpl_remote *process);

/* Returns true if the thread is at a safe place: in a system call that waits, or in code outside of
 * libc, the loader and the allocator, and no caller is in them except functions that are known to
 * hold no lock. Callers are found up to the thread's first function; if one cannot be found, the
 * thread is not safe. */
bool mpl_is_safe(const struct mpl_safety *s, const struct user_regs_struct *regs);

#endif
