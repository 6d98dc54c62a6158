/* Internals of the stand-in driver: a small model of a machine with GPUs, as far as a memory
 * profiler can observe it.
 *
 * One recursive lock (call.c) protects all of it, and everything here is called under it. CUDA's
 * opaque handles are pointers to the structs below. A destroyed handle is as invalid as a dangling
 * pointer, except for contexts, addresses and memory handles. Sizes are bytes. Functions that
 * return CUresult do the same as the driver call of that name. */
#ifndef FAKE_H
#define FAKE_H

#define __CUDA_API_VERSION_INTERNAL /* makes cuda.h also declare the older variants of calls */
#include <stddef.h>

#include "fake_cuda.h"

#define FAKE_GRANULE (2ull << 20)
enum { FAKE_PROCESSORS = 132, FAKE_PROCESSOR_THREADS = 2048 };
#define FAKE_EXPORT __attribute__((visibility("default")))

static inline uint64_t fake_round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* ---- call.c: the lock, callbacks, cuInit ---- */

struct fake_call {
    unsigned cbid;
    const char *name;
    const void *params;
    uint32_t correlation;
    uint64_t data[FAKE_TOOLS]; /* the tools' words, from entry to exit */
    bool notified;
};
void fake_lock(void);
void fake_unlock(void);
/* Runs the tool's callback, then takes the lock. Returns CUDA_SUCCESS if the driver can serve
 * calls. */
CUresult fake_enter(struct fake_call *call);
/* Releases the lock, then runs the tool's callback. Returns `result`. */
CUresult fake_leave(struct fake_call *call, CUresult result);
CUresult fake_init(unsigned flags);
void fake_resource(unsigned cbid, CUcontext context, CUstream stream, void *descriptor);
uint32_t fake_next_id(void);

/* ---- api.c, entry.c: functions by their names ---- */

/* By exact name, or NULL for a call that the stand-in does not have. */
void *fake_function(const char *name);
CUresult fake_entry(const char *symbol, void **out, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult *status);

/* ---- device.c: devices, their physical memory, addresses ---- */

struct fake_graph_memory {
    uint64_t reserved, reserved_high, used, used_high;
};

struct fake_device {
    unsigned number; /* its number in the machine; its index is its number in the process */
    uint64_t total, others;
    uint64_t whole;  /* in whole granules */
    uint64_t packed; /* in small pieces that share granules */
    CUcontext primary;
    CUmemoryPool default_pool, pool;
    struct fake_graph_memory graphs;
};
struct fake_device *fake_device(CUdevice device); /* NULL for an invalid index */
unsigned fake_device_count(void);
uint64_t fake_used(const struct fake_device *device);
/* Takes physical memory. Returns false if the device has too little left. */
bool fake_take(struct fake_device *device, uint64_t bytes);
void fake_give(struct fake_device *device, uint64_t bytes);
/* Takes device addresses. The most recently released ones are used first. */
CUdeviceptr fake_address_take(uint64_t bytes);
void fake_address_give(CUdeviceptr address, uint64_t bytes);

CUresult fake_device_get(CUdevice *out, int ordinal);
CUresult fake_device_name(char *name, int length, CUdevice device);
CUresult fake_device_uuid(CUuuid *uuid, CUdevice device);
CUresult fake_device_total(size_t *bytes, CUdevice device);
CUresult fake_device_pci(char *text, int length, CUdevice device);
CUresult fake_device_attribute(int *value, CUdevice_attribute attribute, CUdevice device);

/* ---- context.c ---- */

struct CUctx_st {
    CUcontext next; /* in the list of live contexts */
    uint32_t uid;
    CUdevice device;
    unsigned references; /* of a primary context */
    unsigned streams;    /* number of streams created so far */
    size_t stack_limit;  /* per GPU thread, as set by the program */
    uint64_t stack;      /* bytes that launches made resident so far */
    uint64_t base;       /* bytes of the context itself */
    uint64_t code;       /* bytes of its modules and streams, in whole granules */
};
CUcontext fake_current(void);                  /* the calling thread's context, or NULL */
struct fake_device *fake_current_device(void); /* NULL without a context */
bool fake_context_alive(CUcontext context);
/* Takes bytes for a module or stream of this context. They are released with the context. */
bool fake_context_take(CUcontext context, uint64_t bytes);
void fake_context_give(CUcontext context, uint64_t bytes);

CUresult fake_context_create(CUcontext *out, CUdevice device);
CUresult fake_context_destroy(CUcontext context);
CUresult fake_context_push(CUcontext context);
CUresult fake_context_pop(CUcontext *out);
CUresult fake_context_set(CUcontext context);
CUresult fake_context_get(CUcontext *out);
CUresult fake_context_device(CUdevice *out, CUcontext context);
CUresult fake_context_set_limit(CUlimit limit, size_t value);
CUresult fake_context_get_limit(size_t *value, CUlimit limit);
CUresult fake_primary_retain(CUcontext *out, CUdevice device);
CUresult fake_primary_release(CUdevice device);
CUresult fake_primary_reset(CUdevice device);
CUresult fake_primary_state(CUdevice device, unsigned *flags, int *active);
CUresult fake_mem_info(size_t *available, size_t *total);
/* Runs a kernel, whose threads need `local` bytes each, in the current context. */
CUresult fake_run_kernel(size_t local);
CUresult fake_green_resource(CUdevice device, CUdevResource *resource, CUdevResourceType type);
CUresult fake_green_describe(CUdevResourceDesc *out, CUdevResource *resources, unsigned count);
CUresult fake_green_create(CUgreenCtx *out, CUdevice device);
CUresult fake_green_destroy(CUgreenCtx green);
CUresult fake_green_context(CUcontext *out, CUgreenCtx green);
CUresult fake_green_stream(CUstream *out, CUgreenCtx green);

/* ---- block.c: all memory that has an address, in one table ---- */

enum fake_kind {
    FAKE_DEVICE,
    FAKE_MANAGED,
    FAKE_PINNED,
    FAKE_REGISTERED,
    FAKE_ARRAY,
    FAKE_POOLED,
    FAKE_GRAPH
};

struct fake_block {
    CUdeviceptr address;
    uint64_t size;
    enum fake_kind kind;
    CUcontext context; /* in which it was allocated, or NULL */
    CUmemoryPool pool; /* of FAKE_POOLED */
    uint32_t exec;     /* of FAKE_GRAPH: the ID of the exec whose launch allocated it */
};
/* Returns NULL if there is none. Valid until the table changes. */
struct fake_block *fake_block_find(CUdeviceptr address); /* the block that starts there */
struct fake_block *fake_block_around(CUdeviceptr address);
CUresult fake_block_add(struct fake_block block);
void fake_block_remove(struct fake_block *block);
/* Releases its memory and address, and removes it. */
void fake_block_free(struct fake_block *block);
/* Frees the blocks of the context. */
void fake_block_end_context(CUcontext context);
/* Returns a block that a launch of this exec left allocated, or NULL. */
struct fake_block *fake_block_of_exec(uint32_t exec);

/* ---- memory.c: allocations that are blocks ---- */

CUresult fake_mem_alloc(CUdeviceptr *out, size_t bytes);
CUresult fake_mem_alloc_pitch(CUdeviceptr *out, size_t *pitch, size_t width, size_t height);
CUresult fake_mem_alloc_managed(CUdeviceptr *out, size_t bytes);
CUresult fake_mem_free(CUdeviceptr address);
CUresult fake_host_alloc(void **out, size_t bytes);
CUresult fake_host_register(void *address, size_t bytes);
CUresult fake_host_free(void *address, enum fake_kind kind);
CUresult fake_array_create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels);
CUresult fake_flat_array_create(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *shape);
CUresult fake_array_destroy(CUarray array);
CUresult fake_pointer_attribute(void *value, CUpointer_attribute attribute, CUdeviceptr address);
CUresult fake_pointer_attributes(unsigned count, CUpointer_attribute *attributes, void **values,
                                 CUdeviceptr address);
CUresult fake_address_range(CUdeviceptr *base, size_t *size, CUdeviceptr address);

/* ---- pool.c: stream-ordered pools. Streams do not run, so a free takes effect immediately.
 * ---- */

struct CUmemPoolHandle_st {
    CUmemoryPool next;
    CUdevice device;
    uint64_t used, used_high, reserved, reserved_high;
    uint64_t threshold; /* reserved bytes that a synchronisation does not release */
    bool host;          /* a pool of host memory, which uses no device memory */
};
CUresult fake_pool_create(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult fake_pool_destroy(CUmemoryPool pool);
CUresult fake_pool_trim(CUmemoryPool pool, uint64_t keep);
/* Releases unused memory of the device's pools. Returns false if there was none. */
bool fake_pools_trim(const struct fake_device *d);
CUresult fake_pool_get(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult fake_pool_set(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult fake_pool_default(CUmemoryPool *out, CUdevice device);
CUresult fake_pool_current(CUmemoryPool *out, CUdevice device);
CUresult fake_pool_choose(CUdevice device, CUmemoryPool pool);
/* @pool: NULL means the current pool of the stream's device. */
CUresult fake_pool_alloc(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream);
CUresult fake_pool_free(CUdeviceptr address, CUstream stream);
void fake_pool_give_back(CUmemoryPool pool, uint64_t bytes);
/* The program waited for the current device, so pools shrink to their thresholds. */
CUresult fake_synchronize(void);

/* ---- vmm.c: physical memory with handles ---- */

CUresult fake_vmm_create(CUmemGenericAllocationHandle *out, size_t size,
                         const CUmemAllocationProp *prop);
CUresult fake_vmm_release(CUmemGenericAllocationHandle handle);
CUresult fake_vmm_retain(CUmemGenericAllocationHandle *out, CUdeviceptr address);
CUresult fake_vmm_export(void *out, CUmemGenericAllocationHandle handle,
                         CUmemAllocationHandleType type);
CUresult fake_vmm_import(CUmemGenericAllocationHandle *out, void *os_handle,
                         CUmemAllocationHandleType type);
CUresult fake_vmm_properties(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle);
CUresult fake_vmm_granularity(size_t *out, const CUmemAllocationProp *prop);
CUresult fake_vmm_map(CUdeviceptr address, size_t size, size_t offset,
                      CUmemGenericAllocationHandle handle);
CUresult fake_vmm_unmap(CUdeviceptr address, size_t size);
CUresult fake_vmm_access(CUdeviceptr address, size_t size);
CUresult fake_vmm_reserve(CUdeviceptr *out, size_t size);
CUresult fake_vmm_unreserve(CUdeviceptr address, size_t size);
CUresult fake_multicast_create(CUmemGenericAllocationHandle *out,
                               const CUmulticastObjectProp *prop);
CUresult fake_multicast_bind(CUmemGenericAllocationHandle cast,
                             CUmemGenericAllocationHandle handle);
CUresult fake_multicast_bind_address(CUmemGenericAllocationHandle cast, CUdeviceptr address);
CUresult fake_multicast_unbind(CUmemGenericAllocationHandle cast);

/* ---- object.c: modules, libraries, streams, events ---- */

struct CUstream_st {
    CUcontext context;
    CUstreamCaptureMode mode; /* of the running capture */
    CUgraph capture;          /* NULL unless a capture runs */
    bool to_graph;            /* the graph belonged to the caller before */
    bool invalid;             /* the capture is broken */
    CUstream next_capture;
};
CUresult fake_module_load(CUmodule *out, const void *image);
CUresult fake_module_unload(CUmodule module);
CUresult fake_module_function(CUfunction *out, CUmodule module, const char *name);
/* Returns the bytes of local memory that a thread of the function needs. */
size_t fake_function_local_bytes(CUfunction function);
CUresult fake_library_load(CUlibrary *out, const void *image);
CUresult fake_library_unload(CUlibrary library);
CUresult fake_library_kernel(CUkernel *out, CUlibrary library);
CUresult fake_kernel_function(CUfunction *out, CUkernel kernel);
CUresult fake_stream_create(CUstream *out, CUcontext context);
CUresult fake_stream_destroy(CUstream stream);
CUresult fake_event_create(CUevent *out);
CUresult fake_event_destroy(CUevent event);

/* ---- capture.c: streams that record a graph ---- */

/* Called by a call that may wait for the device. Breaks the captures that forbid it, or returns
 * CUDA_SUCCESS. */
CUresult fake_capture_unsafe(void);
CUresult fake_capture_begin(CUstream stream, CUgraph graph, CUstreamCaptureMode mode);
CUresult fake_capture_end(CUstream stream, CUgraph *out);
CUresult fake_capture_status(CUstream stream, CUstreamCaptureStatus *out);
CUresult fake_capture_info(CUstream stream, CUstreamCaptureStatus *out, cuuint64_t *id,
                           CUgraph *graph);
CUresult fake_capture_exchange_mode(CUstreamCaptureMode *mode);
/* Launches a kernel into a stream: it runs, or becomes a node. */
CUresult fake_launch(CUfunction function, CUstream stream);

/* ---- graph.c: graphs and their nodes ---- */

/* The same as CUPTI's CUpti_GraphData. CUPTI's header cannot be included with the older variants
 * that cuda.h declares here. */
struct fake_graph_data {
    CUgraph graph, original_graph;
    CUgraphNode node, original_node;
    CUgraphNodeType node_type;
    CUgraphNode dependency;
    CUgraphExec exec;
};
struct CUgraphNode_st {
    CUgraphNodeType type;
    CUdeviceptr address; /* of memory nodes */
    uint64_t size;       /* of a MEM_ALLOC node */
};
struct CUgraph_st {
    uint32_t id;
    size_t count;
    CUgraphNode *nodes;
};
CUresult fake_graph_create(CUgraph *out);
CUresult fake_graph_destroy(CUgraph graph);
CUresult fake_graph_clone(CUgraph *out, CUgraph graph);
CUresult fake_graph_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count);
CUresult fake_graph_add(CUgraphNode *out, CUgraph graph, CUgraphNodeType type);
CUresult fake_graph_add_alloc(CUgraphNode *out, CUgraph graph, CUdeviceptr *address, size_t bytes);
CUresult fake_graph_add_free(CUgraphNode *out, CUgraph graph, CUdeviceptr address);

/* ---- exec.c: instantiated graphs and the memory of their nodes ---- */

struct CUgraphExec_st {
    uint32_t id;
    CUcontext context;
    CUgraph graph;  /* a copy */
    uint64_t cost;  /* bytes of the instantiated graph itself */
    bool auto_free; /* a launch frees the memory that the previous one left allocated */
};
CUresult fake_exec_create(CUgraphExec *out, CUgraph graph, unsigned long long flags);
CUresult fake_exec_update(CUgraphExec exec, CUgraph graph);
CUresult fake_exec_launch(CUgraphExec exec, CUstream stream);
CUresult fake_exec_destroy(CUgraphExec exec);
CUresult fake_graph_memory_trim(CUdevice device);
CUresult fake_graph_memory_get(CUdevice device, CUgraphMem_attribute attribute, void *value);
CUresult fake_graph_memory_reset(CUdevice device, CUgraphMem_attribute attribute,
                                 const void *value);
/* Called when a block that a graph left allocated is freed. */
void fake_graph_memory_free(const struct fake_block *block);

#endif
