/* libmemprof-mimalloc.so: mimalloc's mi_ API, without its names for Windows (mi_wcsdup,
 * mi_dupenv_s, ...). If mi_new or a similar function throws, nothing is recorded here. */
#include <string.h>

#include "companions/companion_hook.h"

/* Every allocating function has two forms: one for the thread's heap, and one whose first parameter
 * is a heap of the program. */
#define UNPACK(...) __VA_ARGS__
#define ALLOC(name, parameters, arguments, bytes)                                                  \
    MP_COMPANION_ALLOC(mi_##name, (UNPACK parameters), (UNPACK arguments), bytes)                  \
    MP_COMPANION_ALLOC(mi_heap_##name, (void *heap, UNPACK parameters), (heap, UNPACK arguments),  \
                       bytes)
#define MOVE(name, parameters, arguments, bytes)                                                   \
    MP_COMPANION_MOVE(mi_##name, (UNPACK parameters), (UNPACK arguments), bytes)                   \
    MP_COMPANION_MOVE(mi_heap_##name, (void *heap, UNPACK parameters), (heap, UNPACK arguments),   \
                      bytes)

/* Both mi_malloc and mi_zalloc, with alignment and offset. Arguments: name, leading parameters,
 * arguments, bytes. */
#define ALLOC_ALIGNED(name, parameters, arguments, bytes)                                          \
    ALLOC(name, parameters, arguments, bytes)                                                      \
    ALLOC(name##_aligned, (UNPACK parameters, size_t alignment), (UNPACK arguments, alignment),    \
          bytes)                                                                                   \
    ALLOC(name##_aligned_at, (UNPACK parameters, size_t alignment, size_t offset),                 \
          (UNPACK arguments, alignment, offset), bytes)
#define MOVE_ALIGNED(name, parameters, arguments, bytes)                                           \
    MOVE(name, parameters, arguments, bytes)                                                       \
    MOVE(name##_aligned, (UNPACK parameters, size_t alignment), (UNPACK arguments, alignment),     \
         bytes)                                                                                    \
    MOVE(name##_aligned_at, (UNPACK parameters, size_t alignment, size_t offset),                  \
         (UNPACK arguments, alignment, offset), bytes)

ALLOC_ALIGNED(malloc, (size_t bytes), (bytes), bytes)
ALLOC_ALIGNED(zalloc, (size_t bytes), (bytes), bytes)
ALLOC_ALIGNED(calloc, (size_t n, size_t each), (n, each), mp_companion_product(n, each))
ALLOC(malloc_small, (size_t bytes), (bytes), bytes)
ALLOC(mallocn, (size_t n, size_t each), (n, each), mp_companion_product(n, each))
MP_COMPANION_ALLOC(mi_zalloc_small, (size_t bytes), (bytes), bytes)

MOVE_ALIGNED(realloc, (void *p, size_t bytes), (p, bytes), bytes)
MOVE_ALIGNED(rezalloc, (void *p, size_t bytes), (p, bytes), bytes)
MOVE_ALIGNED(recalloc, (void *p, size_t n, size_t each), (p, n, each),
             mp_companion_product(n, each))
MOVE(reallocn, (void *p, size_t n, size_t each), (p, n, each), mp_companion_product(n, each))
MP_COMPANION_MOVE(mi_reallocarray, (void *p, size_t n, size_t each), (p, n, each),
                  mp_companion_product(n, each))
MP_COMPANION_MOVE(mi_aligned_recalloc, (void *p, size_t n, size_t each, size_t alignment),
                  (p, n, each, alignment), mp_companion_product(n, each))
MP_COMPANION_MOVE(mi_aligned_offset_recalloc,
                  (void *p, size_t n, size_t each, size_t alignment, size_t offset),
                  (p, n, each, alignment, offset), mp_companion_product(n, each))

MP_COMPANION_ALLOC(mi_memalign, (size_t alignment, size_t bytes), (alignment, bytes), bytes)
MP_COMPANION_ALLOC(mi_aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), bytes)
MP_COMPANION_ALLOC(mi_valloc, (size_t bytes), (bytes), bytes)
MP_COMPANION_ALLOC(mi_pvalloc, (size_t bytes), (bytes), bytes)
MP_COMPANION_ALLOC_AT(mi_posix_memalign, (void **out, size_t alignment, size_t bytes),
                      (out, alignment, bytes), out, bytes)

MP_COMPANION_ALLOC(mi_new, (size_t bytes), (bytes), bytes)
MP_COMPANION_ALLOC(mi_new_nothrow, (size_t bytes), (bytes), bytes)
MP_COMPANION_ALLOC(mi_new_aligned, (size_t bytes, size_t alignment), (bytes, alignment), bytes)
MP_COMPANION_ALLOC(mi_new_aligned_nothrow, (size_t bytes, size_t alignment), (bytes, alignment),
                   bytes)
MP_COMPANION_ALLOC(mi_new_n, (size_t n, size_t each), (n, each), mp_companion_product(n, each))
MP_COMPANION_ALLOC(mi_heap_alloc_new, (void *heap, size_t bytes), (heap, bytes), bytes)
MP_COMPANION_ALLOC(mi_heap_alloc_new_n, (void *heap, size_t n, size_t each), (heap, n, each),
                   mp_companion_product(n, each))
MP_COMPANION_MOVE(mi_new_realloc, (void *p, size_t bytes), (p, bytes), bytes)
MP_COMPANION_MOVE(mi_new_reallocn, (void *p, size_t n, size_t each), (p, n, each),
                  mp_companion_product(n, each))

MP_COMPANION_FREE(mi_free, (void *p), (p))
MP_COMPANION_FREE(mi_cfree, (void *p), (p))
MP_COMPANION_FREE(mi_free_size, (void *p, size_t bytes), (p, bytes))
MP_COMPANION_FREE(mi_free_aligned, (void *p, size_t alignment), (p, alignment))
MP_COMPANION_FREE(mi_free_size_aligned, (void *p, size_t bytes, size_t alignment),
                  (p, bytes, alignment))

/* A realloc that frees the block if it fails. */
#define MOVE_OR_FREE(name, parameters, arguments)                                                  \
    MP_COMPANION_OPEN(void *, name, parameters)                                                    \
    if (recorded && p) memprof_record_move_begin(p);                                               \
    void *const q = real arguments;                                                                \
    if (recorded && p) memprof_record_move_end(q, q ? bytes : 0);                                  \
    if (recorded && !(p && q)) mp_companion_allocated(q, bytes);                                   \
    return q;                                                                                      \
    }
MOVE_OR_FREE(mi_reallocf, (void *p, size_t bytes), (p, bytes))
MOVE_OR_FREE(mi_heap_reallocf, (void *heap, void *p, size_t bytes), (heap, p, bytes))

/* Resizes in place or fails. */
MP_COMPANION_OPEN(void *, mi_expand, (void *p, size_t bytes))
void *const q = real(p, bytes);
if (!recorded || !q) return q;
memprof_record_move_begin(p);
memprof_record_move_end(q, bytes);
return q;
}

/* The block is *at. Returns 0, or an error number and leaves the block unchanged. */
MP_COMPANION_OPEN(int, mi_reallocarr, (void *at, size_t n, size_t each))
void *const p = at ? *(void **)at : NULL;
if (recorded && p) memprof_record_move_begin(p);
const int error = real(at, n, each);
void *const q = error ? NULL : *(void **)at;
if (recorded && p) mp_companion_moved(q, mp_companion_product(n, each));
else if (recorded) mp_companion_allocated(q, mp_companion_product(n, each));
return error;
}

/* Copies a string of the program to a new block. A NULL string needs no block. */
#define COPY(name, parameters, arguments)                                                          \
    MP_COMPANION_OPEN(char *, name, parameters)                                                    \
    char *const q = real arguments;                                                                \
    if (recorded && text) mp_companion_allocated(q, q ? strlen(q) + 1 : 0);                        \
    return q;                                                                                      \
    }
COPY(mi_strdup, (const char *text), (text))
COPY(mi_heap_strdup, (void *heap, const char *text), (heap, text))
COPY(mi_strndup, (const char *text, size_t max_bytes), (text, max_bytes))
COPY(mi_heap_strndup, (void *heap, const char *text, size_t max_bytes), (heap, text, max_bytes))

/* If the program gives no buffer, the path is a new block. */
#define REALPATH(name, parameters, arguments)                                                      \
    MP_COMPANION_OPEN(char *, name, parameters)                                                    \
    char *const q = real arguments;                                                                \
    if (recorded && q && !buffer) memprof_record_alloc(q, strlen(q) + 1);                          \
    return q;                                                                                      \
    }
REALPATH(mi_realpath, (const char *path, char *buffer), (path, buffer))
REALPATH(mi_heap_realpath, (void *heap, const char *path, char *buffer), (heap, path, buffer))

/* A heap's blocks outlive it. The real function ends with a jump to mi_free for the heap itself,
 * which must not find the program's address on the stack. */
MP_COMPANION_OPEN(void, mi_heap_delete, (void *heap))
(void)recorded;
real(heap);
}

/* mi_heap_destroy frees a heap's blocks without a call for each. */
struct area;
typedef bool visitor(const void *heap, const struct area *area, void *block, size_t bytes,
                     void *arg);
bool mi_heap_visit_blocks(const void *heap, bool all, visitor *visit, void *arg);
#pragma weak mi_heap_visit_blocks

static bool visit_free(const void *heap, const struct area *area, void *block, size_t bytes,
                       void *arg)
{
    (void)heap, (void)area, (void)bytes, (void)arg;
    if (block) memprof_record_free(block);
    return true;
}

MP_COMPANION_OPEN(void, mi_heap_destroy, (void *heap))
if (recorded && heap && mi_heap_visit_blocks) mi_heap_visit_blocks(heap, true, visit_free, NULL);
real(heap);
}
