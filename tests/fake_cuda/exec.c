/* Instantiated graphs. A launch uses memory that the device reserves for graphs. Graphs that run
 * one after the other share it. It stays reserved until cuDeviceGraphMemTrim releases the part that
 * no block uses. */
#include <stdlib.h>

#include "fake.h"

enum { RESOURCE_EXEC_CREATE_STARTING = 17, RESOURCE_EXEC_CREATED, RESOURCE_EXEC_DESTROY_STARTING };
enum { NODES_A_GRANULE = 4000 };

static void notify(unsigned cbid, CUgraphExec exec, CUgraph graph)
{
    struct fake_graph_data descriptor = { .graph = graph, .exec = exec };
    fake_resource(cbid, fake_current(), NULL, &descriptor);
}

FAKE_EXPORT uint32_t fake_cuda_exec_id(CUgraphExec exec) { return exec ? exec->id : 0; }

static uint64_t cost_of(CUgraph graph)
{
    return (1 + graph->count / NODES_A_GRANULE) * FAKE_GRANULE;
}

CUresult fake_exec_create(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    const CUcontext context = fake_current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    notify(RESOURCE_EXEC_CREATE_STARTING, NULL, graph);
    if (!fake_context_take(context, cost_of(graph))) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUgraphExec exec = calloc(1, sizeof *exec);
    if (!exec) abort();
    *exec =
        (struct CUgraphExec_st){ .id = fake_next_id(), .context = context, .cost = cost_of(graph) };
    exec->auto_free = flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    fake_graph_clone(&exec->graph, graph);
    *out = exec;
    notify(RESOURCE_EXEC_CREATED, exec, graph);
    return CUDA_SUCCESS;
}

/* Nodes can replace only nodes of the same kinds at the same places. */
CUresult fake_exec_update(CUgraphExec exec, CUgraph graph)
{
    if (exec->graph->count != graph->count) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    for (size_t i = 0; i < graph->count; i++) {
        if (exec->graph->nodes[i]->type != graph->nodes[i]->type)
            return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    return CUDA_SUCCESS;
}

CUresult fake_exec_destroy(CUgraphExec exec)
{
    notify(RESOURCE_EXEC_DESTROY_STARTING, exec, exec->graph);
    if (fake_context_alive(exec->context)) fake_context_give(exec->context, exec->cost);
    fake_graph_destroy(exec->graph);
    free(exec);
    return CUDA_SUCCESS;
}

/* ---- memory of the nodes ---- */

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t size_at(CUgraph graph, CUdeviceptr address)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i]->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
            graph->nodes[i]->address == address)
            return graph->nodes[i]->size;
    }
    return 0;
}

static uint64_t peak_of(CUgraph graph)
{
    uint64_t live = 0, peak = 0;
    for (size_t i = 0; i < graph->count; i++) {
        const struct CUgraphNode_st *node = graph->nodes[i];
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) peak = max(peak, live += node->size);
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_FREE) live -= size_at(graph, node->address);
    }
    return peak;
}

static bool reserve(struct fake_device *d, uint64_t bytes)
{
    const uint64_t reserved = fake_round_up(bytes, FAKE_GRANULE);
    if (reserved <= d->graphs.reserved) return true;
    if (!fake_take(d, reserved - d->graphs.reserved)) return false;
    d->graphs.reserved = reserved;
    d->graphs.reserved_high = max(d->graphs.reserved_high, reserved);
    return true;
}

static void run_node(CUgraphExec exec, const struct CUgraphNode_st *node)
{
    struct fake_graph_memory *memory = &fake_device(exec->context->device)->graphs;
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        fake_block_add((struct fake_block){ node->address, node->size, FAKE_GRAPH, exec->context,
                                            .exec = exec->id });
        memory->used += node->size;
        memory->used_high = max(memory->used_high, memory->used);
    } else if (node->type == CU_GRAPH_NODE_TYPE_MEM_FREE && fake_block_find(node->address)) {
        fake_block_free(fake_block_find(node->address));
    }
}

CUresult fake_exec_launch(CUgraphExec exec, CUstream stream)
{
    if (stream && stream->capture)
        return fake_graph_add(NULL, stream->capture, CU_GRAPH_NODE_TYPE_GRAPH);
    struct fake_block *block;
    while ((block = fake_block_of_exec(exec->id))) {
        if (!exec->auto_free) return CUDA_ERROR_INVALID_VALUE;
        fake_block_free(block);
    }
    struct fake_device *d = fake_device(exec->context->device);
    if (!reserve(d, d->graphs.used + peak_of(exec->graph))) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < exec->graph->count; i++) run_node(exec, exec->graph->nodes[i]);
    return fake_run_kernel(0);
}

void fake_graph_memory_free(const struct fake_block *block)
{
    fake_device(block->context->device)->graphs.used -= block->size;
}

CUresult fake_graph_memory_trim(CUdevice device)
{
    struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    const uint64_t keep = fake_round_up(d->graphs.used, FAKE_GRANULE);
    if (keep < d->graphs.reserved) fake_give(d, d->graphs.reserved - keep);
    d->graphs.reserved = keep;
    return CUDA_SUCCESS;
}

static uint64_t *attribute_of(struct fake_graph_memory *memory, CUgraphMem_attribute attribute)
{
    switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: return &memory->used;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: return &memory->used_high;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: return &memory->reserved;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: return &memory->reserved_high;
    }
    return NULL;
}

CUresult fake_graph_memory_get(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    struct fake_device *d = fake_device(device);
    const uint64_t *from = d ? attribute_of(&d->graphs, attribute) : NULL;
    if (!from) return CUDA_ERROR_INVALID_VALUE;
    *(cuuint64_t *)value = *from;
    return CUDA_SUCCESS;
}

/* A high-water mark can only be reset to 0. */
CUresult fake_graph_memory_reset(CUdevice device, CUgraphMem_attribute attribute, const void *value)
{
    struct fake_device *d = fake_device(device);
    const bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
                      attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    if (!d || !high || *(const cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    *attribute_of(&d->graphs, attribute) = 0;
    return CUDA_SUCCESS;
}
