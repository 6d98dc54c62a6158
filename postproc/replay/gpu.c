/* Dispatches the events of device memory to the parts, one part a file. */
#include "gpu.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backward.h"
#include "device_snapshots.h"
#include "mpf/header.h"
#include "mpf/slot.h"

void mpr_gpu_init(struct mpr_gpu *g)
{
    for (int i = 0; i < MPF_GPUS; i++)
        g->device[i].used = g->device[i].others = g->device[i].total = g->device[i].file_cache =
            MPF_UNKNOWN;
}

void mpr_gpu_free(struct mpr_gpu *g)
{
    free(g->driver.at);
    mpr_index_free(&g->driver.number);
    free(g->torch.at);
    mpr_index_free(&g->torch.number);
    for (int i = 0; i < MPF_GPUS; i++) mpr_device_snapshot_free(&g->device[i].peak);
    free(g->object);
    mpr_index_free(&g->handles);
    mpr_index_free(&g->owed);
    mpr_intervals_free(&g->maps);
    mpr_intervals_free(&g->unmapped);
    free(g->slept);
    mpr_index_free(&g->slept_at);
    for (uint32_t i = 0; i < g->pools; i++) free(g->pool[i].part);
    free(g->pool);
    mpr_index_free(&g->pool_of);
    free(g->comms.comm);
    free(g->comms.schema);
    mpr_index_free(&g->comms.number);
    mpr_index_free(&g->comms.newest);
    free(g->guess);
    free(g->capture);
    mpr_index_free(&g->captured);
    free(g->shared);
    mpr_index_free(&g->shared_of);
    free(g->graph);
    mpr_index_free(&g->executable);
    for (uint32_t i = 0; i < g->ooms; i++) mpr_device_snapshot_free(&g->oom[i].snapshot);
    free(g->oom);
}

/* ---- descriptions and levels */

static void copy(char *out, size_t cap, const char *value)
{
    strncpy(out, value, cap - 1);
    out[cap - 1] = 0;
}

static void on_device(struct mpr_replay *r, const struct mpf_event *e)
{
    const char *at = (const char *)e->data, *end = at + e->size, *key, *value;
    if (e->addr >= MPF_GPUS) return;
    struct mpr_gpu_device *d = &r->gpu.device[e->addr];
    d->seen = true;
    while (mpf_pairs_next(&at, end, &key, &value) == 1) {
        if (!strcmp(key, "uuid")) copy(d->uuid, sizeof d->uuid, value);
        else if (!strcmp(key, "name")) copy(d->name, sizeof d->name, value);
        else if (!strcmp(key, "cupti.off")) copy(d->off, sizeof d->off, value);
        else if (!strcmp(key, "used.off")) copy(d->used_off, sizeof d->used_off, value);
        else if (!strcmp(key, "by_name")) copy(d->by_name, sizeof d->by_name, value);
        else if (!strcmp(key, "shared")) d->shared = true;
        else if (!strcmp(key, "total")) d->total = strtoull(value, NULL, 10);
    }
}

static void on_return(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const uint64_t context = mpr_gpu_word(e, MPF_RETURN_A);
    mpr_gpu_take_snapshots(r);
    if (mpr_gpu_word(e, MPF_RETURN_CALL) == MPF_CALL_CONTEXT_GONE && context)
        mpr_gpu_free_context(r, context);
    mpr_hidden_return(r, t, e);
}

static void on_torch_level(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_gpu_device *d = &r->gpu.device[mpf_heap_device(e->heap)];
    d->torch_reserved = e->addr;
    if (e->addr > d->torch_reserved_peak) d->torch_reserved_peak = e->addr;
}

/* ---- dispatch */

static void apply(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_ALLOC: mpr_gpu_alloc(r, t, e); break;
    case MPF_OP_FREE: mpr_gpu_torch_free(r, e); break;
    case MPF_OP_MOVE_BEGIN: mpr_gpu_free_begin(r, t, e); break;
    case MPF_OP_MOVE_END: mpr_gpu_free_end(r, t); break;
    case MPF_OP_FAIL: mpr_gpu_free_failed(r, t); break;
    case MPF_OP_GPU_DEVICE: on_device(r, e); break;
    case MPF_OP_GPU_CONTEXT: t->gpu.context = e->addr; break;
    case MPF_OP_GPU_ENTER: mpr_hidden_enter(r, t, e); break;
    case MPF_OP_GPU_RETURN: on_return(r, t, e); break;
    case MPF_OP_GPU_FAIL: mpr_oom_driver(r, t, e); break;
    case MPF_OP_GPU_LEVEL: mpr_pool_level(r, t, e); break;
    case MPF_OP_SAMPLE_GPU: mpr_hidden_sample(r, e); break;
    case MPF_OP_HANDLE_NEW: mpr_handle_new(r, t, e); break;
    case MPF_OP_HANDLE_IMPORT: mpr_handle_import(r, e->addr); break;
    case MPF_OP_HANDLE_RETAIN: mpr_handle_retain(r, e->addr, mpr_gpu_word(e, 0)); break;
    case MPF_OP_HANDLE_DROP: mpr_handle_drop(r, e->addr); break;
    case MPF_OP_HANDLE_MAP:
        mpr_handle_map(r, e->addr, mpr_gpu_word(e, 0), mpr_gpu_word(e, 1));
        break;
    case MPF_OP_HANDLE_UNMAP: mpr_handle_unmap(r, e->addr, e->size); break;
    case MPF_OP_TORCH_LEVEL: on_torch_level(r, e); break;
    case MPF_OP_TORCH_OOM: mpr_oom_torch(r, t, e); break;
    case MPF_OP_TORCH_CAPTURE:
    case MPF_OP_CAPTURE_BEGIN: mpr_graph_capture(r, t, e); break;
    case MPF_OP_TORCH_CAPTURE_END:
    case MPF_OP_CAPTURE_END: mpr_graph_capture_end(r, t, e); break;
    case MPF_OP_TORCH_GRAPH_RESET: mpr_graph_reset(&r->gpu, e->addr, e->time); break;
    case MPF_OP_TORCH_NEXT:
        if (mpr_backward_is_known(r)) mpr_forward_next(r, t, e);
        break;
    case MPF_OP_TORCH_NODE:
        if (mpr_backward_is_known(r)) mpr_backward_node(r, t, e);
        break;
    case MPF_OP_SCHEMA: mpr_comms_schema(&r->gpu.comms, e); break;
    case MPF_OP_MODULE:
    case MPF_OP_STACK_CUT:
    case MPF_OP_STACK:
    case MPF_OP_FRAME:
    case MPF_OP_PYTHON: mpr_sites_event(&r->sites, &r->ranges, e); break;
    default: break;
    }
}

/* The operations from MODULE on define call stacks. They leave the call stack of the thread's next
 * event in place. */
static_assert(MPF_OP_CAPTURE_END < MPF_OP_MODULE, "operations on memory have the lower codes");
void mpr_gpu_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (r->gpu.windows) mpr_gpu_close_windows(r);
    if (r->gpu.instants && e->op < MPF_OP_MODULE)
        mpr_device_snapshots_before_event(r->gpu.instants, r);
    apply(r, t, e);
    if (e->op < MPF_OP_MODULE && e->op != MPF_OP_GPU_CONTEXT) t->at = (struct mpr_site){ 0, 0 };
}
