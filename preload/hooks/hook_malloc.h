/* Shared by the hooks of operator new and delete and those of malloc and free. An operator may use
 * malloc and free (libstdc++), the allocator's own functions (tcmalloc), or a mixture (jemalloc's
 * aligned new calls aligned_alloc by name). These words make one event of a call and its inner
 * calls. An exception or a signal handler cannot leave them in a wrong state. */
#ifndef MP_HOOK_MALLOC_H
#define MP_HOOK_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

struct mp_operator {
    void *deleting; /* the current operator delete, or sized free, has recorded this block's free */
    /* size of the current aligned operator new, which a C++ library rounds up */
    size_t aligned_bytes;
    /* Set when a hook of malloc's family has recorded the work of an operator new, or when the hook
     * of free was called by an operator delete. */
    bool hooked;
};
extern __thread struct mp_operator mp_operator
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Records the free, unless an outer call has recorded it. Returns the value to restore in
 * `deleting` afterwards. */
void *mp_begin_free(void *p);
/* Records the result of a call for `bytes`: a block, or NULL with errno set. */
void mp_allocated(void *p, size_t bytes);

#endif
