/* C++ operator new and delete, by their mangled names.
 *
 * The outermost call is one event, however the real operator is made: what a hook of malloc's
 * family recorded inside is not recorded again (hook_malloc.h).  A new that throws passes through
 * here without a record; the malloc that failed inside it has recorded the failure.
 *
 * The real operators may be in a libstdc++ that was dlopen'ed RTLD_LOCAL, which RTLD_NEXT does not
 * see. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/loader.h"
#include "core/counted.h"
#include "hooks/hook_malloc.h"
#include "real/real.h"
#include "real/symbol.h"

#define HOOK __attribute__((visibility("default")))

enum cxx_fn {
#define MP_HOOK(name)
#define MP_HOOK_TORCH(name)
#define MP_HOOK_CXX(name) CXX##name,
#include "real/hooks.def"
#undef MP_HOOK
#undef MP_HOOK_TORCH
#undef MP_HOOK_CXX
    CXX_COUNT
};

static const char *const names[CXX_COUNT] = {
#define MP_HOOK(name)
#define MP_HOOK_TORCH(name)
#define MP_HOOK_CXX(name) #name,
#include "real/hooks.def"
#undef MP_HOOK
#undef MP_HOOK_TORCH
#undef MP_HOOK_CXX
};

typedef void (*any_fn)(void);
static any_fn real[CXX_COUNT];

static any_fn find(const char *name)
{
    static const char *const libraries[] = { "libstdc++.so.6", "libc++.so.1", "libc++abi.so.1" };
    any_fn f = (any_fn)mp_symbol_next(name);
    if (f) return f;
    f = (any_fn)dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !f && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) f = (any_fn)dlsym(library, name);
    }
    mp_loader_forget_error();
    return f;
}

/* Every thread finds the same, so two at once do no harm.  What the loader allocates and frees
 * meanwhile is recorded, for it frees blocks of the program's own calls too (the error that the
 * last one left for dlerror). */
static any_fn get(enum cxx_fn which)
{
    any_fn f = __atomic_load_n(&real[which], __ATOMIC_ACQUIRE);
    if (f) return f;
    const int saved = errno;
    f = find(names[which]);
    errno = saved;
    __atomic_store_n(&real[which], f, __ATOMIC_RELEASE);
    return f;
}

/* Blocks whose size the allocator is asked for must be its own: what another's operator makes may
 * be no block of malloc, and what is one comes by malloc's hook. */
static bool is_left_out(enum cxx_fn which)
{
    return __builtin_expect(mp_counted.on, 0) && !mp_real_in_allocator((const void *)real[which]);
}

static void *made(enum cxx_fn which, void *p, size_t bytes)
{
    mp_operator.aligned_bytes = 0;
    if (!mp_operator.recorded && !is_left_out(which)) mp_allocated(p, bytes);
    return p;
}

/* What `deleting` is to be again. */
static void *begin_delete(enum cxx_fn which, void *p)
{
    return is_left_out(which) ? mp_operator.deleting : mp_begin_free(p);
}

/* NEW(name, parameters, arguments, stand-in, aligned): a program that calls an operator has one,
 * but a C program that loads a C++ library by hand may reach these before any C++ library is there:
 * then malloc serves. */
#define NEW(name, parameters, arguments, otherwise, aligned)                                       \
    HOOK void *name parameters;                                                                    \
    HOOK void *name parameters                                                                     \
    {                                                                                              \
        void *(*f)parameters = (void *(*)parameters)get(CXX##name);                                \
        if (!f) return otherwise;                                                                  \
        mp_operator.recorded = false;                                                              \
        mp_operator.aligned_bytes = aligned ? bytes : 0;                                           \
        return made(CXX##name, f arguments, bytes);                                                \
    }
#define DELETE(name, parameters, arguments)                                                        \
    HOOK void name parameters;                                                                     \
    HOOK void name parameters                                                                      \
    {                                                                                              \
        void(*f) parameters = (void(*) parameters)get(CXX##name);                                  \
        if (!f) {                                                                                  \
            free(p);                                                                               \
            return;                                                                                \
        }                                                                                          \
        void *const outer = begin_delete(CXX##name, p);                                            \
        f arguments;                                                                               \
        mp_operator.deleting = outer;                                                              \
    }

NEW(_Znwm, (size_t bytes), (bytes), malloc(bytes), false)
NEW(_Znam, (size_t bytes), (bytes), malloc(bytes), false)
NEW(_ZnwmRKSt9nothrow_t, (size_t bytes, const void *nothrow), (bytes, nothrow), malloc(bytes),
    false)
NEW(_ZnamRKSt9nothrow_t, (size_t bytes, const void *nothrow), (bytes, nothrow), malloc(bytes),
    false)
NEW(_ZnwmSt11align_val_t, (size_t bytes, size_t alignment), (bytes, alignment),
    aligned_alloc(alignment, bytes), true)
NEW(_ZnamSt11align_val_t, (size_t bytes, size_t alignment), (bytes, alignment),
    aligned_alloc(alignment, bytes), true)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void *nothrow),
    (bytes, alignment, nothrow), aligned_alloc(alignment, bytes), true)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void *nothrow),
    (bytes, alignment, nothrow), aligned_alloc(alignment, bytes), true)

DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t bytes), (p, bytes))
DELETE(_ZdaPvm, (void *p, size_t bytes), (p, bytes))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *nothrow), (p, nothrow))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *nothrow), (p, nothrow))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t alignment), (p, alignment))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t alignment), (p, alignment))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t bytes, size_t alignment), (p, bytes, alignment))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t bytes, size_t alignment), (p, bytes, alignment))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment, const void *nothrow),
       (p, alignment, nothrow))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment, const void *nothrow),
       (p, alignment, nothrow))
