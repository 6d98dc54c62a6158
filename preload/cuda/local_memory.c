#include "cuda/local_memory.h"

#include <stddef.h>

#include "core/record.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "mpf/gpu.h"

enum { CONTEXTS = 64 }; /* growth in further contexts is not noticed */

/* The contexts that were queried. Entries are claimed by their handle. */
static struct queried {
    CUcontext context;
    uint64_t limit; /* bytes per thread at the last query, 0 before */
} queried[CONTEXTS];

static struct queried *entry_of(CUcontext context)
{
    for (unsigned i = 0; i < CONTEXTS; i++) {
        CUcontext there = __atomic_load_n(&queried[i].context, __ATOMIC_ACQUIRE);
        if (there == context) return &queried[i];
        if (there) continue;
        if (__atomic_compare_exchange_n(&queried[i].context, &there, context, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
            there == context)
            return &queried[i];
    }
    return NULL;
}

/* Returns the number of threads that the device can run at once, or 0 if it is unknown. */
static int64_t resident_threads(CUdevice device)
{
    static int64_t threads[MPF_GPUS];
    int64_t known = __atomic_load_n(&threads[device], __ATOMIC_RELAXED);
    int processors, each;
    if (known) return known;
    if (!MP_DRIVER_ASK(cuDeviceGetAttribute, &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                       device) ||
        !MP_DRIVER_ASK(cuDeviceGetAttribute, &each,
                       CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device))
        return 0;
    known = (int64_t)processors * each;
    __atomic_store_n(&threads[device], known, __ATOMIC_RELAXED);
    return known;
}

int64_t mp_local_memory_growth(CUcontext context)
{
    size_t limit;
    struct queried *entry = context ? entry_of(context) : NULL;
    if (!entry || !MP_DRIVER_ASK(cuCtxGetLimit, &limit, CU_LIMIT_STACK_SIZE)) return 0;
    const uint64_t before = __atomic_exchange_n(&entry->limit, limit, __ATOMIC_ACQ_REL);
    if (!before || before == limit) return 0;
    const CUdevice device = mp_device_current();
    return device < 0 ? 0 : ((int64_t)limit - (int64_t)before) * resident_threads(device);
}

void mp_local_memory_look(CUcontext context)
{
    const int64_t growth = mp_local_memory_growth(context);
    const CUdevice device = growth ? mp_device_current() : -1;
    if (device < 0) return;
    const uint64_t v[MPF_RETURN_COUNT] = {
        [MPF_RETURN_CALL] = MPF_CALL_LOCAL, [MPF_RETURN_A] = (uint64_t)growth
    };
    mp_record_data(MPF_OP_GPU_RETURN, mpf_heap_gpu(MPF_HEAP_USED, (unsigned)device),
                   mp_device_used(device), v, sizeof v);
}

/* The entry keeps its place, because an empty one ends the search. */
void mp_local_memory_forget(CUcontext context)
{
    for (unsigned i = 0; i < CONTEXTS; i++)
        if (__atomic_load_n(&queried[i].context, __ATOMIC_ACQUIRE) == context)
            __atomic_store_n(&queried[i].limit, 0, __ATOMIC_RELEASE);
}
