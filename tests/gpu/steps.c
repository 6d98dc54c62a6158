#include "steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <nvtx3/nvToolsExt.h>

enum { POOLS = 8 };

struct counters counters;
static CUmemoryPool pools[POOLS];

const char steps_ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry nothing() { ret; }\n";

const CUmemAllocationProp steps_physical = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};

void steps_expect(CUresult result, CUresult expected, const char *call, const char *file, int line)
{
    if (result == expected) return;
    const char *name = "?";
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s:%d: %s gave %s (%d), not %d\n", file, line, call, name, result, expected);
    exit(1);
}

void steps_start(void)
{
    CUcontext context;
    CUmemoryPool pool;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &(cuuint64_t){ UINT64_MAX }));
    steps_pool(pool);
}

static void exchange_pool(CUmemoryPool from, CUmemoryPool to)
{
    size_t i = 0;
    while (i < POOLS && pools[i] != from) i++;
    CHECK(i < POOLS);
    pools[i] = to;
}

void steps_pool(CUmemoryPool pool) { exchange_pool(NULL, pool); }

void steps_forget_pool(CUmemoryPool pool) { exchange_pool(pool, NULL); }

/* Returns the bytes that the driver reserves for its pools and graphs. */
static uint64_t reserved_bytes(void)
{
    cuuint64_t sum, bytes;
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &sum));
    for (size_t i = 0; i < POOLS; i++) {
        if (!pools[i]) continue;
        OK(cuMemPoolGetAttribute(pools[i], CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
        sum += bytes;
    }
    return sum;
}

void step(const char *name)
{
    char text[256];
    snprintf(text, sizeof text,
             "step:%s dev=%" PRIu64 " managed=%" PRIu64 " pinned=%" PRIu64 " pool=%" PRIu64
             " regions=%" PRIu64,
             name, counters.device + reserved_bytes(), (uint64_t)counters.managed,
             (uint64_t)counters.pinned, (uint64_t)counters.pool, (uint64_t)counters.regions);
    nvtxMarkA(text);
}

CUfunction steps_kernel(void)
{
    static CUfunction kernel;
    if (kernel) return kernel;
    CUmodule module;
    OK(cuModuleLoadData(&module, steps_ptx));
    OK(cuModuleGetFunction(&kernel, module, "nothing"));
    return kernel;
}

CUdeviceptr steps_alloc(size_t bytes)
{
    CUdeviceptr address;
    OK(cuMemAlloc(&address, bytes));
    counters.device += bytes;
    return address;
}

void steps_free(CUdeviceptr address, size_t bytes)
{
    OK(cuMemFree(address));
    counters.device -= bytes;
}
