/* The driver calls InitializeInjection in cuInit, because CUDA_INJECTION64_PATH names this library.
 *
 * If another tool holds CUPTI and cannot share it with memprof (subscription.h), calls are observed
 * by name (by_name.h). Without libmemprof-cuda.so everything that needs no CUPTI continues, and the
 * log says why gpuN/device is missing. */
#include "cuda/cupti.h"

#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/loader.h"
#include "base/text.h"
#include "core/config.h"
#include "core/process.h"
#include "core/record.h"
#include "core/say.h"
#include "cuda/by_name.h"
#include "cuda/call.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/find_cupti.h"
#include "cuda/sampler.h"
#include "cuda/subscription.h"
#include "python/python.h"
#include "real/real.h"
#include "torch/torch_ranges.h"

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

/* ---- choosing calls */

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
    if (mp_by_name_is_on()) {
        mp_by_name_listen_to_launches(listen);
        return;
    }
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++)
        mp_party_enable(MP_PARTY_MEMPROF, listen, CUPTI_CB_DOMAIN_DRIVER_API, launches[i].id);
}

/* A library that is older than this list refuses unknown calls. */
static void listen_to_calls(void)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (mp_party_enable(MP_PARTY_MEMPROF, true, CUPTI_CB_DOMAIN_DRIVER_API, calls[i].id) !=
            CUPTI_SUCCESS)
            mp_device_note("cupti.refused", calls[i].name);
}

/* ---- starting */

static bool given_up;

void mp_cupti_give_up(void) { __atomic_store_n(&given_up, true, __ATOMIC_RELEASE); }

bool mp_cupti_is_given_up(void) { return __atomic_load_n(&given_up, __ATOMIC_ACQUIRE); }

/* Calls by name are still observed if libmemprof-cuda.so is loaded. */
static void go_without(const char *why)
{
    mp_cupti_give_up();
    if (mp_by_name_is_here()) {
        mp_device_note("by_name", why);
        mp_by_name_start();
        return;
    }
    mp_device_note("cupti.off", why);
    mp_say("CUDA allocations are not recorded: ", why,
           " (memprof run --cuda=interpose works without CUPTI)", NULL);
    mp_sampler_seek();
}

static void note_version(const struct mp_cupti_library *library)
{
    static char text[16];
    uint32_t version;
    if (library->version(&version) != CUPTI_SUCCESS) return;
    struct mp_text t = MP_TEXT(text);
    mp_text_u64(&t, version);
    mp_device_note("cupti", text);
}

static struct mp_cupti_library cupti;
static bool counted_on;

/* Returns a text that is never freed. */
static const char *taken_by(const char *holder)
{
    static char text[160];
    struct mp_text t = MP_TEXT(text);
    if (!*holder)
        return "another tool (nsys, ncu, a profiler) uses CUPTI, which serves one tool at a time";
    mp_text_str(&t, "another tool (");
    mp_text_str(&t, holder);
    mp_text_str(&t, ") uses CUPTI, which serves one tool at a time");
    return text;
}

void mp_cupti_refused(int result)
{
    const char *why;
    if (mp_subscription_library() || !__atomic_exchange_n(&counted_on, false, __ATOMIC_ACQ_REL))
        return;
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED ||
        result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        why = taken_by(mp_subscription_holder());
    else if (cupti.result_text((CUptiResult)result, &why) != CUPTI_SUCCESS)
        why = "CUPTI refuses the subscription";
    go_without(why);
}

/* Prefers the library that a tool has already subscribed to. */
static bool find_library(const char **path, const char **why)
{
    const struct mp_cupti_library *open = mp_subscription_library();
    Dl_info info;
    if (open) {
        cupti = *open;
        if (dladdr((const void *)cupti.subscribe, &info)) *path = info.dli_fname;
        return true;
    }
    void *found = mp_find_cupti(path, why);
    if (found && mp_cupti_library(found, &cupti)) return true;
    if (found) *why = "this libcupti has no callback interface";
    return false;
}

static void subscribe(void)
{
    const char *path = "", *why;
    if (!find_library(&path, &why)) {
        go_without(why);
        return;
    }
    mp_device_note("cupti.path", path);
    note_version(&cupti);
    mp_party_join_memprof(callback);
    __atomic_store_n(&counted_on, true, __ATOMIC_RELEASE);
    const CUptiResult result = mp_subscription_open(&cupti, true);
    if (result == CUPTI_SUCCESS) listen_to_calls();
    else mp_cupti_refused((int)result);
}

static void listen(void)
{
    if (mp_by_name_is_chosen()) go_without("MEMPROF_CUDA=interpose");
    else subscribe();
}

void mp_cupti_reset(void)
{
    mp_device_reset();
    mp_sampler_reset();
}

/* Calls the user's value of CUDA_INJECTION64_PATH. */
static void chain(void)
{
    const char *path = secure_getenv("MEMPROF_CUDA_CHAIN");
    void *chained = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*next)(void) = chained ? (int (*)(void))dlsym(chained, "InitializeInjection") : NULL;
    if (next) next();
}

__attribute__((visibility("default"))) int InitializeInjection(void);

/* Runs in the driver, which holds locks during its initialisation, so nothing here calls it. */
int InitializeInjection(void)
{
    static uint32_t entered;
    if (!mp_process_active() || __atomic_exchange_n(&entered, 1, __ATOMIC_ACQ_REL)) return 1;
    const int saved = errno;
    chain();
    mp_torch_ranges_start();
    mp_python_start();
    if (mp_config.cuda != MP_CUDA_OFF && mp_driver_init()) {
        mp_real_exclude((const void *)mp_driver.cuCtxGetDevice);
        mp_sampler_start();
        listen();
    }
    mp_loader_forget_error();
    errno = saved;
    return 1;
}
