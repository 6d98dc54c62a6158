/* Rules on device memory: PyTorch's caching allocator, and memory outside of PyTorch. */
#include <stdlib.h>

#include "amount.h"
#include "evidence.h"

/* ---- PyTorch's allocator */

/* Returns true if the device is not half full: memory that PyTorch cannot use does no harm then. */
static bool has_room(const struct mpr_evidence *e, unsigned device)
{
    const struct mpr_device_state *s = &e->state[device];
    return !e->at_oom[device] && s->valid && s->used < s->total / 2;
}

/* Returns a copy of the path, which outlives the segments. */
static struct mpr_path copied(struct mpr_insights *out, struct mpr_path path)
{
    struct mpr_frame_copies copies = { .arena = &out->arena };
    const struct mpr_path copy = mpr_frame_copy_path(&copies, path);
    mpr_frame_copies_free(&copies);
    return copy;
}

/* Free memory between live blocks, unless expandable segments are already in use. */
static void fragmentation(struct mpr_insights *out, const struct mpr_evidence *e,
                          const struct mpr_segments_device *d)
{
    uint64_t expandable = 0;
    if (!d->pins || !mpr_worth(d->split_free, d->bytes) || has_room(e, d->index)) return;
    for (size_t i = 0; i < d->segments; i++)
        if (d->segment[i].expandable) expandable += d->segment[i].bytes;
    if (expandable >= d->bytes / 2) return;
    const struct mpr_segment_pin *pin = &d->pin[0];
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_FRAGMENTATION, mpf_heap_gpu(MPF_HEAP_TORCH, d->index),
                        d->time, d->split_free);
    f->variant = e->at_oom[d->index] ? MPR_VARIANT_AT_OOM : MPR_VARIANT_AT_PEAK;
    f->path = copied(out, pin->path);
    mpr_finding_bytes(f, "split_free_bytes", d->split_free);
    mpr_finding_bytes(f, "pinned_bytes", pin->free);
    mpr_finding_count(f, "pinning_blocks", pin->blocks);
    mpr_finding_bytes(f, "pinning_bytes", pin->bytes);
    mpr_finding_count(f, "segments", pin->segments);
}

static void cache(struct mpr_insights *out, const struct mpr_evidence *e, unsigned device)
{
    const struct mpr_device_state *s = &e->state[device];
    if (!s->valid || !mpr_worth(s->releasable, s->torch_segments)) return;
    if (!e->at_oom[device] && s->used < s->total / 8 * 7) return;
    struct mpr_finding *f = mpr_finding_add(
        out, MPR_FINDING_CACHE, mpf_heap_gpu(MPF_HEAP_TORCH, device), s->time, s->releasable);
    f->weak = true; /* it explains no peak: PyTorch kept what something else needed before */
    f->variant = e->at_oom[device] ? MPR_VARIANT_AT_OOM : MPR_VARIANT_AT_PEAK;
    mpr_finding_bytes(f, "releasable_bytes", s->releasable);
    mpr_finding_bytes(f, "segment_bytes", s->torch_segments);
}

/* Returns the path of a block in the pool, of the segment that has most live bytes. */
static struct mpr_path oldest_in(const struct mpr_segments_device *d,
                                 const struct mpr_segment_pool *pool)
{
    const struct mpr_segment *most = NULL;
    for (size_t i = 0; i < d->segments; i++) {
        const struct mpr_segment *s = &d->segment[i];
        if (s->pool[0] == pool->pool[0] && s->pool[1] == pool->pool[1] && s->oldest.frame &&
            s->oldest.depth && (!most || s->live > most->live))
            most = s;
    }
    return most ? most->oldest : (struct mpr_path){ NULL, 0 };
}

/* Graphs that run one after the other can use the same memory: together they need the bytes of the
 * largest.  Only pools that exist at the same time count: a server that captures again frees its
 * earlier pools.  PyTorch empties its cache at the begin of a capture, so the device's peak may be
 * earlier than the last pool. */
static void separate_pools(struct mpr_insights *out, const struct mpr_evidence *e,
                           const struct mpr_segments_device *d)
{
    const struct mpr_block_group *most = e->device ? &e->device[d->index].graph_pools : NULL;
    const struct mpr_segment_pool *owner = NULL;
    uint64_t pools = 0, bytes = 0, largest = 0;
    for (size_t i = 0; i < d->pools; i++) {
        const struct mpr_segment_pool *pool = &d->pool[i];
        if (!pool->graph || !(pool->pool[0] || pool->pool[1])) continue;
        pools++;
        bytes += pool->bytes;
        if (pool->bytes <= largest) continue;
        largest = pool->bytes;
        owner = pool;
    }
    if (pools < 2 || !mpr_worth(bytes - largest, bytes)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GRAPH_POOLS, mpf_heap_gpu(MPF_HEAP_TORCH, d->index),
                        d->time, bytes - largest);
    const struct mpr_path path = oldest_in(d, owner);
    if (path.depth) f->path = copied(out, path);
    else if (most && most->path.depth) f->path = most->path;
    mpr_finding_count(f, "pools", pools);
    mpr_finding_bytes(f, "pool_bytes", bytes);
    mpr_finding_bytes(f, "largest_pool_bytes", largest);
    if (!most || most->bytes <= bytes || most->time < d->time || e->at_oom[d->index]) return;
    mpr_finding_count(f, "later_pools", most->count);
    mpr_finding_bytes(f, "later_pool_bytes", most->bytes);
}

/* Only the graph can use the free memory between its kernels' buffers.  That does no harm until
 * memory runs out.  If there are separate pools, one pool for all of them is the better advice. */
static void closed_pools(struct mpr_insights *out, const struct mpr_evidence *e, unsigned device)
{
    const uint8_t heap = mpf_heap_gpu(MPF_HEAP_TORCH, device);
    const struct mpr_device_state *s = &e->state[device];
    if (!e->at_oom[device] || !s->valid || !mpr_worth(s->pool_free, s->torch_segments) ||
        mpr_finding_of(out, MPR_FINDING_GRAPH_POOLS, heap))
        return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GRAPH_POOLS_FREE, heap, s->time, s->pool_free);
    mpr_finding_bytes(f, "free_bytes", s->pool_free);
    mpr_finding_bytes(f, "segment_bytes", s->torch_segments);
}

/* torch.compile captures a graph for each shape that it sees.  Their pools are one, but memory of a
 * graph is not given back. */
static void graph_per_shape(struct mpr_insights *out, const struct mpr_evidence *e, unsigned device)
{
    enum { LEAST_CAPTURES = 3 };
    const struct mpr_block_group *g = &e->device[device].captures;
    if (g->count < LEAST_CAPTURES || !mpr_worth(g->bytes - g->largest, g->bytes)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GRAPH_PER_SHAPE, mpf_heap_gpu(MPF_HEAP_TORCH, device),
                        e->state[device].time, g->bytes - g->largest);
    f->path = g->path;
    mpr_finding_count(f, "captures", g->count);
    mpr_finding_bytes(f, "graph_bytes", g->bytes);
    mpr_finding_bytes(f, "largest_graph_bytes", g->largest);
}

/* Returns true if blocks of that place were added call by call, and the program has as many
 * streams. A stream needs 2 MiB. */
static bool is_per_stream(const struct mpr_evidence *e, const struct mpr_block_group *g,
                          uint8_t heap)
{
    enum { STREAM_BYTES = 1 << 20 };
    const int64_t streams = mpr_device_bytes(&e->state[mpf_heap_device(heap)], MPR_USE_STREAMS);
    if (streams < 0 || (uint64_t)streams / STREAM_BYTES < g->count) return false;
    for (size_t i = 0; i < e->site_growths; i++)
        if (e->site_growth[i].heap == heap && e->site_growth[i].kept_bytes >= g->bytes / 2)
            return true;
    return false;
}

/* PyTorch gives cuBLAS a workspace for each thread and stream that it runs on. */
static void workspaces(struct mpr_insights *out, const struct mpr_evidence *e, unsigned device)
{
    enum { LEAST = 4 };
    const struct mpr_block_group *g = &e->device[device].workspaces;
    const struct mpr_heap_peak *whole =
        mpr_peaks_heap(e->log, mpf_heap_gpu(MPF_HEAP_TORCH, device));
    if (g->count < LEAST || !whole || !mpr_worth(g->bytes, whole->peak_bytes) ||
        (g->threads < g->count && !is_per_stream(e, g, whole->heap)))
        return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_WORKSPACES, whole->heap, e->state[device].time, g->bytes);
    f->path = g->path;
    mpr_finding_bytes(f, "workspace_bytes", g->bytes);
    mpr_finding_count(f, "workspaces", g->count);
    mpr_finding_bytes(f, "each_bytes", g->largest);
    mpr_finding_bytes(f, "heap_bytes", whole->peak_bytes);
}

/* Blocks of an attempt that ran out of memory before, and that something still keeps: an exception
 * whose traceback has the frames of the attempt. */
static void failed_attempt(struct mpr_insights *out, const struct mpr_evidence *e, unsigned device)
{
    const struct mpr_block_group *g = &e->device[device].attempt;
    const struct mpr_device_state *s = &e->state[device];
    if (!e->at_oom[device] || !mpr_worth(g->bytes, s->torch_live) || g->bytes < s->torch_live / 4)
        return;
    struct mpr_finding *f = mpr_finding_add(
        out, MPR_FINDING_FAILED_ATTEMPT, mpf_heap_gpu(MPF_HEAP_TORCH, device), s->time, g->bytes);
    f->path = g->path;
    mpr_finding_bytes(f, "attempt_bytes", g->bytes);
    mpr_finding_count(f, "attempt_blocks", g->count);
    mpr_finding_bytes(f, "live_bytes", s->torch_live);
    mpr_finding_fact(f, (struct mpr_fact){ "failed_ns", MPR_FACT_SPAN, false, g->time });
    mpr_finding_count(f, "attempts", g->groups);
    f->variant = g->groups > 1 ? MPR_VARIANT_ATTEMPTS : MPR_VARIANT_ONE_ATTEMPT;
}

/* Segments that are given back and allocated again: torch.cuda.empty_cache() in a loop.  PyTorch
 * itself empties its cache when the driver refuses memory. */
static void empty_cache(struct mpr_insights *out, const struct mpr_evidence *e)
{
    enum { LEAST_SHARE = 4 };
    for (size_t i = 0; i < e->churns; i++) {
        const struct mpr_segment_churn *c = &e->churn[i];
        const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, c->heap);
        if (!mpr_peaks_heap(e->log, mpr_heap_torch_of(c->heap))) continue;
        if (!whole || !mpr_worth(c->bytes, whole->peak_bytes) ||
            c->bytes < whole->peak_bytes / LEAST_SHARE ||
            e->refusals[mpf_heap_device(c->heap)] >= c->times / 2)
            continue;
        struct mpr_finding *f =
            mpr_finding_add(out, MPR_FINDING_EMPTY_CACHE, c->heap, whole->peak_time, c->bytes);
        f->path = c->path;
        mpr_finding_count(f, "times", c->times);
        mpr_finding_bytes(f, "each_bytes", c->bytes);
        mpr_finding_bytes(f, "heap_bytes", whole->peak_bytes);
    }
}

void mpr_insights_torch(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; i < e->segments->devices; i++) {
        fragmentation(out, e, &e->segments->device[i]);
        separate_pools(out, e, &e->segments->device[i]);
    }
    for (size_t i = 0; i < e->log->devices; i++) {
        const unsigned device = e->log->device[i].index;
        cache(out, e, device);
        closed_pools(out, e, device);
        if (!e->device) continue;
        graph_per_shape(out, e, device);
        workspaces(out, e, device);
        failed_attempt(out, e, device);
    }
    empty_cache(out, e);
}

/* ---- outside of PyTorch */

/* For each thread that the device can hold, the driver keeps the bytes that the most demanding
 * kernel needs, or cudaLimitStackSize. */
static void local_memory(struct mpr_insights *out, const struct mpr_device_state *s,
                         unsigned device)
{
    enum { HUNDREDTH = 100 };
    const int64_t bytes = mpr_device_bytes(s, MPR_USE_LOCAL_MEMORY);
    const uint64_t gpu = s->total != MPF_UNKNOWN ? s->total : 0;
    if (bytes < MPR_WORTH_BYTES || (uint64_t)bytes < gpu / HUNDREDTH) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_LOCAL_MEMORY, mpf_heap_gpu(MPF_HEAP_DEVICE, device),
                        s->time, (uint64_t)bytes);
    mpr_finding_bytes(f, "local_memory_bytes", (uint64_t)bytes);
}

/* A pool of another library keeps its memory for that library: PyTorch cannot use what is free in
 * it. */
static void other_pool(struct mpr_insights *out, const struct mpr_evidence *e,
                       const struct mpr_device_state *s, unsigned device)
{
    enum { LARGE_SHARE = 4 };
    const uint8_t heap = mpf_heap_gpu(MPF_HEAP_DEVICE, device);
    const int64_t cupy = mpr_device_bytes(s, MPR_USE_CUPY), xla = mpr_device_bytes(s, MPR_USE_XLA);
    const uint64_t bytes = (uint64_t)(cupy > xla ? cupy : xla);
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, heap);
    const bool torch = mpr_device_bytes(s, MPR_USE_TORCH_LIVE) > 0;
    if ((!torch && !e->at_oom[device]) || bytes < MPR_WORTH_BYTES || bytes < s->used / LARGE_SHARE)
        return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_OTHER_POOL, heap, s->time, bytes);
    f->variant = cupy > xla ? MPR_VARIANT_CUPY : MPR_VARIANT_XLA;
    /* The largest owner is the pool's if the pool has most of the heap. */
    if (whole && whole->rows && whole->row[0].bytes <= bytes && bytes > whole->peak_bytes / 2)
        f->path = whole->row[0].path;
    mpr_finding_bytes(f, "pool_bytes", bytes);
    mpr_finding_bytes(f, "used_bytes", s->used);
}

/* A stream-ordered pool keeps freed memory up to its release threshold.  PyTorch sets none.  That
 * does no harm unless memory ran out, or something else than pools has a part of the device. */
static void pool_kept(struct mpr_insights *out, const struct mpr_evidence *e,
                      const struct mpr_device_state *s, unsigned device)
{
    enum { LARGE_SHARE = 4, LEAST_SHARE = 16 };
    const uint8_t heap = mpf_heap_gpu(MPF_HEAP_POOL, device);
    const int64_t pools = mpr_device_bytes(s, MPR_USE_POOLS);
    const struct mpr_heap_peak *users = mpr_peaks_heap(e->log, heap);
    if (!e->device || pools <= 0 || has_room(e, device)) return;
    if (!e->at_oom[device] &&
        mpr_saturating_sub(s->tracked, (uint64_t)pools) < s->used / LEAST_SHARE)
        return;
    const uint64_t live = e->device[device].pool_live,
                   kept = mpr_saturating_sub((uint64_t)pools, live);
    if (kept < MPR_WORTH_BYTES || kept < s->used / LARGE_SHARE) return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_POOL_KEPT, heap, s->time, kept);
    if (users && users->rows) f->path = users->row[0].path;
    mpr_finding_bytes(f, "kept_bytes", kept);
    mpr_finding_bytes(f, "pool_bytes", (uint64_t)pools);
    mpr_finding_bytes(f, "live_bytes", live);
    mpr_finding_bytes(f, "used_bytes", s->used);
}

/* A communicator allocates its buffers when it is made; without a collective they are never used.
 */
static void idle_communicators(struct mpr_insights *out, const struct mpr_device_state *s,
                               unsigned device)
{
    uint64_t bytes = 0, count = 0;
    const struct mpr_comm_row *largest = NULL;
    for (size_t i = 0; i < s->comms; i++) { /* largest first */
        const struct mpr_comm_row *c = &s->comm[i];
        if (*c->first_use || !c->bytes) continue;
        if (!largest) largest = c;
        bytes += c->bytes;
        count++;
    }
    if (bytes < MPR_WORTH_BYTES) return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_IDLE_COMMUNICATORS,
                                            mpf_heap_gpu(MPF_HEAP_DEVICE, device), s->time, bytes);
    mpr_finding_count(f, "communicators", count);
    mpr_finding_bytes(f, "communicator_bytes", bytes);
    mpr_finding_detail_text(f, "largest", largest->name);
}

/* Returns a lower bound of the run's ranks, from its communicators and the given logs. */
static uint64_t ranks_known(const struct mpr_insights *out, const struct mpr_evidence *e,
                            const struct mpr_device_state *s)
{
    const char *own = e->log->summary.process.rank;
    uint64_t ranks = *own ? strtoull(own, NULL, 10) + 1 : 0;
    for (size_t i = 0; out->family && i < out->family->count; i++) {
        const char *rank = out->family->at[i].summary.process.rank;
        const uint64_t at_least = *rank ? strtoull(rank, NULL, 10) + 1 : 0;
        if (at_least > ranks) ranks = at_least;
    }
    for (size_t i = 0; i < s->comms; i++)
        if (s->comm[i].ranks != UINT64_MAX && s->comm[i].ranks > ranks) ranks = s->comm[i].ranks;
    return ranks;
}

/* Communicators of all known ranks are likely to have the same members if the process has the same
 * rank in each.  In the groups of a mesh its ranks differ. */
static void doubled_communicators(struct mpr_insights *out, const struct mpr_evidence *e,
                                  const struct mpr_device_state *s, unsigned device)
{
    const uint64_t ranks = ranks_known(out, e, s);
    const struct mpr_comm_row *largest = NULL;
    uint64_t bytes = 0, count = 0;
    for (size_t i = 0; i < s->comms; i++) { /* largest first */
        const struct mpr_comm_row *c = &s->comm[i];
        if (c->ranks != ranks || c->rank == UINT64_MAX || !c->bytes || !*c->first_use) continue;
        if (!largest) largest = c;
        if (c->rank != largest->rank) continue;
        bytes += c->bytes;
        count++;
    }
    if (!largest || ranks < 2 || bytes - largest->bytes < MPR_WORTH_BYTES) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_DOUBLED_COMMUNICATORS,
                        mpf_heap_gpu(MPF_HEAP_DEVICE, device), s->time, bytes - largest->bytes);
    mpr_finding_count(f, "communicators", count);
    mpr_finding_count(f, "ranks", ranks);
    mpr_finding_bytes(f, "communicator_bytes", bytes);
    mpr_finding_bytes(f, "largest_communicator_bytes", largest->bytes);
}

/* Adds a finding if the bytes of other processes are a large part of the GPU, and the request would
 * have fit without them. */
static struct mpr_finding *other_process(struct mpr_insights *out, uint64_t bytes, uint64_t all)
{
    const struct mpr_insights_oom *o = &out->oom;
    const uint64_t gpu = o->total != MPF_UNKNOWN ? o->total : o->state.used;
    if (!mpr_worth(bytes, gpu) || o->free == MPF_UNKNOWN || o->free + all < o->asked) return NULL;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_OTHER_PROCESS, mpf_heap_gpu(MPF_HEAP_DEVICE, o->device),
                        o->state.time, bytes);
    mpr_finding_bytes(f, "process_bytes", bytes);
    mpr_finding_bytes(f, "gpu_bytes", gpu);
    return f;
}

/* Memory ran out on a GPU that other processes use.  Other ranks of the same job are not other
 * processes: ranks are compared with each other. */
static void other_processes(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_device_state *s = &out->oom.state;
    const struct mpr_device_share *largest = NULL;
    const int64_t unnamed = mpr_device_bytes(s, MPR_USE_OTHER_PROCESSES);
    const uint64_t without_log = unnamed > 0 ? (uint64_t)unnamed : 0;
    uint64_t all = without_log;
    if (!out->oom.told || !s->valid) return;
    for (size_t i = 0; i < s->shares; i++) {
        if (*e->log->summary.process.rank && *s->share[i].process->rank) continue;
        if (!largest) largest = &s->share[i];
        all += s->share[i].bytes;
    }
    struct mpr_finding *f = largest ? other_process(out, largest->bytes, all) : NULL;
    if (f) {
        mpr_finding_fact(
            f,
            (struct mpr_fact){ .key = "pid", .type = MPR_FACT_ID, .value = largest->process->pid });
        mpr_finding_detail_text(f, "program", mpr_process_title(&out->arena, largest->process));
    }
    f = other_process(out, without_log, all);
    if (f) f->variant = MPR_VARIANT_UNRECORDED;
}

void mpr_insights_device(struct mpr_insights *out, const struct mpr_evidence *e)
{
    other_processes(out, e);
    for (size_t i = 0; i < e->log->devices; i++) {
        const unsigned device = e->log->device[i].index;
        const struct mpr_device_state *s = &e->state[device];
        if (!s->valid) continue;
        local_memory(out, s, device);
        other_pool(out, e, s, device);
        pool_kept(out, e, s, device);
        idle_communicators(out, s, device);
        doubled_communicators(out, e, s, device);
    }
}
