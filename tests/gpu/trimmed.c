/* The driver trims a stream-ordered pool for a plain allocation that would not fit otherwise. */
#include "steps.h"

enum { BLOCKS = 14 };

/* Leaves the default pool with BLOCKS * bytes that no block uses. */
static void fill_pool(size_t bytes)
{
    CUdeviceptr block[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++) OK(cuMemAllocAsync(&block[i], bytes, NULL));
    for (unsigned i = 0; i < BLOCKS; i++) OK(cuMemFreeAsync(block[i], NULL));
    OK(cuCtxSynchronize());
}

int main(void)
{
    size_t available, total;
    steps_start();
    OK(cuMemGetInfo(&available, &total));
    const size_t part = available / 20 / (2 * MIB) * (2 * MIB), large = 10 * part;
    fill_pool(part);
    step("pool-keeps");
    const CUdeviceptr block = steps_alloc(large);
    step("taken-by-an-allocation");
    steps_free(block, large);
    step("freed");
    fill_pool(part);
    step("pool-keeps-again");
    CUmemGenericAllocationHandle handle;
    OK(cuMemCreate(&handle, large, &steps_physical, 0));
    counters.device += large;
    step("taken-by-a-handle");
    OK(cuMemRelease(handle));
    counters.device -= large;
    step("released");
    fill_pool(part);
    CUdeviceptr none;
    REFUSED(cuMemAlloc(&none, 40 * part), CUDA_ERROR_OUT_OF_MEMORY);
    step("refused");
    return 0;
}
