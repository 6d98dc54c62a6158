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
    if (!mp_counted_is_off()) mp_record_fail(MPF_HEAP_HOST, error, bytes);
}

MP_COLD void *mp_allocation_failed(size_t bytes)
{
    record_failure(errno, bytes);
    return NULL;
}

/* These two are inlined into malloc and free, which make no call except the real one. @each: each
 * block is recorded. */
static inline __attribute__((always_inline)) void *made(void *p, size_t bytes, bool each)
{
    mp_operator.hooked = true;
    if (__builtin_expect(!p, 0)) return mp_allocation_failed(bytes);
    if (!each) return mp_counted_made(p, bytes);
    return (void *)mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, (uintptr_t)p, bytes);
}

static __attribute__((noinline)) void *allocated(void *p, size_t bytes)
{
    return made(p, bytes, mp_counted.each);
}

/* glibc stores a block's size and three bits before it, and reads them next. */
static inline size_t bytes_of(const void *p)
{
    return mp_real_frees_libc ? ((const size_t *)p)[-1] : 0;
}

/* Records the block's end, before the real free. */
static inline __attribute__((always_inline)) void *ends(void *p, bool is_libcs, bool each)
{
    if (!each) return mp_counted_freed(p);
    const size_t old_bytes = is_libcs ? bytes_of(p) : 0;
    return (void *)mp_record_of(MPF_OP_FREE, MPF_HEAP_HOST, (uintptr_t)p, 0, old_bytes);
}

void mp_allocated(void *p, size_t bytes) { allocated(p, bytes); }

static size_t product(size_t n, size_t each)
{
    size_t bytes;
    return __builtin_mul_overflow(n, each, &bytes) ? SIZE_MAX : bytes;
}

/* ---- each block is recorded */

static void *malloc_each(size_t bytes) { return made(mp_real.malloc(bytes), bytes, true); }

static void *calloc_each(size_t n, size_t each)
{
    return allocated(mp_real.calloc(n, each), product(n, each));
}

/* Records the end of a realloc, which returned q. */
static void *moved(void *q, size_t bytes)
{
    if (q) mp_record(MPF_OP_MOVE_END, MPF_HEAP_HOST, (uintptr_t)q, bytes);
    else if (!bytes) mp_record(MPF_OP_MOVE_END, MPF_HEAP_HOST, 0, 0);
    else mp_allocation_failed(bytes);
    return q;
}

static void *realloc_each(void *p, size_t bytes)
{
    if (!p) return allocated(mp_real.realloc(p, bytes), bytes);
    mp_record_of(MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, (uintptr_t)p, 0, bytes_of(p));
    return moved(mp_real.realloc(p, bytes), bytes);
}

static void free_each(void *p)
{
    if (!p) return;
    if (__builtin_expect(p != mp_operator.deleting, 1)) p = ends(p, true, true);
    else mp_operator.hooked = true;
    mp_real.free(p);
}

static const struct mp_heap_hooks hooks_each = { malloc_each, calloc_each, realloc_each,
                                                 free_each };

/* ---- the same in a process that was attached to: with the bytes of blocks that end */

static void *end_with_bytes(void *p)
{
    return (void *)mp_record(MPF_OP_FREE, MPF_HEAP_HOST, (uintptr_t)p, mp_counted_block_bytes(p));
}

static void *realloc_attached(void *p, size_t bytes)
{
    if (!p) return allocated(mp_real.realloc(p, bytes), bytes);
    mp_record(MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, (uintptr_t)p, mp_counted_block_bytes(p));
    return moved(mp_real.realloc(p, bytes), bytes);
}

static void free_attached(void *p)
{
    if (!p) return;
    if (__builtin_expect(p != mp_operator.deleting, 1)) p = end_with_bytes(p);
    else mp_operator.hooked = true;
    mp_real.free(p);
}

static const struct mp_heap_hooks hooks_attached = { malloc_each, calloc_each, realloc_attached,
                                                     free_attached };

/* ---- any mode, also before it is known */

static void *malloc_any(size_t bytes)
{
    mp_real_ready();
    return made(mp_real.malloc(bytes), bytes, mp_counted.each);
}

static void *calloc_any(size_t n, size_t each)
{
    mp_real_ready();
    return calloc_each(n, each);
}

static void *realloc_counted(void *p, size_t bytes)
{
    const struct mp_counted_move move = mp_counted_moves(p);
    void *q = mp_real.realloc(p, bytes);
    if (q || !bytes) mp_counted_moved(&move, q, bytes);
    else {
        mp_allocation_failed(bytes);
        mp_counted_stays(&move, p);
    }
    return q;
}

static void *realloc_any(void *p, size_t bytes)
{
    mp_real_ready();
    if (!p) return allocated(mp_real.realloc(p, bytes), bytes);
    if (!mp_counted.on && !mp_counted.each) mp_counted_slow(0); /* decides */
    if (mp_counted.each) return realloc_each(p, bytes);
    if (mp_sampled.live) return mp_hooks_sampled.realloc(p, bytes);
    return realloc_counted(p, bytes);
}

static void free_any(void *p)
{
    if (!p) return;
    mp_real_ready();
    if (__builtin_expect(p != mp_operator.deleting, 1)) p = ends(p, true, mp_counted.each);
    else mp_operator.hooked = true;
    mp_real.free(p);
}

/* ---- the hooks */

#define ANY                                                                                        \
    {                                                                                              \
        malloc_any, calloc_any, realloc_any, free_any                                              \
    }
static const struct mp_heap_hooks hooks_any = ANY;
static struct mp_heap_hooks hooks = ANY;

HOOK void *malloc(size_t bytes) { return hooks.malloc(bytes); }
HOOK void *calloc(size_t n, size_t each) { return hooks.calloc(n, each); }
HOOK void *realloc(void *p, size_t bytes) { return hooks.realloc(p, bytes); }
HOOK void free(void *p) { hooks.free(p); }
HOOK void cfree(void *p) { free(p); }

static void use(const struct mp_heap_hooks *table)
{
    __atomic_store_n(&hooks.malloc, table->malloc, __ATOMIC_RELEASE);
    __atomic_store_n(&hooks.calloc, table->calloc, __ATOMIC_RELEASE);
    __atomic_store_n(&hooks.realloc, table->realloc, __ATOMIC_RELEASE);
    __atomic_store_n(&hooks.free, table->free, __ATOMIC_RELEASE);
}

/* Nothing is decided if the process is not recorded. */
void mp_hooks_choose(void)
{
    struct mp_heap_hooks real = { mp_real.malloc, mp_real.calloc, mp_real.realloc, mp_real.free };
    if (mp_counted.each) use(mp_counted.attached ? &hooks_attached : &hooks_each);
    else if (mp_sampled.live) use(&mp_hooks_sampled);
    else if (mp_sampled.on || !mp_counted.on) {
        if (mp_sampled.on) real.malloc = mp_hooks_sampled.malloc;
        if (mp_sampled.on) real.calloc = mp_hooks_sampled.calloc;
        use(&real);
    } else use(&hooks_any);
}

/* Does not call the real one, because that of a C library would call realloc, and so this file's,
 * by name. */
HOOK void *reallocarray(void *p, size_t n, size_t each)
{
    size_t bytes;
    if (!__builtin_mul_overflow(n, each, &bytes)) return realloc(p, bytes);
    errno = ENOMEM;
    return mp_allocation_failed(SIZE_MAX);
}

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
    if (p && p != outer && mp_counted.each && mp_counted.attached) end_with_bytes(p);
    else if (p && p != outer) ends(p, false, mp_counted.each);
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
