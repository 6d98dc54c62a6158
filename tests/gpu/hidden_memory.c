/* Device memory that no allocation call requests: a module, streams, a stack limit. The last block
 * is an ordinary one. A test that suppresses its callback also makes it hidden. */
#include "steps.h"

enum { STREAMS = 4, STACK = 8192 };
#define RAW (512 * MIB)

int main(void)
{
    steps_start();
    step("start");
    CUmodule module;
    CUfunction kernel;
    OK(cuModuleLoadData(&module, steps_ptx));
    OK(cuModuleGetFunction(&kernel, module, "nothing"));
    step("module");
    CUstream streams[STREAMS];
    for (unsigned i = 0; i < STREAMS; i++) OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    step("streams");
    OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, streams[0], NULL, NULL));
    OK(cuCtxSynchronize());
    step("launched");
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, STACK));
    step("limit");
    OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, streams[0], NULL, NULL));
    OK(cuCtxSynchronize());
    step("launched-with-limit");
    const CUdeviceptr raw = steps_alloc(RAW);
    step("raw");
    steps_free(raw, RAW);
    for (unsigned i = 0; i < STREAMS; i++) OK(cuStreamDestroy(streams[i]));
    OK(cuModuleUnload(module));
    step("end");
    return 0;
}
