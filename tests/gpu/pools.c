/* A pool in device memory that reports its blocks through NVTX's memory extension, as a library
 * with its own arena may. Also makes every possible mistake in such reports. */
#include <nvtx3/nvToolsExtMem.h>

#include "steps.h"

#define ARENA        (64 * MIB)
#define COUNT(array) (sizeof(array) / sizeof *(array))

static nvtxDomainHandle_t domain;

static nvtxMemHeapHandle_t heap(const char *name, CUdeviceptr at, size_t bytes)
{
    const nvtxMemVirtualRangeDesc_t range = { bytes, (void *)at };
    const nvtxMemHeapDesc_t desc = { .extCompatID = NVTX_EXT_COMPATID_MEM,
                                     .structSize = sizeof desc,
                                     .usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR,
                                     .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                     .typeSpecificDescSize = sizeof range,
                                     .typeSpecificDesc = &range,
                                     .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                     .message.ascii = name };
    return nvtxMemHeapRegister(domain, &desc);
}

static void put(nvtxMemHeapHandle_t in, const nvtxMemVirtualRangeDesc_t *range, size_t count,
                nvtxMemRegionHandle_t *handles)
{
    const nvtxMemRegionsRegisterBatch_t batch = { NVTX_EXT_COMPATID_MEM,
                                                  sizeof batch,
                                                  NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                                  in,
                                                  count,
                                                  sizeof *range,
                                                  range,
                                                  handles };
    nvtxMemRegionsRegister(domain, &batch);
    for (size_t i = 0; i < count; i++) counters.regions += range[i].size;
}

static void put_region(nvtxMemHeapHandle_t in, CUdeviceptr at, size_t bytes)
{
    put(in, &(nvtxMemVirtualRangeDesc_t){ bytes, (void *)at }, 1, NULL);
}

static void resize(CUdeviceptr at, size_t bytes)
{
    const nvtxMemVirtualRangeDesc_t range = { bytes, (void *)at };
    const nvtxMemRegionsResizeBatch_t batch = {
        NVTX_EXT_COMPATID_MEM, sizeof batch, NVTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, sizeof range, &range
    };
    nvtxMemRegionsResize(domain, &batch);
}

static void drop(uint32_t kind, const nvtxMemRegionRef_t *ref, size_t count)
{
    const nvtxMemRegionsUnregisterBatch_t batch = {
        NVTX_EXT_COMPATID_MEM, sizeof batch, kind, count, sizeof *ref, ref
    };
    nvtxMemRegionsUnregister(domain, &batch);
}

static void name(CUdeviceptr at, const char *text)
{
    const nvtxMemRegionNameDesc_t one = { .regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER,
                                          .nameType = NVTX_MESSAGE_TYPE_ASCII,
                                          .region.pointer = (void *)at,
                                          .name.ascii = text };
    const nvtxMemRegionsNameBatch_t batch = {
        NVTX_EXT_COMPATID_MEM, sizeof batch, 0, 1, sizeof one, &one, 0
    };
    nvtxMemRegionsName(domain, &batch);
}

/* ---- correct use */

static void weights(nvtxMemHeapHandle_t in, CUdeviceptr at)
{
    const nvtxMemVirtualRangeDesc_t range[] = { { 8 * MIB, (void *)at },
                                                { 3 * MIB, (void *)(at + 8 * MIB) } };
    nvtxRangePushA("load");
    put(in, range, COUNT(range), NULL);
    name(at, "embedding");
    name(at + 8 * MIB, "head");
    nvtxRangePop();
    step("weights");
}

static void training_step(nvtxMemHeapHandle_t in, CUdeviceptr at)
{
    const nvtxMemVirtualRangeDesc_t range[] = { { 5 * MIB, (void *)at },
                                                { 2 * MIB, (void *)(at + 5 * MIB) } };
    nvtxMemRegionHandle_t handle[COUNT(range)];
    nvtxRangePushA("step");
    put(in, range, COUNT(range), handle);
    step("step");
    nvtxRangePushA("grow");
    resize(at + 5 * MIB, 4 * MIB);
    counters.regions += 2 * MIB;
    nvtxRangePop();
    step("resized");
    drop(NVTX_MEM_REGION_REF_TYPE_HANDLE,
         (nvtxMemRegionRef_t[]){ { .handle = handle[0] }, { .handle = handle[1] } }, 2);
    counters.regions -= 9 * MIB;
    nvtxRangePop();
    step("step-over");
}

static void scratch(CUdeviceptr at)
{
    const nvtxMemHeapHandle_t own = heap("scratch", at, 16 * MIB);
    put_region(own, at, MIB);
    put_region(own, at + MIB, 6 * MIB);
    step("scratch");
    nvtxMemHeapReset(domain, own);
    counters.regions -= 7 * MIB;
    step("reset");
    put_region(own, at, 2 * MIB);
    step("used-again");
    nvtxMemHeapUnregister(domain, own);
    counters.regions -= 2 * MIB;
    step("scratch-gone");
}

static void in_no_heap(void)
{
    static char table[1000];
    put_region(NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE, (CUdeviceptr)table, sizeof table);
    step("process-wide");
    nvtxMemHeapReset(domain, NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE);
    counters.regions -= sizeof table;
    step("process-wide-reset");
}

/* ---- mistakes */

static void register_twice(nvtxMemHeapHandle_t in, CUdeviceptr at)
{
    put_region(in, at, MIB);
    put_region(in, at, 3 * MIB); /* at the address of the first one */
    counters.regions -= MIB;
    step("registered-twice");
    const nvtxMemRegionRef_t ref = { .pointer = (void *)at };
    drop(NVTX_MEM_REGION_REF_TYPE_POINTER, &ref, 1);
    drop(NVTX_MEM_REGION_REF_TYPE_POINTER, &ref, 1);
    counters.regions -= 3 * MIB;
    step("unregistered-twice");
}

static void unknown(CUdeviceptr at)
{
    resize(at, 5 * MIB);
    name(at, "unregistered");
    nvtxMemHeapUnregister(domain, (nvtxMemHeapHandle_t)(at + 1));
    nvtxMemHeapReset(domain, (nvtxMemHeapHandle_t)(at + 1));
    nvtxMemHeapUnregister(domain, NULL);
    drop(NVTX_MEM_REGION_REF_TYPE_UNKNOWN, &(nvtxMemRegionRef_t){ .pointer = (void *)at }, 1);
    step("unknown");
}

static void descriptions(nvtxMemHeapHandle_t in, CUdeviceptr at)
{
    const nvtxMemVirtualRangeDesc_t range = { MIB, (void *)at };
    nvtxMemRegionsRegisterBatch_t batch = { NVTX_EXT_COMPATID_MEM,
                                            sizeof batch - 8,
                                            NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                            in,
                                            1,
                                            sizeof range,
                                            &range,
                                            NULL };
    CHECK(!nvtxMemHeapRegister(domain, NULL));
    nvtxMemRegionsRegister(domain, NULL);
    nvtxMemRegionsResize(domain, NULL);
    nvtxMemRegionsUnregister(domain, NULL);
    nvtxMemRegionsName(domain, NULL);
    nvtxMemRegionsRegister(domain, &batch); /* the size is too small */
    batch.structSize = sizeof batch;
    batch.extCompatID++;
    nvtxMemRegionsRegister(domain, &batch); /* a different version */
    batch.extCompatID--;
    batch.regionType = 0x11;
    nvtxMemRegionsRegister(domain, &batch); /* a CUDA array */
    batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    batch.regionDescElements = NULL;
    nvtxMemRegionsRegister(domain, &batch);
    step("descriptions");
}

int main(void)
{
    steps_start();
    domain = nvtxDomainCreateA("pools");
    const CUdeviceptr arena = steps_alloc(ARENA);
    const nvtxMemHeapHandle_t all = heap("arena", arena, ARENA);
    step("heap");
    weights(all, arena);
    for (int i = 0; i < 3; i++) training_step(all, arena + 16 * MIB);
    scratch(arena + 40 * MIB);
    in_no_heap();
    register_twice(all, arena + 32 * MIB);
    unknown(arena + 32 * MIB);
    descriptions(all, arena + 32 * MIB);
    nvtxMemHeapUnregister(domain, all);
    counters.regions = 0;
    step("heap-gone");
    steps_free(arena, ARENA);
    step("end");
    return 0;
}
