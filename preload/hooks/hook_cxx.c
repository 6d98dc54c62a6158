/* C++ operator new and delete, by their mangled names.
 *
 * The outermost call is one event, however the real operator is implemented: an event that a hook
 * of malloc's family recorded inside is not recorded again (hook_malloc.h). A new that throws
 * is not recorded here, because the malloc that failed inside it has recorded the failure.
 *
 * The operators of a C++ library only call malloc and free by name. Once this was observed, calls
 * of the operator are forwarded, and the inner hooks record. The exception is an aligned new, whose
 * size the library rounds up.
 *
 * The real operators may be in a libstdc++ that was opened with dlopen as RTLD_LOCAL, which
 * RTLD_NEXT does not search. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/cold.h"
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
static struct {
    any_fn real;
    bool is_runtimes; /* of a C++ library: only calls malloc or free by name */
    bool passes;      /* and the hook of these was called, or the operator is left out */
} operators[CXX_COUNT];

/* Searches libraries that were loaded later. Takes the loader's lock. */
static any_fn find_later(const char *name, const char **object)
{
    static const char *const libraries[] = { "libstdc++.so.6", "libc++.so.1", "libc++abi.so.1" };
    const void *base;
    any_fn f = (any_fn)dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !f && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) f = (any_fn)dlsym(library, name);
    }
    mp_loader_forget_error();
    mp_real_object_of((const void *)f, object, &base);
    return f;
}

static any_fn find(const char *name, const char **object)
{
    any_fn f = (any_fn)mp_symbol_next(name);
    if (!f) return find_later(name, object);
    *object = mp_symbol_next_object(name);
    return f;
}

static bool is_runtime(const char *object)
{
    return strncmp(object, "libstdc++.so", 12) == 0 || strncmp(object, "libc++.so", 9) == 0 ||
           strncmp(object, "libc++abi.so", 12) == 0;
}

/* Every thread finds the same function, so a race is harmless. Allocations and frees of the loader
 * meanwhile are recorded, because it also frees blocks of the program's calls (the last error for
 * dlerror). */
static MP_COLD any_fn found(enum cxx_fn which)
{
    const int saved = errno;
    const char *object = "";
    const any_fn f = find(names[which], &object);
    __atomic_store_n(&operators[which].is_runtimes, f && is_runtime(object), __ATOMIC_RELAXED);
    __atomic_store_n(&operators[which].real, f, __ATOMIC_RELEASE);
    errno = saved;
    return f;
}

static any_fn real_operator(enum cxx_fn which)
{
    const any_fn f = __atomic_load_n(&operators[which].real, __ATOMIC_ACQUIRE);
    return __builtin_expect(f != NULL, 1) ? f : found(which);
}

/* Returns true if the real operator only has to be called. */
static bool is_passed_on(enum cxx_fn which)
{
    return __builtin_expect(__atomic_load_n(&operators[which].passes, __ATOMIC_ACQUIRE), 1);
}
static void pass_from_now(enum cxx_fn which)
{
    __atomic_store_n(&operators[which].passes, true, __ATOMIC_RELEASE);
}

/* Marks an operator of a C++ library that calls hooks. A library that binds its names itself
 * (RTLD_DEEPBIND) does not call them. */
static void was_hooked(enum cxx_fn which)
{
    if (__atomic_load_n(&operators[which].is_runtimes, __ATOMIC_RELAXED)) pass_from_now(which);
}

/* If the allocator is queried for sizes, blocks must be its own. The block of another operator may
 * not belong to malloc, and if it does, malloc's hook records it. */
static bool is_left_out(enum cxx_fn which)
{
    return __builtin_expect(mp_counted.on, 0) &&
           !mp_real_in_allocator((const void *)operators[which].real);
}

static void *finish_new(enum cxx_fn which, void *p, size_t bytes)
{
    mp_operator.aligned_bytes = 0;
    if (mp_operator.hooked) was_hooked(which);
    else if (is_left_out(which)) pass_from_now(which);
    else mp_allocated(p, bytes);
    return p;
}

/* Returns the value to restore in `deleting`. */
static void *begin_delete(enum cxx_fn which, void *p)
{
    mp_operator.hooked = false;
    if (!is_left_out(which)) return mp_begin_free(p);
    pass_from_now(which);
    return mp_operator.deleting;
}

static void end_delete(enum cxx_fn which, void *outer)
{
    mp_operator.deleting = outer;
    if (mp_operator.hooked) was_hooked(which);
}

/* NEW(name, parameters, arguments, stand-in, aligned): a program that calls an operator has one.
 * But a C program that loads a C++ library itself may call these before any C++ library is loaded.
 * Then malloc is called. */
#define NEW(name, parameters, arguments, otherwise, aligned)                                       \
    static __attribute__((noinline)) void *recorded##name parameters                               \
    {                                                                                              \
        void *(*f)parameters = (void *(*)parameters)real_operator(CXX##name);                      \
        if (!f) return otherwise;                                                                  \
        mp_operator.hooked = false;                                                                \
        mp_operator.aligned_bytes = aligned ? bytes : 0;                                           \
        return finish_new(CXX##name, f arguments, bytes);                                          \
    }                                                                                              \
    HOOK void *name parameters;                                                                    \
    HOOK void *name parameters                                                                     \
    {                                                                                              \
        if (aligned || !is_passed_on(CXX##name)) return recorded##name arguments;                  \
        return ((void *(*)parameters)operators[CXX##name].real)arguments;                          \
    }
#define DELETE(name, parameters, arguments)                                                        \
    static __attribute__((noinline)) void recorded##name parameters                                \
    {                                                                                              \
        void(*f) parameters = (void(*) parameters)real_operator(CXX##name);                        \
        if (!f) {                                                                                  \
            free(p);                                                                               \
            return;                                                                                \
        }                                                                                          \
        void *const outer = begin_delete(CXX##name, p);                                            \
        f arguments;                                                                               \
        end_delete(CXX##name, outer);                                                              \
    }                                                                                              \
    HOOK void name parameters;                                                                     \
    HOOK void name parameters                                                                      \
    {                                                                                              \
        if (!is_passed_on(CXX##name)) recorded##name arguments;                                    \
        else ((void(*) parameters)operators[CXX##name].real) arguments;                            \
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
