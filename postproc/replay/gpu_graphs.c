#include "gpu_graphs.h"

#include "gpu_lent.h"
#include "gpu_ooms.h"
#include "mpf/sample.h"
#include "replay.h"

/* ---- captures */

#define BURST_NS UINT64_C(1000000000)       /* captures that follow each other closer than this belong together */

void mpr_graph_capture(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_gpu *g = &r->gpu;
    const bool torch = e->op == MPF_OP_TORCH_CAPTURE;
    bool inherited;
    if (torch) mpr_graph_reset(g, e->addr, e->time);        /* a graph captures once: this is another one in its place */
    if (t->gpu.capture || !mpr_gpu_grow(r, (void **)&g->capture, g->captures, &g->capture_cap, sizeof *g->capture)) return;
    const struct mpr_capture *last = g->captures ? &g->capture[g->captures - 1] : NULL;
    const uint32_t burst = !last ? 1 : e->time - last->time < BURST_NS ? last->burst : last->burst + 1;
    g->capture[g->captures++] = (struct mpr_capture){ .time = e->time, .graph = torch ? e->addr : 0, .thread = t->number,
                                                      .node = mpr_gpu_path(r, t, &inherited), .burst = burst };
    t->gpu.capture = g->captures;
    t->gpu.torch_capture = torch;
}

void mpr_graph_capture_end(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const bool torch = e->op == MPF_OP_TORCH_CAPTURE_END;
    if (!t->gpu.capture || (t->gpu.torch_capture && !torch)) return;
    struct mpr_capture *c = &r->gpu.capture[t->gpu.capture - 1];
    if (torch) for (unsigned i = 0; i < 2; i++) c->pool[i] = mpr_gpu_word(e, i);
    c->time = e->time;
    t->gpu.last_capture = c->instantiated ? 0 : t->gpu.capture;
    t->gpu.capture = 0;
}

void mpr_graph_count(struct mpr_gpu *g, const struct mpr_gpu_block *b, bool torch)
{
    if (!b->capture) return;
    struct mpr_capture *c = &g->capture[b->capture - 1];
    if (torch) c->block_bytes += b->size;
    else c->segment_bytes += b->size;
}

/* ---- who holds a pool */

void mpr_graph_reset(struct mpr_gpu *g, uint64_t graph, uint64_t time)
{
    for (uint32_t i = g->captures; i-- > 0; )
        if (g->capture[i].graph == graph && graph && !g->capture[i].reset) g->capture[i].reset = time;
}

static bool is_one_pool(const struct mpr_capture *a, const struct mpr_capture *b)
{
    return (a->pool[0] || a->pool[1]) && a->pool[0] == b->pool[0] && a->pool[1] == b->pool[1];
}

bool mpr_graph_holds(const struct mpr_gpu *g, uint32_t capture, uint64_t time)
{
    if (!capture) return false;
    const struct mpr_capture *own = &g->capture[capture - 1];
    for (uint32_t i = 0; i < g->captures; i++) {
        const struct mpr_capture *c = &g->capture[i];
        if ((c == own || is_one_pool(c, own)) && (!c->reset || c->reset > time)) return true;
    }
    return false;
}

/* ---- executables */

static void note_graph(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e, int64_t growth)
{
    struct mpr_gpu *g = &r->gpu;
    bool inherited;
    if (!mpr_gpu_grow(r, (void **)&g->graph, g->graphs, &g->graph_cap, sizeof *g->graph)) return;
    g->graph[g->graphs++] = (struct mpr_graph){
        .time = e->time, .exec = mpr_gpu_word(e, MPF_RETURN_A), .nodes = mpr_gpu_word(e, MPF_RETURN_C), .instantiated = growth, .thread = t->number,
        .node = mpr_gpu_path(r, t, &inherited), .capture = t->gpu.capture ? t->gpu.capture : t->gpu.last_capture, .device = (uint8_t)mpf_heap_device(e->heap),
    };
    if (t->gpu.capture) g->capture[t->gpu.capture - 1].instantiated = true;
    t->gpu.last_capture = 0;
}

/* The newest graph executable with that handle. */
static struct mpr_graph *graph_of(struct mpr_gpu *g, uint64_t exec)
{
    for (uint32_t i = g->graphs; i-- > 0; )
        if (g->graph[i].exec == exec && !g->graph[i].gone) return &g->graph[i];
    return NULL;
}

void mpr_graph_call(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e, int64_t growth)
{
    const uint64_t call = mpr_gpu_word(e, MPF_RETURN_CALL);
    struct mpr_graph *graph = graph_of(&r->gpu, mpr_gpu_word(e, MPF_RETURN_A));
    if (call == MPF_CALL_GRAPH) note_graph(r, t, e, growth);
    else if (call == MPF_CALL_GRAPH_LAUNCH && graph) graph->launched += growth;
    else if (call == MPF_CALL_GRAPH_GONE && graph) graph->gone = true;
}
