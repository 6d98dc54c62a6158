/* malloc and related functions with MEMPROF_HOST=sample. Each function that the program calls most
 * of the time runs a few instructions and jumps to the real function, so the real function returns
 * to the program. sampled.h explains what is recorded. */
#include <errno.h>

#include "base/cold.h"
#include "core/sampled.h"
#include "hooks/hook_malloc.h"
#include "real/real.h"

static void *examined(void *p, size_t bytes)
{
    mp_operator.hooked = true;
    if (!p) return mp_allocation_failed(bytes);
    mp_sampled_examine(p, bytes);
    return p;
}

/* ---- The countdown has ended in this block. */

static MP_COLD void *malloc_examined(size_t bytes)
{
    mp_sampled_take_back(bytes);
    return examined(mp_real.malloc(bytes), bytes);
}

static MP_COLD void *calloc_examined(size_t n, size_t each)
{
    mp_sampled_take_back(n * each);
    return examined(mp_real.calloc(n, each), n * each);
}

static MP_COLD void *calloc_refused(size_t n, size_t each)
{
    void *const p = mp_real.calloc(n, each);
    return p ? p : mp_allocation_failed(SIZE_MAX);
}

static MP_COLD void *realloc_examined(void *p, size_t bytes, bool due)
{
    mp_operator.hooked = true;
    if (due) mp_sampled_take_back(bytes);
    const bool was = mp_sampled_moves(p);
    void *const q = mp_real.realloc(p, bytes);
    if (q || !bytes) {
        mp_sampled_moved(was, q, bytes, due);
        return q;
    }
    mp_allocation_failed(bytes);
    if (was) mp_sampled_stays(p);
    return NULL;
}

/* An operator delete asks whether it calls this hook (hook_cxx.c). */
static MP_COLD void free_examined(void *p)
{
    if (p && p == mp_operator.deleting) mp_operator.hooked = true;
    mp_sampled_freed(p);
    mp_real.free(p);
}

/* ---- any block */

static void *malloc_sampled(size_t bytes)
{
    if (__builtin_expect(mp_sampled_due(bytes), 0)) return malloc_examined(bytes);
    return mp_real.malloc(bytes);
}

static void *calloc_sampled(size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes)) return calloc_refused(n, each);
    if (__builtin_expect(mp_sampled_due(bytes), 0)) return calloc_examined(n, each);
    return mp_real.calloc(n, each);
}

static void *realloc_sampled(void *p, size_t bytes)
{
    const bool due = mp_sampled_due(bytes);
    if (__builtin_expect(due || mp_sampled_may_have(p), 0)) return realloc_examined(p, bytes, due);
    return mp_real.realloc(p, bytes);
}

static void free_sampled(void *p)
{
    if (__builtin_expect(mp_sampled_may_have(p), 0)) free_examined(p);
    else mp_real.free(p);
}

const struct mp_heap_hooks mp_hooks_sampled = { malloc_sampled, calloc_sampled, realloc_sampled,
                                                free_sampled };
