#include "cuda/hidden.h"

#include <cupti.h>

#include "base/seen.h"
#include "core/record.h"
#include "cuda/cupti.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/local_memory.h"
#include "mpf/event.h"
#include "mpf/sample.h"

/* From the entry to the return, keep is the device + 1, or 0 if nothing was measured. */
CUdevice mp_hidden_device(const struct mp_call *call) { return (CUdevice)*call->keep - 1; }

void mp_hidden_enter_on(const struct mp_call *call, enum mpf_gpu_call kind, CUdevice device)
{
    *call->keep = 0;
    if (device < 0 || device >= MPF_GPUS) return;
    mp_device_seen(device);
    *call->keep = (uint64_t)device + 1;
    const uint64_t used = mp_device_used(device);
    mp_record(MPF_OP_GPU_ENTER, mpf_heap_gpu(MPF_HEAP_USED, (unsigned)device), kind,
              used < MPF_SIZE_MAX ? used : MPF_SIZE_MAX);
}

void mp_hidden_enter(const struct mp_call *call, enum mpf_gpu_call kind)
{
    mp_hidden_enter_on(call, kind, mp_device_current());
}

void mp_hidden_return(const struct mp_call *call, enum mpf_gpu_call kind, uint64_t a, uint64_t b,
                      uint64_t c)
{
    const CUdevice device = mp_hidden_device(call);
    if (device < 0) return;
    const uint64_t v[MPF_RETURN_COUNT] = { [MPF_RETURN_CALL] = kind,
                                           [MPF_RETURN_RESULT] = call->result,
                                           [MPF_RETURN_A] = a,
                                           [MPF_RETURN_B] = b,
                                           [MPF_RETURN_C] = c };
    mp_record_data(MPF_OP_GPU_RETURN, mpf_heap_gpu(MPF_HEAP_USED, (unsigned)device),
                   mp_device_used(device), v, sizeof v);
}

/* ---- contexts */

static CUcontext primary[MPF_GPUS]; /* the newest one that was retained */

static void context_made(const struct mp_call *call, CUcontext *context, CUdevice device)
{
    if (call->enter) {
        mp_hidden_enter_on(call, MPF_CALL_CONTEXT, device);
        return;
    }
    mp_hidden_return(call, MPF_CALL_CONTEXT, call->result == CUDA_SUCCESS ? (uintptr_t)*context : 0,
                     0, 0);
    mp_hidden_watch_launch();
}

void mp_on_context_create(const struct mp_call *call)
{
    const cuCtxCreate_v2_params *p = call->params;
    context_made(call, p->pctx, p->dev);
}

void mp_on_context_create_v3(const struct mp_call *call)
{
    const cuCtxCreate_v3_params *p = call->params;
    context_made(call, p->pctx, p->dev);
}

void mp_on_context_create_v4(const struct mp_call *call)
{
    const cuCtxCreate_v4_params *p = call->params;
    context_made(call, p->pctx, p->dev);
}

void mp_on_green_create(const struct mp_call *call)
{
    const cuGreenCtxCreate_params *p = call->params;
    context_made(call, (CUcontext *)p->phCtx, p->dev);
}

void mp_on_primary_retain(const struct mp_call *call)
{
    const cuDevicePrimaryCtxRetain_params *p = call->params;
    context_made(call, p->pctx, p->dev);
    if (!call->enter && call->result == CUDA_SUCCESS && mp_hidden_device(call) >= 0)
        __atomic_store_n(&primary[p->dev], *p->pctx, __ATOMIC_RELEASE);
}

/* The device of a context is known only while the context is current. In the thread that destroys a
 * context this is nearly always so. */
void mp_on_context_destroy(const struct mp_call *call)
{
    const cuCtxDestroy_v2_params *p = call->params;
    if (call->enter) {
        mp_hidden_enter(call, MPF_CALL_CONTEXT_GONE);
        return;
    }
    const bool destroyed = call->result == CUDA_SUCCESS;
    if (destroyed) mp_local_memory_forget(p->ctx);
    mp_hidden_return(call, MPF_CALL_CONTEXT_GONE, destroyed ? (uintptr_t)p->ctx : 0, 0, 0);
}

/* cuDevicePrimaryCtxRelease and cuDevicePrimaryCtxReset: the context is destroyed if it is not
 * active any more. */
void mp_on_primary_release(const struct mp_call *call)
{
    const cuDevicePrimaryCtxRelease_v2_params *p = call->params;
    if (call->enter) {
        mp_hidden_enter_on(call, MPF_CALL_CONTEXT_GONE, p->dev);
        return;
    }
    unsigned flags;
    int active = 1;
    if (mp_hidden_device(call) < 0 ||
        !MP_DRIVER_ASK(cuDevicePrimaryCtxGetState, p->dev, &flags, &active))
        return;
    const CUcontext context = __atomic_load_n(&primary[p->dev], __ATOMIC_ACQUIRE);
    if (!active) mp_local_memory_forget(context);
    mp_hidden_return(call, MPF_CALL_CONTEXT_GONE, active ? 0 : (uintptr_t)context, 0, 0);
}

void mp_on_set_limit(const struct mp_call *call)
{
    const cuCtxSetLimit_params *p = call->params;
    if (call->enter) {
        mp_hidden_enter(call, MPF_CALL_LIMIT);
        return;
    }
    mp_local_memory_growth(call->context); /* is part of the growth measured here */
    mp_hidden_return(call, MPF_CALL_LIMIT, (uint64_t)p->limit, p->value, 0);
    mp_hidden_watch_launch();
}

/* ---- modules, streams, launches */

void mp_on_module_load(const struct mp_call *call)
{
    if (call->enter) {
        mp_hidden_enter(call, MPF_CALL_MODULE);
        return;
    }
    mp_hidden_return(call, MPF_CALL_MODULE, 0, 0, 0);
    mp_local_memory_look(call->context);
    mp_hidden_watch_launch();
}

void mp_on_module_unload(const struct mp_call *call)
{
    if (call->enter) mp_hidden_enter(call, MPF_CALL_MODULE_GONE);
    else mp_hidden_return(call, MPF_CALL_MODULE_GONE, 0, 0, 0);
}

void mp_on_stream_create(const struct mp_call *call)
{
    if (call->enter) mp_hidden_enter(call, MPF_CALL_STREAM);
    else mp_hidden_return(call, MPF_CALL_STREAM, 0, 0, 0);
}

/* With lazy loading a kernel is loaded onto the device at its first query (NCCL queries each of its
 * kernels). */
static void first_use(const struct mp_call *call, const void *kernel)
{
    enum { KERNELS = 1 << 14 };
    static uint64_t seen[KERNELS];
    if (!call->enter) {
        if (*call->keep) mp_hidden_return(call, MPF_CALL_MODULE, 0, 0, 0);
        return;
    }
    *call->keep = 0;
    if (mp_seen(seen, KERNELS, (uintptr_t)kernel)) return;
    mp_seen_add(seen, KERNELS, (uintptr_t)kernel);
    mp_hidden_enter(call, MPF_CALL_MODULE);
}

#define FIRST_USE(handler, call_name, field)                                                       \
    void mp_on_##handler(const struct mp_call *call)                                               \
    {                                                                                              \
        const call_name##_params *p = call->params;                                                \
        first_use(call, p->field);                                                                 \
    }
FIRST_USE(kernel_function, cuKernelGetFunction, kernel)
FIRST_USE(kernel_attribute, cuKernelGetAttribute, kernel)
FIRST_USE(kernel_set_attribute, cuKernelSetAttribute, kernel)
FIRST_USE(function_load, cuFuncLoad, function)
FIRST_USE(function_attribute, cuFuncGetAttribute, hfunc)
FIRST_USE(function_set_attribute, cuFuncSetAttribute, hfunc)
FIRST_USE(function_get, cuModuleGetFunction, name)

static uint32_t watched; /* launches are observed until the next one */

void mp_hidden_watch_launch(void)
{
    if (!__atomic_exchange_n(&watched, 1, __ATOMIC_ACQ_REL)) mp_cupti_listen_to_launches(true);
}

/* Another thread may have asked for the next launch while this one was on its way. */
static void stop_listening(void)
{
    mp_cupti_listen_to_launches(false);
    if (__atomic_load_n(&watched, __ATOMIC_ACQUIRE)) mp_cupti_listen_to_launches(true);
}

void mp_on_kernel_launch(const struct mp_call *call)
{
    if (call->enter) {
        *call->keep = 0;
        if (__atomic_exchange_n(&watched, 0, __ATOMIC_ACQ_REL))
            mp_hidden_enter(call, MPF_CALL_LAUNCH);
    } else if (*call->keep) {
        mp_hidden_return(call, MPF_CALL_LAUNCH, (uint64_t)mp_local_memory_growth(call->context), 0,
                         0);
        stop_listening();
    }
}
