/* CUDA graphs: captures, the pools that captures allocate from, and executable graphs. */
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "amount.h"
#include "gpu.h"
#include "index.h"

/* ---- captures */

/* Captures that begin less than this after the end of the previous one belong together. */
#define BURST_NS UINT64_C(1000000000)

/* Called when a graph no longer holds the pool. */
static void release_pool(struct mpr_graph_pool *s, uint64_t time)
{
    s->holding--;
    if (time > s->until) s->until = time;
}

/* Called when PyTorch's graph object has released its pool. */
static void reset(struct mpr_gpu *g, uint64_t graph, uint64_t time)
{
    const uint32_t number = mpr_index_get(&g->captured, graph);
    if (!number) return;
    struct mpr_capture *c = &g->capture[number - 1];
    c->reset = time;
    if (c->shared) release_pool(&g->shared[c->shared - 1], time);
    mpr_index_set(&g->captured, graph, 0);
}

static void on_capture(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_gpu *g = &r->gpu;
    const bool torch = e->op == MPF_OP_TORCH_CAPTURE;
    /* One object captures only once, so this is another object at the same address. */
    if (torch) reset(g, e->addr, e->time);
    if (t->gpu.capture) {
        t->gpu.torch_began_capture = false;
        return;
    }
    MPR_GROW(g->capture, g->captures, g->capture_cap);
    const struct mpr_capture *last = g->captures ? &g->capture[g->captures - 1] : NULL;
    const uint32_t burst = !last                             ? 1
                           : e->time - last->time < BURST_NS ? last->burst
                                                             : last->burst + 1;
    g->capture[g->captures++] = (struct mpr_capture){ .time = e->time,
                                                      .graph = torch ? e->addr : 0,
                                                      .thread = t->number,
                                                      .node = mpr_thread_inherited_path(r, t, NULL),
                                                      .burst = burst };
    if (torch && e->addr) mpr_index_set(&g->captured, e->addr, g->captures);
    t->gpu.capture = g->captures;
    t->gpu.torch_capture = torch;
    /* Without driver blocks in the log, the driver's calls, which show its capture, are not
     * recorded. */
    t->gpu.torch_began_capture = torch && g->driver.live;
}

static void on_capture_end(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_gpu *g = &r->gpu;
    const bool torch = e->op == MPF_OP_TORCH_CAPTURE_END;
    if (!t->gpu.capture || (t->gpu.torch_capture && !torch)) return;
    struct mpr_capture *c = &g->capture[t->gpu.capture - 1];
    if (torch)
        for (unsigned i = 0; i < 2; i++) c->pool[i] = mpr_gpu_word(e, i);
    if (torch && (c->pool[0] || c->pool[1])) {
        const uint64_t hash = mpr_hash(mpr_hash(c->pool[0]) + c->pool[1]);
        MPR_INDEX_EACH(number, &g->shared_of, hash)
            if (!memcmp(g->shared[number - 1].pool, c->pool, sizeof c->pool)) c->shared = number;
        if (!c->shared) {
            *MPR_ADD(g->shared, g->shareds, g->shared_cap) =
                (struct mpr_graph_pool){ .pool = { c->pool[0], c->pool[1] } };
            mpr_index_add(&g->shared_of, hash, c->shared = g->shareds);
        }
        g->shared[c->shared - 1].holding++;
        if (c->reset) release_pool(&g->shared[c->shared - 1], c->reset);
    }
    c->time = e->time;
    if (g->instants) mpr_device_snapshots_request(g->instants);
    t->gpu.last_capture = c->instantiated ? 0 : t->gpu.capture;
    t->gpu.capture = 0;
    t->gpu.torch_began_capture = false;
}

/* ---- blocks of a capture */

/* Counts the segment in the capture, unless it already belongs to one. */
static void adopt(struct mpr_gpu *g, struct mpr_gpu_block *segment, uint32_t capture)
{
    if (segment->capture || mpf_heap_code(segment->heap) != MPF_HEAP_DEVICE) return;
    segment->capture = capture;
    g->capture[capture - 1].segment_bytes += segment->size;
}

/* A private pool of PyTorch shares no segment with another pool, so a segment with a block of a
 * capture belongs to the pool of the capture, even if it is older: torch.compile runs once in the
 * pool before it captures. */
static void adopt_segments_of(struct mpr_gpu *g, const struct mpr_gpu_block *b)
{
    const uint64_t end = b->addr + b->size;
    const struct mpr_interval *span;
    if (b->addr >= g->adopted.from && end <= g->adopted.to && b->capture == g->adopted.capture)
        return;
    MPR_INTERVALS_EACH(span, &g->maps, mpr_intervals_after(&g->maps, b->addr), end)
    {
        adopt(g, &g->object[span->value].block, b->capture);
    }
    for (uint32_t i = 0; i < g->driver.live; i++) {
        struct mpr_gpu_block *segment = &g->driver.at[i];
        if (b->addr - segment->addr >= segment->size) continue;
        adopt(g, segment, b->capture);
        g->adopted.from = segment->addr;
        g->adopted.to = segment->addr + segment->size;
        g->adopted.capture = b->capture;
        return;
    }
}

void mpr_graph_add_block(struct mpr_gpu *g, const struct mpr_gpu_block *b, bool torch)
{
    if (!b->capture) return;
    struct mpr_capture *c = &g->capture[b->capture - 1];
    c->device = (uint8_t)mpf_heap_device(b->heap);
    if (!torch) c->segment_bytes += b->size;
    else {
        c->block_bytes += b->size;
        adopt_segments_of(g, b);
    }
}

/* ---- holders of a pool */

uint64_t mpr_graph_until(const struct mpr_gpu *g, uint32_t capture)
{
    if (!capture) return 0;
    const struct mpr_capture *own = &g->capture[capture - 1];
    if (!own->shared) return own->reset ? own->reset : UINT64_MAX;
    const struct mpr_graph_pool *s = &g->shared[own->shared - 1];
    return s->holding ? UINT64_MAX : s->until;
}

/* ---- executable graphs */

static void instantiate(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                        int64_t growth)
{
    struct mpr_gpu *g = &r->gpu;
    const uint64_t exec = mpr_gpu_word(e, MPF_RETURN_A);
    *MPR_ADD(g->graph, g->graphs, g->graph_cap) = (struct mpr_graph){
        .time = e->time,
        .exec = exec,
        .nodes = mpr_gpu_word(e, MPF_RETURN_C),
        .instantiated = growth,
        .thread = t->number,
        .node = mpr_thread_inherited_path(r, t, NULL),
        .capture = t->gpu.capture ? t->gpu.capture : t->gpu.last_capture,
        .device = (uint8_t)mpf_heap_device(e->heap),
        .older = mpr_index_get(&g->executable, exec),
    };
    mpr_index_set(&g->executable, exec, g->graphs);
    if (g->instants) mpr_device_snapshots_request(g->instants);
    if (t->gpu.capture) g->capture[t->gpu.capture - 1].instantiated = true;
    t->gpu.last_capture = 0;
}

void mpr_graph_call(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                    int64_t growth)
{
    struct mpr_gpu *g = &r->gpu;
    const uint64_t call = mpr_gpu_word(e, MPF_RETURN_CALL);
    const uint32_t number = mpr_index_get(&g->executable, mpr_gpu_word(e, MPF_RETURN_A));
    struct mpr_graph *graph = number ? &g->graph[number - 1] : NULL;
    if (call == MPF_CALL_GRAPH) instantiate(r, t, e, growth);
    else if (call == MPF_CALL_GRAPH_LAUNCH && graph)
        graph->launched = mpr_signed_add(graph->launched, growth);
    else if (call == MPF_CALL_GRAPH_GONE && graph) {
        graph->gone = true;
        mpr_index_set(&g->executable, graph->exec, graph->older);
    }
}

/* ---- events of captures */

void mpr_graph_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_TORCH_CAPTURE:
    case MPF_OP_CAPTURE_BEGIN: on_capture(r, t, e); break;
    case MPF_OP_TORCH_CAPTURE_END:
    case MPF_OP_CAPTURE_END: on_capture_end(r, t, e); break;
    case MPF_OP_TORCH_GRAPH_RESET: reset(&r->gpu, e->addr, e->time); break;
    default: break;
    }
}
