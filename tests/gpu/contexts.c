/* Contexts that are destroyed while they have live blocks, which are then freed at once. */
#include <stdlib.h>

#include "steps.h"

static void pinned(void **out, size_t bytes)
{
    OK(cuMemAllocHost(out, bytes));
    counters.pinned += bytes;
}

/* Blocks of another context of the same device stay live. */
static void destroyed(void)
{
    CUcontext primary, first, second;
    void *host;
    OK(cuCtxGetCurrent(&primary));
    const CUdeviceptr before = steps_alloc(3 * MIB);
    OK(cuCtxCreate(&first, NULL, 0, 0));
    steps_alloc(4 * MIB);
    pinned(&host, MIB);
    OK(cuCtxCreate(&second, NULL, 0, 0));
    const CUdeviceptr other = steps_alloc(8 * MIB);
    step("two-contexts");
    OK(cuCtxDestroy(first));
    counters.device -= 4 * MIB;
    counters.pinned -= MIB;
    step("first-destroyed");
    steps_free(other, 8 * MIB);
    OK(cuCtxDestroy(second));
    OK(cuCtxSetCurrent(primary));
    step("second-destroyed");
    steps_free(before, 3 * MIB);
    step("primary-again");
}

static CUcontext retain(CUdevice device)
{
    CUcontext context;
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    return context;
}

static void reset(void)
{
    void *host, *own = malloc(MIB);
    CUdeviceptr managed;
    CHECK(own);
    steps_alloc(6 * MIB);
    pinned(&host, 2 * MIB);
    OK(cuMemHostRegister(own, MIB, 0));
    counters.pinned += MIB;
    OK(cuMemAllocManaged(&managed, 3 * MIB, CU_MEM_ATTACH_GLOBAL));
    counters.managed += 3 * MIB;
    step("before-reset");
    OK(cuDevicePrimaryCtxReset(0));
    counters.device = counters.pinned = counters.managed = 0;
    retain(0);
    step("reset");
    free(own);
    const CUdeviceptr after = steps_alloc(MIB);
    step("after-reset");
    steps_free(after, MIB);
}

/* Nothing here belongs to device 0. */
static void other_device(void)
{
    int count;
    OK(cuDeviceGetCount(&count));
    if (count < 2) return;
    retain(1);
    CUdeviceptr address;
    OK(cuMemAlloc(&address, 7 * MIB));
    step("other-device");
    OK(cuMemFree(address));
    OK(cuDevicePrimaryCtxRelease(1));
    retain(0);
    step("other-device-released");
}

static void green(void)
{
    CUdevResource resource;
    CUdevResourceDesc description;
    CUgreenCtx green_context;
    CUcontext context;
    CUstream stream;
    OK(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
    OK(cuDevResourceGenerateDesc(&description, &resource, 1));
    OK(cuGreenCtxCreate(&green_context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuCtxFromGreenCtx(&context, green_context));
    OK(cuGreenCtxStreamCreate(&stream, green_context, CU_STREAM_NON_BLOCKING, 0));
    OK(cuCtxPushCurrent(context));
    const CUdeviceptr address = steps_alloc(2 * MIB);
    step("green");
    steps_free(address, 2 * MIB);
    OK(cuCtxPopCurrent(&context));
    OK(cuStreamDestroy(stream));
    OK(cuGreenCtxDestroy(green_context));
    step("green-destroyed");
}

int main(void)
{
    steps_start();
    step("start");
    destroyed();
    other_device();
    green();
    reset();
    step("end");
    return 0;
}
