/* Graphs are lists of nodes, because only the order of nodes matters for memory. */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { RESOURCE_GRAPH_CREATED = 9, RESOURCE_GRAPH_DESTROY_STARTING, RESOURCE_GRAPH_CLONED };

static CUgraph new_graph(void)
{
    const CUgraph graph = calloc(1, sizeof *graph);
    if (!graph) abort();
    graph->id = fake_next_id();
    return graph;
}

FAKE_EXPORT uint32_t fake_cuda_graph_id(CUgraph graph) { return graph ? graph->id : 0; }

CUresult fake_graph_create(CUgraph *out)
{
    *out = new_graph();
    struct fake_graph_data descriptor = { .graph = *out };
    fake_resource(RESOURCE_GRAPH_CREATED, fake_current(), NULL, &descriptor);
    return CUDA_SUCCESS;
}

CUresult fake_graph_destroy(CUgraph graph)
{
    struct fake_graph_data descriptor = { .graph = graph };
    fake_resource(RESOURCE_GRAPH_DESTROY_STARTING, fake_current(), NULL, &descriptor);
    for (size_t i = 0; i < graph->count; i++) free(graph->nodes[i]);
    free(graph->nodes);
    free(graph);
    return CUDA_SUCCESS;
}

static CUgraphNode append(CUgraph graph, struct CUgraphNode_st node)
{
    graph->nodes = realloc(graph->nodes, (graph->count + 1) * sizeof *graph->nodes);
    const CUgraphNode added = malloc(sizeof *added);
    if (!graph->nodes || !added) abort();
    *added = node;
    graph->nodes[graph->count++] = added;
    return added;
}

CUresult fake_graph_clone(CUgraph *out, CUgraph graph)
{
    *out = new_graph();
    for (size_t i = 0; i < graph->count; i++) append(*out, *graph->nodes[i]);
    struct fake_graph_data descriptor = { .graph = *out, .original_graph = graph };
    fake_resource(RESOURCE_GRAPH_CLONED, fake_current(), NULL, &descriptor);
    return CUDA_SUCCESS;
}

CUresult fake_graph_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    if (nodes) {
        if (*count > graph->count) *count = graph->count;
        memcpy(nodes, graph->nodes, *count * sizeof *nodes);
    } else {
        *count = graph->count;
    }
    return CUDA_SUCCESS;
}

static CUresult add(CUgraphNode *out, CUgraph graph, struct CUgraphNode_st node)
{
    const CUgraphNode added = append(graph, node);
    if (out) *out = added;
    return CUDA_SUCCESS;
}

CUresult fake_graph_add(CUgraphNode *out, CUgraph graph, CUgraphNodeType type)
{
    return add(out, graph, (struct CUgraphNode_st){ type });
}

/* The address is assigned now and stays that of the node. Memory is allocated at the launch. */
CUresult fake_graph_add_alloc(CUgraphNode *out, CUgraph graph, CUdeviceptr *address, size_t bytes)
{
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    *address = fake_address_take(bytes);
    return add(out, graph,
               (struct CUgraphNode_st){ CU_GRAPH_NODE_TYPE_MEM_ALLOC, *address, bytes });
}

CUresult fake_graph_add_free(CUgraphNode *out, CUgraph graph, CUdeviceptr address)
{
    return add(out, graph, (struct CUgraphNode_st){ CU_GRAPH_NODE_TYPE_MEM_FREE, address });
}
