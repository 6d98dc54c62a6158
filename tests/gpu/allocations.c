/* Makes every kind of allocation at least once, and marks which memory must be live after each
 * call. */
#include <stdlib.h>

#include "steps.h"

static void linear(void)
{
    const CUdeviceptr small = steps_alloc(1000);
    step("alloc-small");
    const CUdeviceptr large = steps_alloc(5 * MIB);
    step("alloc-large");
    steps_free(small, 1000);
    step("free-small");
    REFUSED(cuMemFree(small), CUDA_ERROR_INVALID_VALUE);
    step("free-twice");
    cuMemFree(0);
    step("free-null");
    CUdeviceptr none;
    REFUSED(cuMemAlloc(&none, 0), CUDA_ERROR_INVALID_VALUE);
    step("alloc-zero");
    steps_free(large, 5 * MIB);
    step("free-large");
}

static void pitched(void)
{
    CUdeviceptr address;
    size_t pitch;
    OK(cuMemAllocPitch(&address, &pitch, 1000, 300, 16));
    counters.device += pitch * 300;
    step("pitch");
    steps_free(address, pitch * 300);
    step("pitch-free");
}

static void managed(void)
{
    CUdeviceptr address;
    OK(cuMemAllocManaged(&address, 3 * MIB, CU_MEM_ATTACH_GLOBAL));
    counters.managed += 3 * MIB;
    step("managed");
    OK(cuMemFree(address));
    counters.managed -= 3 * MIB;
    step("managed-free");
}

static void pinned(void)
{
    void *old, *flagged, *own = malloc(4 * MIB);
    CHECK(own);
    OK(cuMemAllocHost(&old, 2 * MIB));
    counters.pinned += 2 * MIB;
    step("host-alloc");
    OK(cuMemHostAlloc(&flagged, 3 * MIB, CU_MEMHOSTALLOC_PORTABLE));
    counters.pinned += 3 * MIB;
    step("host-alloc-flags");
    OK(cuMemHostRegister(own, 4 * MIB, 0));
    counters.pinned += 4 * MIB;
    step("register");
    REFUSED(cuMemHostRegister(own, 4 * MIB, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    step("register-twice");
    OK(cuMemHostUnregister(own));
    counters.pinned -= 4 * MIB;
    step("unregister");
    free(own);
    OK(cuMemFreeHost(old));
    counters.pinned -= 2 * MIB;
    step("host-free");
    OK(cuMemFreeHost(flagged));
    counters.pinned -= 3 * MIB;
    step("host-free-flags");
}

static void arrays(void)
{
    CUarray flat, deep;
    CUmipmappedArray levels;
    OK(cuArrayCreate(&flat, &(CUDA_ARRAY_DESCRIPTOR){ 512, 256, CU_AD_FORMAT_FLOAT, 2 }));
    counters.device += 512 * 256 * 4 * 2;
    step("array");
    const CUDA_ARRAY3D_DESCRIPTOR shape = { 128, 64, 16, CU_AD_FORMAT_UNSIGNED_INT16, 4, 0 };
    OK(cuArray3DCreate(&deep, &shape));
    counters.device += 128 * 64 * 16 * 2 * 4;
    step("array-3d");
    const CUDA_ARRAY3D_DESCRIPTOR top = { 256, 256, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0 };
    OK(cuMipmappedArrayCreate(&levels, &top, 3));
    const size_t all_levels = (256 * 256 + 128 * 128 + 64 * 64) * 4;
    counters.device += all_levels;
    step("mipmap");
    OK(cuArrayDestroy(flat));
    counters.device -= 512 * 256 * 4 * 2;
    step("array-destroy");
    OK(cuMipmappedArrayDestroy(levels));
    counters.device -= all_levels;
    step("mipmap-destroy");
    OK(cuArrayDestroy(deep));
    counters.device -= 128 * 64 * 16 * 2 * 4;
    step("array-3d-destroy");
}

static CUdeviceptr pooled(size_t bytes, CUmemoryPool pool, CUstream stream)
{
    CUdeviceptr address;
    OK(pool ? cuMemAllocFromPoolAsync(&address, bytes, pool, stream)
            : cuMemAllocAsync(&address, bytes, stream));
    counters.pool += bytes;
    return address;
}

static void default_pool(CUstream stream)
{
    CUmemoryPool pool;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    const CUdeviceptr first = pooled(10 * MIB, NULL, stream);
    step("async");
    const CUdeviceptr second = pooled(40 * MIB, NULL, 0);
    step("async-null-stream");
    OK(cuMemFreeAsync(first, stream));
    counters.pool -= 10 * MIB;
    step("async-free");
    OK(cuStreamSynchronize(0));
    OK(cuMemFree(second));
    counters.pool -= 40 * MIB;
    step("pooled-freed-by-plain-free");
    const CUdeviceptr plain = steps_alloc(MIB);
    OK(cuMemFreeAsync(plain, stream));
    OK(cuStreamSynchronize(stream));
    counters.device -= MIB;
    step("plain-freed-by-async-free");
    OK(cuMemPoolTrimTo(pool, 0));
    step("pool-trim");
}

static void own_pool(CUstream stream)
{
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
    CUmemoryPool pool;
    OK(cuMemPoolCreate(&pool, &props));
    steps_pool(pool);
    step("pool-create");
    const CUdeviceptr first = pooled(70 * MIB, pool, stream), second = pooled(MIB, pool, stream);
    step("pool-alloc");
    OK(cuMemFreeAsync(first, stream));
    counters.pool -= 70 * MIB;
    step("pool-free");
    OK(cuStreamSynchronize(stream));
    step("pool-shrinks-at-synchronize");
    OK(cuMemFreeAsync(second, stream));
    counters.pool -= MIB;
    OK(cuCtxSynchronize());
    step("pool-empty");
    OK(cuMemPoolDestroy(pool));
    steps_forget_pool(pool);
    step("pool-destroy");
}

static void handles(void)
{
    const CUmemAccessDesc access = { steps_physical.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    OK(cuMemAddressReserve(&address, 4 * MIB, 0, 0, 0));
    step("reserve");
    OK(cuMemCreate(&handle, 4 * MIB, &steps_physical, 0));
    counters.device += 4 * MIB;
    step("create");
    OK(cuMemMap(address, 4 * MIB, 0, handle, 0));
    OK(cuMemSetAccess(address, 4 * MIB, &access, 1));
    step("map");
    OK(cuMemUnmap(address, 4 * MIB));
    step("unmap");
    OK(cuMemRelease(handle));
    counters.device -= 4 * MIB;
    step("release");
    OK(cuMemAddressFree(address, 4 * MIB));
    step("unreserve");
}

int main(void)
{
    steps_start();
    step("start");
    linear();
    pitched();
    managed();
    pinned();
    arrays();
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    step("stream");
    default_pool(stream);
    own_pool(stream);
    handles();
    OK(cuStreamDestroy(stream));
    step("end");
    return 0;
}
