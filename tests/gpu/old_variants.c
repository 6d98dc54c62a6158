/* Calls the older variants of driver functions, as programs that were built with older headers
 * do. */
#define __CUDA_API_VERSION_INTERNAL /* makes cuda.h declare these variants without renaming any */
#include <stdlib.h>

#include "steps.h"

static void contexts(void)
{
    CUcontext primary, context;
    OK(cuCtxGetCurrent(&primary));
    for (unsigned version = 1; version <= 3; version++) {
        OK(version == 1   ? cuCtxCreate(&context, 0, 0)
           : version == 2 ? cuCtxCreate_v2(&context, 0, 0)
                          : cuCtxCreate_v3(&context, NULL, 0, 0, 0));
        steps_alloc(4 * MIB);
        step("context");
        OK(version == 1 ? cuCtxDestroy(context) : cuCtxDestroy_v2(context));
        counters.device -= 4 * MIB;
        OK(cuCtxSetCurrent(primary));
        step("context-destroyed");
    }
}

static void pinned(void)
{
    void *own = malloc(MIB), *host;
    CHECK(own);
    OK(cuMemAllocHost(&host, 2 * MIB));
    counters.pinned += 2 * MIB;
    step("host-alloc");
    OK(cuMemFreeHost(host));
    counters.pinned -= 2 * MIB;
    step("host-free");
    OK(cuMemHostRegister(own, MIB, 0));
    counters.pinned += MIB;
    step("register");
    OK(cuMemHostUnregister(own));
    counters.pinned -= MIB;
    step("unregister");
    free(own);
}

typedef CUresult instantiate_call(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);

static void launch(CUgraph graph, instantiate_call *instantiate)
{
    CUgraphExec exec;
    CUgraphNode node;
    CUgraphExecUpdateResult result;
    OK(instantiate(&exec, graph, NULL, NULL, 0));
    OK(cuGraphExecUpdate(exec, graph, &node, &result));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    step("graph-launched");
    OK(cuGraphExecDestroy(exec));
}

static void graphs(void)
{
    CUstream stream;
    CUgraph graph;
    const CUfunction kernel = steps_kernel();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
    OK(cuStreamEndCapture(stream, &graph));
    launch(graph, cuGraphInstantiate);
    launch(graph, cuGraphInstantiate_v2);
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
}

int main(void)
{
    steps_start();
    step("start");
    contexts();
    pinned();
    graphs();
    steps_alloc(2 * MIB);
    step("allocated");
    OK(cuDevicePrimaryCtxReset(0));
    counters.device -= 2 * MIB;
    CUcontext context;
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    step("reset");
    steps_alloc(2 * MIB);
    step("allocated-again");
    OK(cuDevicePrimaryCtxRelease(0));
    counters.device -= 2 * MIB;
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    step("end");
    return 0;
}
