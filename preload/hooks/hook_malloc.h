/* Shared by the hooks of operator new and delete and those of malloc and free. An operator may use
 * malloc and free (libstdc++), the allocator's own functions (tcmalloc), or a mixture (jemalloc's
 * aligned new calls aligned_alloc by name). These words make one event of a call and its inner
 * calls. An exception or a signal handler cannot leave them in a wrong state. */
#ifndef MP_HOOK_MALLOC_H
#define MP_HOOK_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

struct mp_operator {
    /* the current operator delete, sized free, or realloc of a companion library has recorded this
     * block's end */
    void *deleting;
    /* size of the current aligned operator new, which a C++ library rounds up */
    size_t aligned_bytes;
    /* Set when a hook of malloc's family has recorded the work of an operator new, or when the hook
     * of free was called by an operator delete. */
    bool hooked;
    bool moving; /* companion.c: the block on record `deleting` is being reallocated */
};
extern __thread struct mp_operator mp_operator
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* The functions that the hooks of the four most frequent calls jump to. One table is chosen when
 * the mode is known (MEMPROF_HOST), so no call tests the mode. Until then a table is used whose
 * functions work in every mode. A call may find functions of both tables, because each of them
 * works with each of the other one. */
struct mp_heap_hooks {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t n, size_t each);
    void *(*realloc)(void *p, size_t bytes);
    void (*free)(void *p);
};
/* Chooses the table, when it is decided which blocks are recorded, or that the process is not
 * recorded. */
void mp_hooks_choose(void);
/* The table of MEMPROF_HOST=sample. malloc and calloc also serve `off`. */
extern const struct mp_heap_hooks mp_hooks_sampled __attribute__((visibility("hidden")));

/* Records the failure of a call for `bytes`; errno is its reason. Returns NULL. */
void *mp_allocation_failed(size_t bytes);
/* Records the free, unless an outer call has recorded it. Returns the value to restore in
 * `deleting` afterwards. */
void *mp_begin_free(void *p);
/* Records the result of a call for `bytes`: a block, or NULL with errno set. */
void mp_allocated(void *p, size_t bytes);

#endif
