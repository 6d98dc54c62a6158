/* The driver calls InitializeInjection in cuInit, because CUDA_INJECTION64_PATH names this library.
 *
 * CUPTI allows one subscriber: where another tool is it, everything that needs no CUPTI goes on,
 * and the log says why gpuN/device is missing. */
#include "cuda/cupti.h"

#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/loader.h"
#include "base/text.h"
#include "core/process.h"
#include "core/record.h"
#include "core/say.h"
#include "cuda/call.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/find_cupti.h"
#include "cuda/sampler.h"
#include "python/python.h"
#include "real/real.h"
#include "torch/torch_ranges.h"

static CUpti_SubscriberHandle subscriber;

static struct {
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);
    CUptiResult (*version)(uint32_t *);
    CUptiResult (*result_text)(CUptiResult, const char **);
} cupti;

/* ---- from a callback to its handler */

static void (*const handler[CUPTI_DRIVER_TRACE_CBID_SIZE])(const struct mp_call *) = {
#define MP_CALL(name, handler) [CUPTI_DRIVER_TRACE_CBID_##name] = mp_on_##handler,
#include "cuda/calls.def"
#include "cuda/launches.def"
#undef MP_CALL
};

static void CUPTIAPI callback(void *arg, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void *data)
{
    (void)arg;
    const CUpti_CallbackData *d = data;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || id >= CUPTI_DRIVER_TRACE_CBID_SIZE || !handler[id])
        return;
    if (mp_self && mp_self->guard & MP_INSIDE) return; /* memprof's own call */
    const int saved = errno;
    const struct mp_call call = {
        .params = d->functionParams,
        .keep = d->correlationData,
        .context = d->context,
        .context_uid = d->contextUid,
        .enter = d->callbackSite == CUPTI_API_ENTER,
        .result = d->callbackSite == CUPTI_API_ENTER ? CUDA_SUCCESS
                                                     : *(const CUresult *)d->functionReturnValue,
    };
    handler[id](&call);
    errno = saved;
}

/* ---- what is listened to */

struct listened {
    const char *name;
    uint16_t id;
};
static const struct listened calls[] = {
#define MP_CALL(name, handler) { #name, CUPTI_DRIVER_TRACE_CBID_##name },
#include "cuda/calls.def"
};
static const struct listened launches[] = {
#include "cuda/launches.def"
#undef MP_CALL
};

void mp_cupti_listen_to_launches(bool listen)
{
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++)
        cupti.enable(listen, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launches[i].id);
}

/* A library that is older than this list refuses the calls that it does not know. */
static void listen_to_calls(void)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (cupti.enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls[i].id) != CUPTI_SUCCESS)
            mp_device_note("cupti.refused", calls[i].name);
}

/* ---- getting in */

static void give_up(const char *why)
{
    mp_device_note("cupti.off", why);
    mp_say("CUDA allocations are not recorded: ", why, NULL, NULL);
}

static bool look_up(void *library)
{
    cupti.subscribe = (__typeof__(cupti.subscribe))dlsym(library, "cuptiSubscribe");
    cupti.enable = (__typeof__(cupti.enable))dlsym(library, "cuptiEnableCallback");
    cupti.version = (__typeof__(cupti.version))dlsym(library, "cuptiGetVersion");
    cupti.result_text = (__typeof__(cupti.result_text))dlsym(library, "cuptiGetResultString");
    return cupti.subscribe && cupti.enable && cupti.version && cupti.result_text;
}

static void note_version(void)
{
    static char text[16];
    uint32_t version;
    if (cupti.version(&version) != CUPTI_SUCCESS) return;
    struct mp_text t = MP_TEXT(text);
    mp_text_u64(&t, version);
    mp_device_note("cupti", text);
}

static bool subscribe(void)
{
    const char *path = "", *why;
    void *library = mp_find_cupti(&path, &why);
    if (!library || !look_up(library)) {
        give_up(library ? "this libcupti lacks its callback interface" : why);
        return false;
    }
    mp_device_note("cupti.path", path);
    note_version();
    const CUptiResult result = cupti.subscribe(&subscriber, callback, NULL);
    if (result == CUPTI_SUCCESS) {
        listen_to_calls();
        return true;
    }
    const bool taken = result == CUPTI_ERROR_MAX_LIMIT_REACHED ||
                       result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    if (taken)
        why = "another tool (nsys, ncu, a profiler) has taken CUPTI, which serves one at a time";
    else if (cupti.result_text(result, &why) != CUPTI_SUCCESS) why = "CUPTI refuses";
    give_up(why);
    return false;
}

void mp_cupti_reset(void)
{
    mp_device_reset();
    mp_sampler_reset();
}

/* What the user had put into CUDA_INJECTION64_PATH. */
static void chain(void)
{
    const char *path = secure_getenv("MEMPROF_CUDA_CHAIN");
    void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*next)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (next) next();
}

__attribute__((visibility("default"))) int InitializeInjection(void);

/* In the driver, which holds the locks of its start: nothing here calls it. */
int InitializeInjection(void)
{
    static uint32_t entered;
    if (!mp_process_active() || __atomic_exchange_n(&entered, 1, __ATOMIC_ACQ_REL)) return 1;
    const int saved = errno;
    chain();
    mp_torch_ranges_start();
    mp_python_start();
    if (mp_driver_init()) {
        mp_real_exclude((const void *)mp_driver.cuCtxGetDevice);
        mp_sampler_start();
        if (!subscribe()) mp_sampler_seek();
    }
    mp_loader_forget_error();
    errno = saved;
    return 1;
}
