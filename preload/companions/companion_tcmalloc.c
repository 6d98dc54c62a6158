/* libmemprof-tcmalloc.so: the tc_ API of gperftools' tcmalloc. If tc_new throws, nothing is
 * recorded here. */
#include "companions/companion_hook.h"

MP_COMPANION_ALLOC(tc_malloc, (size_t bytes), (bytes), bytes)
MP_COMPANION_ALLOC(tc_malloc_skip_new_handler, (size_t bytes), (bytes), bytes)
MP_COMPANION_ALLOC(tc_calloc, (size_t n, size_t each), (n, each), mp_companion_product(n, each))
MP_COMPANION_ALLOC(tc_memalign, (size_t alignment, size_t bytes), (alignment, bytes), bytes)
MP_COMPANION_ALLOC(tc_valloc, (size_t bytes), (bytes), bytes)
MP_COMPANION_ALLOC(tc_pvalloc, (size_t bytes), (bytes), bytes)
MP_COMPANION_ALLOC_AT(tc_posix_memalign, (void **out, size_t alignment, size_t bytes),
                      (out, alignment, bytes), out, bytes)
MP_COMPANION_MOVE(tc_realloc, (void *p, size_t bytes), (p, bytes), bytes)
MP_COMPANION_FREE(tc_free, (void *p), (p))
MP_COMPANION_FREE(tc_cfree, (void *p), (p))
MP_COMPANION_FREE(tc_free_sized, (void *p, size_t bytes), (p, bytes))

/* The operators for one object and for an array. */
#define NEW(name)                                                                                  \
    MP_COMPANION_ALLOC(name, (size_t bytes), (bytes), bytes)                                       \
    MP_COMPANION_ALLOC(name##_nothrow, (size_t bytes, const void *tag), (bytes, tag), bytes)       \
    MP_COMPANION_ALLOC(name##_aligned, (size_t bytes, size_t alignment), (bytes, alignment),       \
                       bytes)                                                                      \
    MP_COMPANION_ALLOC(name##_aligned_nothrow, (size_t bytes, size_t alignment, const void *tag),  \
                       (bytes, alignment, tag), bytes)
#define DELETE(name)                                                                               \
    MP_COMPANION_FREE(name, (void *p), (p))                                                        \
    MP_COMPANION_FREE(name##_nothrow, (void *p, const void *tag), (p, tag))                        \
    MP_COMPANION_FREE(name##_sized, (void *p, size_t bytes), (p, bytes))                           \
    MP_COMPANION_FREE(name##_aligned, (void *p, size_t alignment), (p, alignment))                 \
    MP_COMPANION_FREE(name##_aligned_nothrow, (void *p, size_t alignment, const void *tag),        \
                      (p, alignment, tag))                                                         \
    MP_COMPANION_FREE(name##_sized_aligned, (void *p, size_t bytes, size_t alignment),             \
                      (p, bytes, alignment))

NEW(tc_new)
NEW(tc_newarray)
DELETE(tc_delete)
DELETE(tc_deletearray)
