/* CUDA graphs: each instantiation is an event, and so are the first upload, update and launch of
 * each executable, when its memory is allocated. A device's memory for memory nodes is a separate
 * level (GPU_LEVEL of pool 0). */
#include <cupti.h>

#include "core/record.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/hidden.h"

enum { EXECS = 1 << 13 };
enum { FIRST_LAUNCH = 1, FIRST_UPLOAD = 2, FIRST_UPDATE = 4, FIRST_ALL = 7 };
#define GONE ((CUgraphExec)1)

/* Executables and the first calls on them that are still to be measured: open addressing; entries
 * of destroyed ones are reused. When it is full, only the instantiation of later executables is
 * recorded. */
static struct exec {
    CUgraphExec handle;
    uint32_t first;
} exec_table[EXECS];

static unsigned first_place(CUgraphExec handle)
{
    return (unsigned)((uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 51);
}

static struct exec *find(CUgraphExec handle)
{
    for (unsigned i = 0; i < EXECS; i++) {
        struct exec *e = &exec_table[(first_place(handle) + i) % EXECS];
        const CUgraphExec there = __atomic_load_n(&e->handle, __ATOMIC_ACQUIRE);
        if (there == handle) return e;
        if (!there) return NULL;
    }
    return NULL;
}

static void add(CUgraphExec handle)
{
    for (unsigned i = 0; i < EXECS; i++) {
        struct exec *e = &exec_table[(first_place(handle) + i) % EXECS];
        CUgraphExec there = __atomic_load_n(&e->handle, __ATOMIC_ACQUIRE);
        if (there && there != GONE) continue;
        if (!__atomic_compare_exchange_n(&e->handle, &there, handle, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE))
            continue;
        __atomic_store_n(&e->first, FIRST_ALL, __ATOMIC_RELEASE);
        return;
    }
}

/* Returns true if this call on the executable is the first of its kind. */
static bool first_time(CUgraphExec handle, uint32_t flag)
{
    struct exec *e = find(handle);
    return e && __atomic_fetch_and(&e->first, ~flag, __ATOMIC_ACQ_REL) & flag;
}

/* Called before the call's GPU_RETURN, so that the change does not count as hidden memory. */
static void ask_level(CUdevice device)
{
    static uint64_t level[MPF_GPUS];
    cuuint64_t bytes;
    if (device < 0 || !MP_DRIVER_ASK(cuDeviceGetGraphMemAttribute, device,
                                     CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes))
        return;
    if (__atomic_exchange_n(&level[device], bytes, __ATOMIC_ACQ_REL) == bytes) return;
    mp_record(MPF_OP_GPU_LEVEL, mpf_heap_gpu(MPF_HEAP_DEVICE, (unsigned)device), 0, bytes);
}

/* The executable's place and the graph are the first parameters in all forms of the call. */
void mp_on_graph_instantiate(const struct mp_call *call)
{
    const cuGraphInstantiateWithFlags_params *p = call->params;
    if (call->enter) {
        mp_hidden_enter(call, MPF_CALL_GRAPH);
        return;
    }
    size_t nodes = 0;
    const bool ok = call->result == CUDA_SUCCESS;
    if (ok) add(*p->phGraphExec);
    if (!MP_DRIVER_ASK(cuGraphGetNodes, p->hGraph, NULL, &nodes)) nodes = 0;
    mp_device_context(call);
    mp_hidden_return(call, MPF_CALL_GRAPH, ok ? (uintptr_t)*p->phGraphExec : 0,
                     (uintptr_t)p->hGraph, nodes);
}

/* Handles a call that is measured only the first time on an executable. */
static void measure_first(const struct mp_call *call, CUgraphExec handle, uint32_t first,
                          enum mpf_gpu_call kind)
{
    if (call->enter) {
        *call->keep = 0;
        if (first_time(handle, first)) mp_hidden_enter(call, kind);
    } else if (*call->keep) {
        ask_level(mp_hidden_device(call));
        mp_hidden_return(call, kind, (uintptr_t)handle, 0, 0);
    }
}

void mp_on_graph_update(const struct mp_call *call)
{
    const cuGraphExecUpdate_v2_params *p = call->params;
    measure_first(call, p->hGraphExec, FIRST_UPDATE, MPF_CALL_GRAPH_UPDATE);
}

void mp_on_graph_upload(const struct mp_call *call)
{
    const cuGraphUpload_params *p = call->params;
    measure_first(call, p->hGraph, FIRST_UPLOAD, MPF_CALL_GRAPH_UPLOAD);
}

void mp_on_graph_launch(const struct mp_call *call)
{
    const cuGraphLaunch_params *p = call->params;
    measure_first(call, p->hGraph, FIRST_LAUNCH, MPF_CALL_GRAPH_LAUNCH);
}

void mp_on_graph_destroy(const struct mp_call *call)
{
    const cuGraphExecDestroy_params *p = call->params;
    if (call->enter) {
        struct exec *e = find(p->hGraphExec);
        if (e) __atomic_store_n(&e->handle, GONE, __ATOMIC_RELEASE);
        mp_hidden_enter(call, MPF_CALL_GRAPH_GONE);
        return;
    }
    ask_level(mp_hidden_device(call));
    mp_hidden_return(call, MPF_CALL_GRAPH_GONE, (uintptr_t)p->hGraphExec, 0, 0);
}

void mp_on_graph_trim(const struct mp_call *call)
{
    const cuDeviceGraphMemTrim_params *p = call->params;
    if (call->enter) {
        mp_hidden_enter_on(call, MPF_CALL_GRAPH_TRIM, p->device);
        return;
    }
    ask_level(mp_hidden_device(call));
    mp_hidden_return(call, MPF_CALL_GRAPH_TRIM, 0, 0, 0);
}
