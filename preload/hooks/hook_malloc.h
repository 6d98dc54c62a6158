/* Between the hooks of operator new and delete and those of malloc and free: an operator may be
 * made with malloc and free (libstdc++), with the allocator's own functions (tcmalloc), or with a
 * mixture (jemalloc's aligned new calls aligned_alloc by name).  These words make one event of a
 * call and what it calls.  They hold nothing that a new that throws, or a signal handler, could
 * leave wrong. */
#ifndef MP_HOOK_MALLOC_H
#define MP_HOOK_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

struct mp_operator {
    void *deleting; /* the operator delete, or sized free, at work has recorded this block's free */
    /* size of the current aligned operator new, which a C++ library rounds up */
    size_t aligned_bytes;
    /* Since this was cleared a hook of malloc's family has recorded what an operator new is to,
     * or that of free has seen what an operator delete has. */
    bool hooked;
};
extern __thread struct mp_operator mp_operator
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Records the free, unless an outer call has; gives back what `deleting` is to be again afterwards.
 */
void *mp_begin_free(void *p);
/* Records what a call for `bytes` gave: a block, or NULL with errno set. */
void mp_allocated(void *p, size_t bytes);

#endif
