/* malloc and related functions. Each hook makes the real call, records, and returns the result. A
 * free is recorded before the real free and an allocation after the real allocation, so that no
 * allocation of the same address by another thread is recorded in between. realloc is recorded on
 * both sides, because it is both. */
#include <errno.h>
#include <string.h>

#include "core/counted.h"
#include "core/record.h"
#include "hooks/hook_malloc.h"
#include "real/real.h"

#define HOOK __attribute__((visibility("default")))

__thread struct mp_operator mp_operator;

static MP_COLD void record_failure(int error, size_t bytes)
{
    if (!mp_counted.on || mp_counted.usable) mp_record_fail(MPF_HEAP_HOST, error, bytes);
}

static MP_COLD void *failed(size_t bytes)
{
    record_failure(errno, bytes);
    return NULL;
}

/* These two are inlined into malloc and free, which make no call except the real one. */
static inline __attribute__((always_inline)) void *allocated_here(void *p, size_t bytes)
{
    mp_operator.hooked = true;
    if (__builtin_expect(!p, 0)) return failed(bytes);
    if (__builtin_expect(mp_counted.each, 1))
        return (void *)mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, (uintptr_t)p, bytes);
    return mp_counted_made(p, bytes);
}

static __attribute__((noinline)) void *allocated(void *p, size_t bytes)
{
    return allocated_here(p, bytes);
}

/* glibc stores a block's size and three bits before it, and reads them next. */
static inline size_t bytes_of(const void *p)
{
    return mp_real_frees_libc ? ((const size_t *)p)[-1] : 0;
}

/* In a process that was attached to. */
static MP_COLD void *frees_with_bytes(void *p)
{
    return (void *)mp_record(MPF_OP_FREE, MPF_HEAP_HOST, (uintptr_t)p, mp_counted_block_bytes(p));
}

/* Records the block's end, before the real free. */
static inline __attribute__((always_inline)) void *frees(void *p, bool is_libcs)
{
    if (__builtin_expect(!mp_counted.frees, 0))
        return mp_counted.each ? frees_with_bytes(p) : mp_counted_freed(p);
    const size_t old_bytes = is_libcs ? bytes_of(p) : 0;
    return (void *)mp_record_of(MPF_OP_FREE, MPF_HEAP_HOST, (uintptr_t)p, 0, old_bytes);
}

void mp_allocated(void *p, size_t bytes) { allocated(p, bytes); }

HOOK void *malloc(size_t bytes)
{
    mp_real_ready();
    return allocated_here(mp_real.malloc(bytes), bytes);
}

HOOK void *calloc(size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes)) bytes = SIZE_MAX;
    mp_real_ready();
    return allocated(mp_real.calloc(n, each), bytes);
}

HOOK void free(void *p)
{
    if (!p) return;
    mp_real_ready();
    if (__builtin_expect(p != mp_operator.deleting, 1)) p = frees(p, true);
    else mp_operator.hooked = true;
    mp_real.free(p);
}

static __attribute__((noinline)) void *reallocated(void *p, size_t bytes)
{
    if (!mp_counted.on) mp_counted_slow(0); /* decides whether blocks are counted */
    if (mp_counted.each) return realloc(p, bytes);
    const struct mp_counted_move move = mp_counted_moves(p);
    void *q = mp_real.realloc(p, bytes);
    if (q || !bytes) mp_counted_moved(&move, q, bytes);
    else {
        failed(bytes);
        mp_counted_stays(&move, p);
    }
    return q;
}

HOOK void *realloc(void *p, size_t bytes)
{
    mp_real_ready();
    if (!p) return allocated(mp_real.realloc(p, bytes), bytes);
    if (__builtin_expect(!mp_counted.each, 0)) return reallocated(p, bytes);
    if (__builtin_expect(mp_counted.frees, 1))
        mp_record_of(MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, (uintptr_t)p, 0, bytes_of(p));
    else mp_record(MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, (uintptr_t)p, mp_counted_block_bytes(p));
    void *q = mp_real.realloc(p, bytes);
    if (q) mp_record(MPF_OP_MOVE_END, MPF_HEAP_HOST, (uintptr_t)q, bytes);
    else if (!bytes) mp_record(MPF_OP_MOVE_END, MPF_HEAP_HOST, 0, 0);
    else allocated(NULL, bytes);
    return q;
}

/* Does not call the real one, because that of a C library would call realloc, and so this file's,
 * by name. */
HOOK void *reallocarray(void *p, size_t n, size_t each)
{
    size_t bytes;
    if (!__builtin_mul_overflow(n, each, &bytes)) return realloc(p, bytes);
    errno = ENOMEM;
    return allocated(NULL, SIZE_MAX);
}

HOOK void cfree(void *p) { free(p); }

HOOK void *memalign(size_t alignment, size_t bytes)
{
    mp_real_ready();
    return allocated(mp_real.memalign(alignment, bytes), bytes);
}

HOOK void *aligned_alloc(size_t alignment, size_t bytes)
{
    mp_real_ready();
    const size_t requested = mp_operator.aligned_bytes;
    mp_operator.aligned_bytes = 0;
    return allocated(mp_real.aligned_alloc(alignment, bytes),
                     requested && requested <= bytes && bytes - requested < alignment ? requested
                                                                                      : bytes);
}

HOOK int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    mp_real_ready();
    const int error = mp_real.posix_memalign(out, alignment, bytes);
    if (!error) allocated(*out, bytes);
    else record_failure(error, bytes);
    return error;
}

HOOK void *valloc(size_t bytes)
{
    mp_real_ready();
    return allocated(mp_real.valloc(bytes), bytes);
}

HOOK void *pvalloc(size_t bytes)
{
    mp_real_ready();
    return allocated(mp_real.pvalloc(bytes), bytes);
}

void *mp_begin_free(void *p)
{
    void *const outer = mp_operator.deleting;
    if (p && p != outer) frees(p, false);
    mp_operator.deleting = p;
    return outer;
}

/* glibc's version calls free, and so this file's, by name. */
HOOK void free_sized(void *p, size_t bytes)
{
    mp_real_ready();
    if (!p || !mp_real.free_sized) {
        free(p);
        return;
    }
    void *const outer = mp_begin_free(p);
    mp_real.free_sized(p, bytes);
    mp_operator.deleting = outer;
}

HOOK void free_aligned_sized(void *p, size_t alignment, size_t bytes)
{
    mp_real_ready();
    if (!p || !mp_real.free_aligned_sized) {
        free(p);
        return;
    }
    void *const outer = mp_begin_free(p);
    mp_real.free_aligned_sized(p, alignment, bytes);
    mp_operator.deleting = outer;
}
