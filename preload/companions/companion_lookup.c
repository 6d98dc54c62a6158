/* dlsym and dlvsym, by which CUDA's runtime and other libraries find the driver's functions.
 *
 * The meaning of such a call depends on the caller: RTLD_NEXT is the library after the caller in
 * look-up order. So every look-up except those of the driver's calls continues with a jump, with
 * the caller's return address where the C library looks for it, and so does RTLD_NEXT of any name:
 * this library is part of the look-up order, so its result is right. This file is compiled with -O2
 * in every build, because the compiler would otherwise turn the jumps into calls. Look-ups by this
 * library itself (companion_cuda.c) must not be intercepted.
 *
 * Any thread, any context: programs look up in constructors, and allocators under their locks. */
#include <dlfcn.h>
#include <stddef.h>

#include "companions/companion_cuda.h"
#include "real/symbol.h"

#define EXPORT __attribute__((visibility("default")))

static void *next(void **slot, const char *name)
{
    void *f = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (f) return f;
    f = mp_symbol_next(name);
    __atomic_store_n(slot, f, __ATOMIC_RELEASE);
    return f;
}

mp_look_up mp_next_dlsym(void)
{
    static void *slot;
    return (mp_look_up)next(&slot, "dlsym");
}

mp_look_up_version mp_next_dlvsym(void)
{
    static void *slot;
    return (mp_look_up_version)next(&slot, "dlvsym");
}

/* Runs before the program can load anything, so that later libraries are not searched. */
__attribute__((constructor)) static void find(void)
{
    mp_next_dlsym();
    mp_next_dlvsym();
}

static const struct mp_driver_hook *hook_for(void *handle, const char *name)
{
    return handle == RTLD_NEXT ? NULL : mp_driver_hook(name);
}

EXPORT void *dlsym(void *restrict handle, const char *restrict name)
{
    const mp_look_up real = mp_next_dlsym();
    const struct mp_driver_hook *hook = hook_for(handle, name);
    return hook ? mp_driver_find(hook, handle) : real(handle, name);
}

EXPORT void *dlvsym(void *restrict handle, const char *restrict name, const char *restrict version)
{
    const mp_look_up_version real = mp_next_dlvsym();
    const struct mp_driver_hook *hook = hook_for(handle, name);
    return hook ? mp_driver_find_version(hook, handle, version) : real(handle, name, version);
}
