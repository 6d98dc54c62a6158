/* The steps of each call: the tool's callbacks run outside the lock, the model changes inside it.
 *
 * The lock is recursive because resource callbacks run in the middle of a call, and the tool may
 * call the driver there. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cupti_driver_cbid.h>

#include "fake.h"

enum { RESOURCE_CU_INIT_FINISHED = 5 };

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Atomic(const struct fake_tracer *) tracer;
static _Atomic uint32_t correlations, ids;
static bool ready, forked;

FAKE_EXPORT void fake_cuda_set_tracer(const struct fake_tracer *to) { atomic_store(&tracer, to); }

uint32_t fake_next_id(void) { return atomic_fetch_add(&ids, 1) + 1; }

void fake_lock(void) { pthread_mutex_lock(&lock); }

void fake_unlock(void) { pthread_mutex_unlock(&lock); }

static void after_fork(void)
{
    lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    forked = ready;
}

static CUresult availability(unsigned cbid)
{
    if (forked) return CUDA_ERROR_NOT_INITIALIZED;
    return ready || cbid == CUPTI_DRIVER_TRACE_CBID_cuInit ||
                   cbid == CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion ||
                   cbid == CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress ||
                   cbid == CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_INITIALIZED;
}

/* The tool gets the callback of a call's end only if it subscribed before the call's start. */
static void notify(struct fake_call *call, CUresult *result)
{
    const struct fake_tracer *to = atomic_load(&tracer);
    if (!result) call->notified = to != NULL;
    if (!to || !call->notified) return;
    fake_lock();
    const CUcontext context = fake_current();
    const uint32_t uid = context ? context->uid : 0;
    fake_unlock();
    const struct fake_event event = { call->cbid, call->name, call->params,      result,
                                      context,    uid,        call->correlation, call->data };
    to->api(&event);
}

CUresult fake_enter(struct fake_call *call)
{
    call->correlation = atomic_fetch_add(&correlations, 1) + 1;
    notify(call, NULL);
    fake_lock();
    return availability(call->cbid);
}

CUresult fake_leave(struct fake_call *call, CUresult result)
{
    fake_unlock();
    notify(call, &result);
    return result;
}

void fake_resource(unsigned cbid, CUcontext context, CUstream stream, void *descriptor)
{
    const struct fake_tracer *to = atomic_load(&tracer);
    if (to) to->resource(cbid, context, stream, descriptor);
}

static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*initialize)(void) = NULL;
    if (library) *(void **)&initialize = dlsym(library, "InitializeInjection");
    if (initialize) initialize();
}

CUresult fake_init(unsigned flags)
{
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (ready) return CUDA_SUCCESS;
    if (fake_device_count() == 0) return CUDA_ERROR_NO_DEVICE;
    pthread_atfork(NULL, NULL, after_fork);
    ready = true;
    inject();
    fake_resource(RESOURCE_CU_INIT_FINISHED, NULL, NULL, NULL);
    return CUDA_SUCCESS;
}
