/* Calls reported by libmemprof-cuda.so go to the handlers of CUPTI's callbacks. */
#include "cuda/by_name.h"

#include <errno.h>
#include <string.h>

#include "companions/companion.h"
#include "core/config.h"
#include "core/record.h"
#include "cuda/call.h"
#include "cuda/driver.h"
#include "real/symbol.h"

#define EXPORT __attribute__((visibility("default")))

struct memprof_driver_call {
    const char *name;
    void (*handler)(const struct mp_call *);
    bool is_launch;
};

static const struct memprof_driver_call calls[] = {
#define MP_CALL(name, handler) { #name, mp_on_##handler, false },
#include "cuda/calls.def"
#undef MP_CALL
#define MP_CALL(name, handler) { #name, mp_on_##handler, true },
#include "cuda/launches.def"
#undef MP_CALL
};

static bool on, launches;

bool mp_by_name_is_here(void)
{
    static const char its_own[] = "memprof_driver_companion";
    return mp_symbol_next(its_own) || mp_symbol_before(its_own);
}

bool mp_by_name_is_chosen(void)
{
    return mp_config.cuda == MP_CUDA_INTERPOSE && mp_by_name_is_here();
}

void mp_by_name_start(void) { __atomic_store_n(&on, true, __ATOMIC_RELEASE); }

bool mp_by_name_is_on(void) { return __atomic_load_n(&on, __ATOMIC_ACQUIRE); }

void mp_by_name_listen_to_launches(bool listen)
{
    __atomic_store_n(&launches, listen, __ATOMIC_RELEASE);
}

EXPORT const struct memprof_driver_call *memprof_driver_call(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(calls[i].name, name)) return &calls[i];
    return NULL;
}

/* memprof's own calls are ignored. */
static bool listens(const struct memprof_driver_call *call)
{
    return mp_by_name_is_on() && !(mp_self && mp_self->guard & MP_INSIDE) &&
           (!call->is_launch || __atomic_load_n(&launches, __ATOMIC_ACQUIRE));
}

EXPORT bool memprof_driver_enter(const struct memprof_driver_call *call, const void *params,
                                 uint64_t *keep)
{
    if (!listens(call)) return false;
    const int saved = errno;
    call->handler(&(struct mp_call){ .params = params, .keep = keep, .enter = true });
    errno = saved;
    return true;
}

/* A context is identified by its address, also in replay. */
EXPORT void memprof_driver_return(const struct memprof_driver_call *call, const void *params,
                                  uint64_t *keep, int result)
{
    const int saved = errno;
    struct mp_call returned = { .params = params, .keep = keep, .result = (CUresult)result };
    if (MP_DRIVER_ASK(cuCtxGetCurrent, &returned.context))
        returned.context_uid = (uint32_t)((uintptr_t)returned.context >> 4);
    call->handler(&returned);
    errno = saved;
}
