/* Hooks of the companion libraries: one line of a list is one hook.
 *
 * Each line is X(result name, parameters, arguments, ...): the hook makes the real call with the
 * arguments and records its effect, unless the call comes from the allocator itself or from
 * memprof. Such a call is part of an outer one that is recorded at its entry: allocators call their
 * own exported functions by name (mimalloc's memalign calls mi_memalign, jemalloc's operator delete
 * calls sdallocx). There is no state to undo, so functions that throw may be hooked. A hook never
 * jumps to the real function (no tail call), because functions called from there must find the
 * hook's address, not the program's, on the stack. Frees are recorded before the real call,
 * allocations after it. */
#ifndef MP_COMPANION_HOOK_H
#define MP_COMPANION_HOOK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "companions/companion.h"

/* NULL without libmemprof.so in the process: the program runs as if this library were not there. */
#pragma weak memprof_record_alloc
#pragma weak memprof_record_free
#pragma weak memprof_record_move_begin
#pragma weak memprof_record_move_end
#pragma weak memprof_record_fail

/* Returns the next definition of a name and keeps it in *slot. Any thread. */
void *mp_companion_next(void **slot, const char *name);
/* Returns true if a call from the code at this address is recorded: it does not belong to the
 * allocator (which contains `real`), to memprof or to this library. */
bool mp_companion_records(const void *code, const void *real);

static inline size_t mp_companion_product(size_t n, size_t each)
{
    size_t bytes;
    return __builtin_mul_overflow(n, each, &bytes) ? SIZE_MAX : bytes;
}

static inline void mp_companion_allocated(void *p, size_t bytes)
{
    if (p) memprof_record_alloc(p, bytes);
    else memprof_record_fail(bytes);
}

static inline void mp_companion_moved(void *q, size_t bytes)
{
    if (q || !bytes) memprof_record_move_end(q, bytes);
    else memprof_record_fail(bytes);
}

/* Opens the hook of a function; `real` is the next definition of its name, `recorded` whether the
 * call counts. */
#define MP_COMPANION_OPEN(result, name, parameters)                                                \
    __attribute__((visibility("default"))) result name parameters;                                 \
    result name parameters                                                                         \
    {                                                                                              \
        static void *next;                                                                         \
        result(*real) parameters = (result(*) parameters)mp_companion_next(&next, #name);          \
        const bool recorded = mp_companion_records(__builtin_return_address(0), (const void *)real);

/* Hook of a function that allocates a block of `bytes` bytes. */
#define MP_COMPANION_ALLOC(name, parameters, arguments, bytes)                                     \
    MP_COMPANION_OPEN(void *, name, parameters)                                                    \
    void *const q = real arguments;                                                                \
    if (recorded) mp_companion_allocated(q, bytes);                                                \
    return q;                                                                                      \
    }

/* The same with the convention of posix_memalign. */
#define MP_COMPANION_ALLOC_AT(name, parameters, arguments, out, bytes)                             \
    MP_COMPANION_OPEN(int, name, parameters)                                                       \
    const int error = real arguments;                                                              \
    if (!recorded) return error;                                                                   \
    const int before = errno;                                                                      \
    errno = error;                                                                                 \
    mp_companion_allocated(error ? NULL : *out, bytes);                                            \
    errno = before;                                                                                \
    return error;                                                                                  \
    }

/* Hook of a function that frees the block `p`. */
#define MP_COMPANION_FREE(name, parameters, arguments)                                             \
    MP_COMPANION_OPEN(void, name, parameters)                                                      \
    if (recorded && p) memprof_record_free(p);                                                     \
    real arguments;                                                                                \
    }

/* Hook of a function that resizes the block `p` to `bytes` bytes. If it fails, the block is
 * unchanged. */
#define MP_COMPANION_MOVE(name, parameters, arguments, bytes)                                      \
    MP_COMPANION_OPEN(void *, name, parameters)                                                    \
    if (recorded && p) memprof_record_move_begin(p);                                               \
    void *const q = real arguments;                                                                \
    if (recorded && p) mp_companion_moved(q, bytes);                                               \
    else if (recorded) mp_companion_allocated(q, bytes);                                           \
    return q;                                                                                      \
    }

#endif
