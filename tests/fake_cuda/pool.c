/* Stream-ordered pools. A pool grows by whole steps. It shrinks when it is trimmed or the program
 * waits for the device. The model does not record which parts are in use: reserved bytes that are
 * not used can always be released in whole steps. */
#include <stdlib.h>

#include "fake.h"

#define STEP (32ull << 20)

static CUmemoryPool pools;

static struct fake_device *device_of(CUmemoryPool pool) { return fake_device(pool->device); }

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void shrink(CUmemoryPool pool, uint64_t keep)
{
    if (keep >= pool->reserved) return;
    const uint64_t reserved = fake_round_up(max(pool->used, keep), STEP);
    if (!pool->host) fake_give(device_of(pool), pool->reserved - reserved);
    pool->reserved = reserved;
}

static CUresult grow(CUmemoryPool pool, uint64_t bytes)
{
    if (pool->used + bytes > pool->reserved) {
        const uint64_t more = fake_round_up(pool->used + bytes - pool->reserved, STEP);
        if (!pool->host && !fake_take(device_of(pool), more)) return CUDA_ERROR_OUT_OF_MEMORY;
        pool->reserved += more;
        pool->reserved_high = max(pool->reserved_high, pool->reserved);
    }
    pool->used += bytes;
    pool->used_high = max(pool->used_high, pool->used);
    return CUDA_SUCCESS;
}

static CUmemoryPool make(CUdevice device, bool host)
{
    const CUmemoryPool pool = calloc(1, sizeof *pool);
    if (!pool) abort();
    *pool = (struct CUmemPoolHandle_st){ .next = pools, .device = device, .host = host };
    pools = pool;
    return pool;
}

CUresult fake_pool_create(CUmemoryPool *out, const CUmemPoolProps *props)
{
    const bool host = props->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
    if (props->handleTypes & CU_MEM_HANDLE_TYPE_FABRIC) return CUDA_ERROR_NOT_PERMITTED;
    if (!host && !fake_device(props->location.id)) return CUDA_ERROR_INVALID_DEVICE;
    *out = make(host ? 0 : props->location.id, host);
    return CUDA_SUCCESS;
}

/* Blocks that are still allocated keep their memory until they are freed. */
CUresult fake_pool_destroy(CUmemoryPool pool)
{
    struct fake_device *d = device_of(pool);
    if (pool == d->default_pool) return CUDA_ERROR_INVALID_VALUE;
    if (pool == d->pool) d->pool = d->default_pool;
    pool->threshold = 0;
    shrink(pool, 0);
    return CUDA_SUCCESS;
}

CUresult fake_pool_trim(CUmemoryPool pool, uint64_t keep)
{
    shrink(pool, keep);
    return CUDA_SUCCESS;
}

bool fake_pools_trim(const struct fake_device *d)
{
    bool trimmed = false;
    for (CUmemoryPool pool = pools; pool; pool = pool->next) {
        const uint64_t before = pool->reserved;
        if (pool->host || device_of(pool) != d) continue;
        shrink(pool, 0);
        trimmed |= pool->reserved < before;
    }
    return trimmed;
}

CUresult fake_pool_get(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    uint64_t *out = value;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *out = pool->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *out = pool->reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *out = pool->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *out = pool->used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *out = pool->used_high; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult fake_pool_set(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) return CUDA_ERROR_INVALID_VALUE;
    pool->threshold = *(const cuuint64_t *)value;
    return CUDA_SUCCESS;
}

CUresult fake_pool_default(CUmemoryPool *out, CUdevice device)
{
    struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (!d->default_pool) d->default_pool = make(device, false);
    *out = d->default_pool;
    return CUDA_SUCCESS;
}

CUresult fake_pool_current(CUmemoryPool *out, CUdevice device)
{
    const struct fake_device *d = fake_device(device);
    if (!d || !d->pool) return fake_pool_default(out, device);
    *out = d->pool;
    return CUDA_SUCCESS;
}

CUresult fake_pool_choose(CUdevice device, CUmemoryPool pool)
{
    struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    d->pool = pool;
    return CUDA_SUCCESS;
}

CUresult fake_pool_alloc(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    const CUcontext context = stream ? stream->context : fake_current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    if (stream && stream->capture) return fake_graph_add_alloc(NULL, stream->capture, out, bytes);
    if (!pool) fake_pool_current(&pool, context->device);
    const CUresult result = grow(pool, bytes);
    if (result) return result;
    *out = fake_address_take(bytes);
    return fake_block_add((struct fake_block){ *out, bytes, FAKE_POOLED, .pool = pool });
}

CUresult fake_pool_free(CUdeviceptr address, CUstream stream)
{
    if (stream && stream->capture) return fake_graph_add_free(NULL, stream->capture, address);
    return fake_mem_free(address);
}

void fake_pool_give_back(CUmemoryPool pool, uint64_t bytes) { pool->used -= bytes; }

CUresult fake_synchronize(void)
{
    const CUcontext c = fake_current();
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    for (CUmemoryPool pool = pools; pool; pool = pool->next) {
        if (pool->device == c->device) shrink(pool, pool->threshold);
    }
    return CUDA_SUCCESS;
}
