/* libmemprof-cuda.so: reports the CUDA driver's calls to memprof if CUPTI does not.
 *
 * Each call has two functions. One has its name and calls the next function of that name in look-up
 * order, usually the driver's. The other one is returned when a program, or CUDA's runtime, looks
 * up the driver's function. It calls the function that the look-up found. Both only forward until
 * memprof listens: programs keep the results of look-ups, and these are the same before and after
 * memprof knows whether it gets CUPTI.
 *
 * The driver's look-up has its own rules (versions, per-thread default streams). It is called, and
 * the function that it chose is recognised by its address. */
#define __CUDA_API_VERSION_INTERNAL /* makes cuda.h declare the older variants of a call */
#include <cuda.h>
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <errno.h>
#include <generated_cuda_meta.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "base/loader.h"
#include "companions/companion.h"
#include "companions/companion_cuda.h"
#include "real/symbol.h"

/* NULL without libmemprof.so in the process. */
#pragma weak memprof_driver_call
#pragma weak memprof_driver_enter
#pragma weak memprof_driver_return

#define EXPORT __attribute__((visibility("default")))

/* Shows libmemprof.so that this library is loaded. */
EXPORT const char memprof_driver_companion = 1;

enum {
#define MP_DRIVER_CALL(name, parameters, arguments) HOOK_##name,
#define MP_DRIVER_CALL_PLAIN(name)                  HOOK_##name,
#include "driver_calls.def"
    HOOK_cuGetProcAddress,
    HOOK_cuGetProcAddress_v2,
    HOOKS
};
#undef MP_DRIVER_CALL
#undef MP_DRIVER_CALL_PLAIN
static struct mp_driver_hook hooks[HOOKS];

/* ---- the functions that are called */

static bool driver_is_here(void);
static void *hook_for(void *address);

static CUresult no_driver(void) { return CUDA_ERROR_NOT_INITIALIZED; }

static void *real_function(const struct mp_driver_hook *hook)
{
    void *f = __atomic_load_n(&hook->real, __ATOMIC_ACQUIRE);
    if (!f && driver_is_here()) f = __atomic_load_n(&hook->real, __ATOMIC_ACQUIRE);
    return f ? f : (void *)no_driver;
}

static void *next(const struct mp_driver_hook *hook)
{
    static void *known[HOOKS];
    void **slot = &known[hook - hooks], *f = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (f) return f;
    const bool driver = driver_is_here();
    f = mp_symbol_next(hook->name);
    if (!f) f = real_function(hook);
    if (driver) __atomic_store_n(slot, f, __ATOMIC_RELEASE);
    return f;
}

/* The thread's innermost reported call, or NULL. If a later library has found the driver's function
 * itself, it calls the returned function within this call: that is one call. */
static __thread const struct mp_driver_hook *innermost __attribute__((tls_model("initial-exec")));

static bool driver_enters(const struct mp_driver_hook *hook, const void *params, uint64_t *keep)
{
    return hook->observed && hook != innermost &&
           memprof_driver_enter(hook->observed, params, keep);
}

#define UNPACK(...) __VA_ARGS__
#define REPORT(name, parameters, arguments, params, function)                                      \
    const struct mp_driver_hook *hook = &hooks[HOOK_##name];                                       \
    CUresult(CUDAAPI *target) parameters = (CUresult(CUDAAPI *) parameters)function(hook);         \
    uint64_t keep = 0;                                                                             \
    if (!driver_enters(hook, params, &keep)) return target arguments;                              \
    const struct mp_driver_hook *outer = innermost;                                                \
    innermost = hook;                                                                              \
    const CUresult result = target arguments;                                                      \
    innermost = outer;                                                                             \
    memprof_driver_return(hook->observed, params, &keep, (int)result);                             \
    return result;

#define MP_DRIVER_CALL(name, parameters, arguments)                                                \
    EXPORT CUresult CUDAAPI name parameters                                                        \
    {                                                                                              \
        const name##_params params = { UNPACK arguments };                                         \
        REPORT(name, parameters, arguments, &params, next)                                         \
    }                                                                                              \
    static CUresult CUDAAPI handed_out_##name parameters                                           \
    {                                                                                              \
        const name##_params params = { UNPACK arguments };                                         \
        REPORT(name, parameters, arguments, &params, real_function)                                \
    }
#define MP_DRIVER_CALL_PLAIN(name)                                                                 \
    EXPORT CUresult CUDAAPI name(void) { REPORT(name, (void), (), NULL, next) }                    \
    static CUresult CUDAAPI handed_out_##name(void)                                                \
    {                                                                                              \
        REPORT(name, (void), (), NULL, real_function)                                              \
    }
#include "driver_calls.def"
#undef MP_DRIVER_CALL
#undef MP_DRIVER_CALL_PLAIN

/* ---- the driver's own look-up */

#define LOOK_UP(name, parameters, arguments, function)                                             \
    CUresult(CUDAAPI *target) parameters =                                                         \
        (CUresult(CUDAAPI *) parameters)function(&hooks[HOOK_##name]);                             \
    const CUresult result = target arguments;                                                      \
    if (result == CUDA_SUCCESS && pfn) *pfn = hook_for(*pfn);                                      \
    return result;
#define LOOK_UP_CALL(name, parameters, arguments)                                                  \
    EXPORT CUresult CUDAAPI name parameters { LOOK_UP(name, parameters, arguments, next) }         \
    static CUresult CUDAAPI handed_out_##name parameters                                           \
    {                                                                                              \
        LOOK_UP(name, parameters, arguments, real_function)                                        \
    }
LOOK_UP_CALL(cuGetProcAddress, (const char *symbol, void **pfn, int version, cuuint64_t flags),
             (symbol, pfn, version, flags))
LOOK_UP_CALL(cuGetProcAddress_v2,
             (const char *symbol, void **pfn, int version, cuuint64_t flags,
              CUdriverProcAddressQueryResult *status),
             (symbol, pfn, version, flags, status))

/* ---- the table */

#define HOOK(call)                                                                                 \
    [HOOK_##call] = { .name = #call,                                                               \
                      .exported = (void *)call,                                                    \
                      .handed_out = (void *)handed_out_##call }
static struct mp_driver_hook hooks[HOOKS] = {
#define MP_DRIVER_CALL(name, parameters, arguments) HOOK(name),
#define MP_DRIVER_CALL_PLAIN(name)                  HOOK(name),
#include "driver_calls.def"
    HOOK(cuGetProcAddress),
    HOOK(cuGetProcAddress_v2),
};

const struct mp_driver_hook *mp_driver_hook(const char *name)
{
    if (name[0] != 'c' || name[1] != 'u') return NULL;
    for (size_t i = 0; i < HOOKS; i++)
        if (!strcmp(hooks[i].name, name)) return &hooks[i];
    return NULL;
}

/* ---- finding the driver */

/* All threads find the same values, so concurrent calls do no harm. */
static void know_driver(void *library)
{
    for (size_t i = 0; i < HOOKS; i++) {
        void *f = mp_next_dlsym()(library, hooks[i].name);
        if (memprof_driver_call) hooks[i].observed = memprof_driver_call(hooks[i].name);
        __atomic_store_n(&hooks[i].real, f, __ATOMIC_RELEASE);
    }
}

/* The driver's file has several names, such as "libcuda.so.1" and "libcuda.so". */
static int looks_like_driver(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    return strncmp(name, "libcuda.so", 10) == 0;
}

/* Finds the driver's functions once and keeps it loaded. Leaves no error of the loader. A library
 * that is not loaded is not looked up, because dlopen would search files and allocate. */
static bool driver_is_here(void)
{
    static bool known;
    if (__atomic_load_n(&known, __ATOMIC_ACQUIRE)) return true;
    if (!dl_iterate_phdr(looks_like_driver, NULL)) return false;
    const int before = errno;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        know_driver(library);
        __atomic_store_n(&known, true, __ATOMIC_RELEASE);
    }
    mp_loader_forget_error();
    errno = before;
    return library != NULL;
}

/* Returns the function with the name, which programs linked with the driver also have: addresses of
 * one call are equal, as without this library. If another library is in between, it must not be
 * called for a look-up in the driver, so the other function is returned. */
static void *stand_in(const struct mp_driver_hook *hook)
{
    void *next = mp_symbol_next(hook->name);
    return !next || next == hook->real ? hook->exported : hook->handed_out;
}

static void *hook_for(void *address)
{
    for (size_t i = 0; address && i < HOOKS; i++)
        if (__atomic_load_n(&hooks[i].real, __ATOMIC_ACQUIRE) == address)
            return stand_in(&hooks[i]);
    return address;
}

/* ---- look-ups by the program */

/* Returns the result of a look-up for which the next look-up returned `found`. Without a driver, or
 * if the driver has no such call, this library's function is ignored: then later libraries are
 * searched. */
static void *choose_result(const struct mp_driver_hook *hook, void *found)
{
    const void *f = __atomic_load_n(&hook->real, __ATOMIC_ACQUIRE);
    if (found && found == f) return stand_in(hook);
    return found == hook->exported && !f ? mp_next_dlsym()(RTLD_NEXT, hook->name) : found;
}

void *mp_driver_find(const struct mp_driver_hook *hook, void *handle)
{
    driver_is_here();
    return choose_result(hook, mp_next_dlsym()(handle, hook->name));
}

void *mp_driver_find_version(const struct mp_driver_hook *hook, void *handle, const char *version)
{
    driver_is_here();
    return choose_result(hook, mp_next_dlvsym()(handle, hook->name, version));
}
