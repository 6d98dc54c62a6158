/* CUDA graphs with memory nodes. Capture and instantiation allocate nothing, and the first launch
 * allocates everything. */
#include <stdbool.h>
#include <stdio.h>

#include "steps.h"

enum { BURSTS = 3, GRAPHS = 4, KERNELS = 10 };
#define BUFFER (32 * MIB)

static CUstream stream;

static void launch_kernels(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        OK(cuLaunchKernel(steps_kernel(), 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

/* @left: set if the graph does not free its buffer. */
static CUgraph capture(CUdeviceptr *left)
{
    CUgraph graph;
    CUdeviceptr buffer;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&buffer, BUFFER, stream));
    launch_kernels(KERNELS);
    size_t available, total;
    OK(cuMemGetInfo(&available, &total));
    if (left) *left = buffer;
    else OK(cuMemFreeAsync(buffer, stream));
    OK(cuStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    OK(cuGraphGetNodes(graph, NULL, &nodes));
    CHECK(nodes == KERNELS + 1 + !left);
    return graph;
}

static CUgraphExec instantiate(CUgraph graph, bool with_params)
{
    CUgraphExec exec;
    CUDA_GRAPH_INSTANTIATE_PARAMS params = { .flags = 0 };
    OK(with_params ? cuGraphInstantiateWithParams(&exec, graph, &params)
                   : cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

static void launch(CUgraphExec exec)
{
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
}

static void mark(unsigned burst, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "burst-%u-%s", burst, what);
    step(name);
}

static void burst(unsigned n)
{
    CUgraph graphs[GRAPHS];
    CUgraphExec execs[GRAPHS];
    for (unsigned i = 0; i < GRAPHS; i++) graphs[i] = capture(NULL);
    mark(n, "captured");
    for (unsigned i = 0; i < GRAPHS; i++) execs[i] = instantiate(graphs[i], i % 2);
    mark(n, "instantiated");
    for (unsigned i = 0; i < GRAPHS; i++) launch(execs[i]);
    mark(n, "launched");
    for (unsigned i = 0; i < GRAPHS; i++) launch(execs[i]);
    mark(n, "launched-again");
    for (unsigned i = 0; i < GRAPHS; i++) {
        OK(cuGraphExecDestroy(execs[i]));
        OK(cuGraphDestroy(graphs[i]));
    }
    mark(n, "destroyed");
    OK(cuDeviceGraphMemTrim(0));
    mark(n, "trimmed");
}

/* Graphs with memory nodes cannot be updated. Other graphs can. */
static void update(void)
{
    CUgraph first, second;
    CUgraphExecUpdateResultInfo info;
    for (unsigned i = 0; i < 2; i++) {
        OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        launch_kernels(KERNELS);
        OK(cuStreamEndCapture(stream, i ? &second : &first));
    }
    const CUgraphExec exec = instantiate(first, false);
    OK(cuGraphUpload(exec, stream));
    launch(exec);
    OK(cuGraphExecUpdate(exec, second, &info));
    launch(exec);
    step("updated");
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(first));
    OK(cuGraphDestroy(second));
}

/* The program must free memory that a graph leaves allocated. */
static void left_allocated(void)
{
    CUdeviceptr buffer;
    const CUgraph graph = capture(&buffer);
    const CUgraphExec exec = instantiate(graph, false);
    launch(exec);
    step("left-allocated");
    OK(cuDeviceGraphMemTrim(0));
    step("left-allocated-trimmed");
    OK(cuMemFreeAsync(buffer, stream));
    OK(cuStreamSynchronize(stream));
    step("left-freed");
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuDeviceGraphMemTrim(0));
    step("left-trimmed");
}

static void built_by_hand(void)
{
    CUgraph graph;
    CUgraphNode alloc, end;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .poolProps.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
        .bytesize = BUFFER,
    };
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    OK(cuGraphAddMemFreeNode(&end, graph, &alloc, 1, params.dptr));
    step("built");
    const CUgraphExec exec = instantiate(graph, true);
    launch(exec);
    step("built-launched");
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuDeviceGraphMemTrim(0));
    step("built-trimmed");
}

/* An allocation that a capture forbids fails, but is not an out-of-memory event. */
static void forbidden(void)
{
    CUgraph graph;
    CUdeviceptr none;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REFUSED(cuMemAlloc(&none, MIB), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    REFUSED(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    step("forbidden-by-capture");
}

int main(void)
{
    steps_start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    steps_kernel();
    step("start");
    for (unsigned i = 0; i < BURSTS; i++) burst(i);
    update();
    left_allocated();
    built_by_hand();
    forbidden();
    OK(cuStreamDestroy(stream));
    step("end");
    return 0;
}
