/* A pool grows if a block does not fit. It shrinks when a stream is synchronized, and when the
 * driver needs its free memory for another allocation. So its level is queried in all of these
 * cases. */
#include "cuda/mempool.h"

#include <cupti.h>

#include "core/record.h"
#include "cuda/block.h"
#include "cuda/capture.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/hidden.h"
#include "cuda/local_memory.h"
#include "mpf/gpu.h"
#include "mpf/sample.h"

enum { POOLS = 64 };

/* Pools whose blocks were seen. They are kept until they are destroyed. Entries are claimed by
 * their handle. */
static struct pool {
    CUmemoryPool handle;
    uint64_t level;
    int device;
} pool[POOLS];
static uint32_t pools; /* number of entries ever used */

static struct pool *find_pool(CUmemoryPool handle)
{
    const uint32_t n = __atomic_load_n(&pools, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n && i < POOLS; i++)
        if (__atomic_load_n(&pool[i].handle, __ATOMIC_ACQUIRE) == handle) return &pool[i];
    return NULL;
}

static struct pool *new_pool(CUmemoryPool handle, int device)
{
    for (uint32_t i = 0; i < POOLS; i++) {
        CUmemoryPool none = NULL;
        if (!__atomic_compare_exchange_n(&pool[i].handle, &none, handle, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE))
            continue;
        pool[i].device = device;
        pool[i].level = 0;
        uint32_t n = __atomic_load_n(&pools, __ATOMIC_RELAXED);
        while (n <= i && !__atomic_compare_exchange_n(&pools, &n, i + 1, false, __ATOMIC_ACQ_REL,
                                                      __ATOMIC_RELAXED)) {}
        mp_record(MPF_OP_GPU_POOL, mpf_heap_gpu(MPF_HEAP_DEVICE, (unsigned)device),
                  (uintptr_t)handle, 1);
        return &pool[i];
    }
    return NULL;
}

static void set_level(struct pool *p, uint64_t bytes)
{
    if (__atomic_exchange_n(&p->level, bytes, __ATOMIC_ACQ_REL) == bytes) return;
    mp_record(MPF_OP_GPU_LEVEL, mpf_heap_gpu(MPF_HEAP_DEVICE, (unsigned)p->device),
              (uintptr_t)p->handle, bytes);
}

static void ask_level(struct pool *p)
{
    cuuint64_t bytes;
    if (MP_DRIVER_ASK(cuMemPoolGetAttribute, p->handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                      &bytes))
        set_level(p, bytes);
}

void mp_mempool_look(void)
{
    const uint32_t n = __atomic_load_n(&pools, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n && i < POOLS; i++)
        if (__atomic_load_n(&pool[i].handle, __ATOMIC_ACQUIRE)) ask_level(&pool[i]);
}

/* Queries the driver for the block's pool: a stream may belong to another device than the thread's,
 * and the pool may be the default one. */
static struct pool *pool_of(CUdeviceptr at)
{
    CUmemoryPool handle = NULL;
    int device = -1;
    CUpointer_attribute attributes[] = { CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                         CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };
    void *answers[] = { &handle, &device };
    if (!MP_DRIVER_ASK(cuPointerGetAttributes, 2, attributes, answers, at) || !handle ||
        device < 0 || device >= MPF_GPUS)
        return NULL;
    mp_device_seen(device);
    struct pool *p = find_pool(handle);
    return p ? p : new_pool(handle, device);
}

#define STACK_BYTES ((size_t)1 << 20) /* for smaller blocks a call stack would cost too much */

static void allocated(const struct mp_call *call, const CUdeviceptr *at, size_t bytes,
                      CUstream stream)
{
    if (call->enter || (call->result == CUDA_SUCCESS && mp_capture_on(stream))) return;
    if (call->result != CUDA_SUCCESS) {
        const CUdevice device = mp_device_current();
        mp_block_refused(call, mpf_heap_gpu(MPF_HEAP_POOL, device < 0 ? 0 : (unsigned)device),
                         bytes, false);
        return;
    }
    struct pool *p = pool_of(*at);
    mp_device_context(call);
    if (bytes >= STACK_BYTES) mp_block_stack();
    mp_record(MPF_OP_ALLOC, mpf_heap_gpu(MPF_HEAP_POOL, p ? (unsigned)p->device : 0), *at, bytes);
    if (p) ask_level(p);
    mp_device_measure();
}

/* The variants for the per-thread default stream have the same fields. Their stream 0 can be
 * captured, but only cuStreamBeginCapture_ptsz starts that, with a handle that is not 0
 * (CU_STREAM_PER_THREAD). */
void mp_on_pool_alloc(const struct mp_call *call)
{
    const cuMemAllocAsync_params *p = call->params;
    allocated(call, p->dptr, p->bytesize, p->hStream);
}

void mp_on_pool_alloc_from(const struct mp_call *call)
{
    const cuMemAllocFromPoolAsync_params *p = call->params;
    allocated(call, p->dptr, p->bytesize, p->hStream);
}

void mp_on_pool_free(const struct mp_call *call)
{
    const cuMemFreeAsync_params *p = call->params;
    if (call->enter) *call->keep = mp_capture_on(p->hStream);
    if (*call->keep) return;
    mp_block_freed(call, MPF_HEAP_POOL, p->dptr);
}

void mp_on_synchronize(const struct mp_call *call)
{
    if (call->enter) return;
    mp_mempool_look();
    mp_local_memory_look(call->context);
}

/* ---- pools */

void mp_on_pool_create(const struct mp_call *call)
{
    const cuMemPoolCreate_params *p = call->params;
    if (call->enter) mp_hidden_enter(call, MPF_CALL_POOL);
    else
        mp_hidden_return(call, MPF_CALL_POOL,
                         call->result == CUDA_SUCCESS ? (uintptr_t)*p->pool : 0, 0, 0);
}

void mp_on_pool_trim(const struct mp_call *call)
{
    const cuMemPoolTrimTo_params *p = call->params;
    if (call->enter) return;
    struct pool *known = find_pool(p->pool);
    if (known) ask_level(known);
    mp_device_measure();
}

/* The pool exists until its last block is freed, but its handle does not. */
void mp_on_pool_destroy(const struct mp_call *call)
{
    const cuMemPoolDestroy_params *p = call->params;
    struct pool *known = find_pool(p->pool);
    if (call->enter || call->result != CUDA_SUCCESS || !known) return;
    mp_record(MPF_OP_GPU_POOL, mpf_heap_gpu(MPF_HEAP_DEVICE, (unsigned)known->device),
              (uintptr_t)p->pool, 0);
    set_level(known, 0);
    __atomic_store_n(&known->handle, NULL, __ATOMIC_RELEASE);
    mp_device_measure();
}
