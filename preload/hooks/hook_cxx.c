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
 * With MEMPROF_HOST=sample the hooks of malloc and free do not set `hooked` for most blocks, so the
 * operator's block is watched (sampled.h). If an allocator's own operator was observed to call no
 * hook, it takes part in sampling like malloc.
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
struct operator
{
    /* what the hook jumps to: at first the function that finds and observes the real operator;
     * later the real operator, or the one that samples */
    any_fn jump;
    any_fn real;
    bool is_runtimes; /* of a C++ library: only calls malloc or free by name */
};
/* below: with the functions that find and observe */
static struct operator operators[CXX_COUNT];

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

static void jump_to(enum cxx_fn which, any_fn f)
{
    __atomic_store_n(&operators[which].jump, f, __ATOMIC_RELEASE);
}

/* From now on the hook only calls the real operator. */
static void pass_from_now(enum cxx_fn which) { jump_to(which, operators[which].real); }

/* Marks an operator of a C++ library that calls hooks. A library that binds its names itself
 * (RTLD_DEEPBIND) does not call them. */
static void was_hooked(enum cxx_fn which)
{
    if (__atomic_load_n(&operators[which].is_runtimes, __ATOMIC_RELAXED)) pass_from_now(which);
}

/* Marks an operator of the allocator that called no hook. @sampled: its function that samples. */
static void was_alone(enum cxx_fn which, any_fn sampled)
{
    if (mp_sampled.live && mp_real_in_allocator((const void *)operators[which].real))
        jump_to(which, sampled);
}

/* If the allocator is queried for sizes, blocks must be its own. The block of another operator may
 * not belong to malloc, and if it does, malloc's hook records it. */
static bool is_left_out(enum cxx_fn which)
{
    if (mp_counted_is_off()) return true;
    return __builtin_expect(mp_counted.usable != NULL, 0) &&
           !mp_real_in_allocator((const void *)operators[which].real);
}

static void begin_new(size_t aligned_bytes)
{
    mp_operator.hooked = false;
    mp_operator.aligned_bytes = aligned_bytes;
    if (mp_sampled.on) mp_sampled_watch_next();
}

/* An aligned new of a C++ library is always observed, because the library rounds its size up. */
static void *finish_new(enum cxx_fn which, void *p, size_t bytes, bool aligned, any_fn sampled)
{
    mp_operator.aligned_bytes = 0;
    if (mp_operator.hooked && !aligned) was_hooked(which);
    else if (mp_operator.hooked) return p;
    else if (is_left_out(which)) pass_from_now(which);
    else {
        mp_allocated(p, bytes);
        was_alone(which, sampled);
    }
    return p;
}

/* Returns the value to restore in `deleting`. */
static void *begin_delete(enum cxx_fn which, void *p)
{
    mp_operator.hooked = false;
    if (is_left_out(which)) {
        pass_from_now(which);
        return mp_operator.deleting;
    }
    void *const outer = mp_begin_free(p);
    mp_sampled_watch(p);
    return outer;
}

static void end_delete(enum cxx_fn which, void *p, void *outer, any_fn sampled)
{
    mp_operator.deleting = outer;
    mp_sampled_unwatch(p);
    if (mp_operator.hooked) was_hooked(which);
    else if (p) was_alone(which, sampled);
}

/* NEW(name, parameters, arguments, stand-in, aligned): a program that calls an operator has one.
 * But a C program that loads a C++ library itself may call these before any C++ library is loaded.
 * Then malloc is called. */
#define NEW(name, parameters, arguments, otherwise, aligned)                                       \
    static void *sampled##name parameters                                                          \
    {                                                                                              \
        void *(*const f)parameters = (void *(*)parameters)operators[CXX##name].real;               \
        if (__builtin_expect(!mp_sampled_due(bytes), 1)) return f arguments;                       \
        mp_sampled_take_back(bytes); /* f may throw */                                             \
        void *const p = f arguments;                                                               \
        if (p) mp_sampled_examine(p, bytes);                                                       \
        else mp_allocation_failed(bytes);                                                          \
        return p;                                                                                  \
    }                                                                                              \
    static void *observed##name parameters                                                         \
    {                                                                                              \
        void *(*f)parameters = (void *(*)parameters)real_operator(CXX##name);                      \
        if (!f) return otherwise;                                                                  \
        begin_new(aligned ? bytes : 0);                                                            \
        return finish_new(CXX##name, f arguments, bytes, aligned, (any_fn)sampled##name);          \
    }                                                                                              \
    HOOK void *name parameters;                                                                    \
    HOOK void *name parameters { return ((void *(*)parameters)operators[CXX##name].jump)arguments; }
#define DELETE(name, parameters, arguments)                                                        \
    static void sampled##name parameters                                                           \
    {                                                                                              \
        if (__builtin_expect(mp_sampled_may_have(p), 0)) mp_sampled_freed(p);                      \
        ((void(*) parameters)operators[CXX##name].real) arguments;                                 \
    }                                                                                              \
    static void observed##name parameters                                                          \
    {                                                                                              \
        void(*f) parameters = (void(*) parameters)real_operator(CXX##name);                        \
        if (!f) {                                                                                  \
            free(p);                                                                               \
            return;                                                                                \
        }                                                                                          \
        void *const outer = begin_delete(CXX##name, p);                                            \
        f arguments;                                                                               \
        end_delete(CXX##name, p, outer, (any_fn)sampled##name);                                    \
    }                                                                                              \
    HOOK void name parameters;                                                                     \
    HOOK void name parameters { ((void(*) parameters)operators[CXX##name].jump) arguments; }

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

static struct operator operators[CXX_COUNT] = {
#define MP_HOOK(name)
#define MP_HOOK_TORCH(name)
#define MP_HOOK_CXX(name) [CXX##name] = { .jump = (any_fn)observed##name },
#include "real/hooks.def"
#undef MP_HOOK
#undef MP_HOOK_TORCH
#undef MP_HOOK_CXX
};
