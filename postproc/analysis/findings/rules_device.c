/* Rules on device memory: PyTorch's caching allocator, the roles of its blocks, and memory outside
 * of PyTorch. */
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
    struct mpr_frame_copies copies = { .arena = &out->arena };
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_FRAGMENTATION, mpf_heap_gpu(MPF_HEAP_TORCH, d->index),
                        d->time, d->split_free);
    f->variant = e->at_oom[d->index] ? MPR_VARIANT_AT_OOM : MPR_VARIANT_AT_PEAK;
    f->path = mpr_frame_copy_path(&copies, pin->path); /* outlives the segments */
    mpr_frame_copies_free(&copies);
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
    if (has_room(e, device)) return;
    struct mpr_finding *f = mpr_finding_add(
        out, MPR_FINDING_CACHE, mpf_heap_gpu(MPF_HEAP_TORCH, device), s->time, s->releasable);
    f->variant = e->at_oom[device] ? MPR_VARIANT_AT_OOM : MPR_VARIANT_AT_PEAK;
    mpr_finding_bytes(f, "releasable_bytes", s->releasable);
    mpr_finding_bytes(f, "segment_bytes", s->torch_segments);
}

/* Graphs that run one after the other can use the same memory: together they need the bytes of the
 * largest.  Only pools that exist at the same time count: a server that captures again frees its
 * earlier pools. */
static bool separate_pools(struct mpr_insights *out, const struct mpr_segments_device *d)
{
    uint64_t pools = 0, bytes = 0, largest = 0;
    for (size_t i = 0; i < d->pools; i++) {
        const struct mpr_segment_pool *pool = &d->pool[i];
        if (!pool->graph || !(pool->pool[0] || pool->pool[1])) continue;
        pools++;
        bytes += pool->bytes;
        if (pool->bytes > largest) largest = pool->bytes;
    }
    if (pools < 2 || !mpr_worth(bytes - largest, bytes)) return false;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GRAPH_POOLS, mpf_heap_gpu(MPF_HEAP_TORCH, d->index),
                        d->time, bytes - largest);
    mpr_finding_count(f, "pools", pools);
    mpr_finding_bytes(f, "pool_bytes", bytes);
    mpr_finding_bytes(f, "largest_pool_bytes", largest);
    return true;
}

/* Only the graph can use the free memory between its kernels' buffers.  That does no harm until
 * memory runs out. */
static void closed_pools(struct mpr_insights *out, const struct mpr_evidence *e, unsigned device)
{
    const struct mpr_device_state *s = &e->state[device];
    if (!e->at_oom[device] || !s->valid || !mpr_worth(s->pool_free, s->torch_segments)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GRAPH_POOLS_FREE, mpf_heap_gpu(MPF_HEAP_TORCH, device),
                        s->time, s->pool_free);
    mpr_finding_bytes(f, "free_bytes", s->pool_free);
    mpr_finding_bytes(f, "segment_bytes", s->torch_segments);
}

void mpr_insights_torch(struct mpr_insights *out, const struct mpr_evidence *e)
{
    bool separate[MPF_GPUS] = { false };
    for (size_t i = 0; i < e->segments->devices; i++) {
        const struct mpr_segments_device *d = &e->segments->device[i];
        fragmentation(out, e, d);
        separate[d->index] = separate_pools(out, d);
    }
    for (size_t i = 0; i < e->log->devices; i++) {
        const unsigned device = e->log->device[i].index;
        cache(out, e, device);
        if (!separate[device]) closed_pools(out, e, device);
    }
}

/* ---- roles of PyTorch's blocks */

/* The first step makes the optimizer's state, so memory that sufficed until then need not suffice
 * afterwards.  State that is smaller than the parameters has 8 bits or is sharded. */
static void optimizer_state(struct mpr_insights *out, const struct mpr_breakdown_heap *h)
{
    const struct mpr_role_share *state = &h->role[MPR_ROLE_OPTIMIZER];
    const uint64_t parameters = h->role[MPR_ROLE_PARAMETERS].bytes;
    const bool stepped = h->steps || h->phase == MPR_PHASE_OPTIMIZER;
    if (!stepped || !mpr_worth(state->bytes, h->bytes) || state->bytes < parameters) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_OPTIMIZER_STATE, h->heap, state->oldest, state->bytes);
    f->variant = h->role[MPR_ROLE_GATHERED].bytes ? MPR_VARIANT_SHARDED : MPR_VARIANT_WHOLE;
    mpr_finding_bytes(f, "state_bytes", state->bytes);
    mpr_finding_bytes(f, "parameter_bytes", parameters);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
    mpr_finding_count(f, "steps_before", h->steps);
}

/* Gradients outside of DistributedDataParallel's buckets, which hold a copy of them. */
static void gradient_copies(struct mpr_insights *out, const struct mpr_breakdown_heap *h)
{
    const uint64_t outside = mpr_saturating_sub(h->role[MPR_ROLE_GRADIENTS].bytes, h->bucket_bytes),
                   bytes = outside < h->bucket_bytes ? outside : h->bucket_bytes;
    if (!mpr_worth(bytes, h->bytes)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GRADIENT_COPIES, h->heap, h->time, bytes);
    mpr_finding_bytes(f, "gradient_bytes", outside);
    mpr_finding_bytes(f, "bucket_bytes", h->bucket_bytes);
}

/* Gradients that an optimizer's step has used, and that the next forward pass does not need.  The
 * buckets of DistributedDataParallel stay by design. */
static void idle_gradients(struct mpr_insights *out, const struct mpr_breakdown_heap *h)
{
    if (h->bucket_bytes || !mpr_worth(h->idle_bytes, h->bytes)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_IDLE_GRADIENTS, h->heap, h->time, h->idle_bytes);
    mpr_finding_bytes(f, "idle_bytes", h->idle_bytes);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
}

/* Returns true if a finding about the device would have made room for the request that failed. */
static bool is_explained(const struct mpr_insights *out, unsigned device)
{
    const struct mpr_insights_oom *o = &out->oom;
    const uint64_t needed =
        o->free == MPF_UNKNOWN ? o->asked : mpr_saturating_sub(o->asked, o->free);
    for (size_t i = 0; i < out->findings; i++)
        if (mpf_heap_is_gpu(out->finding[i].heap) &&
            mpf_heap_device(out->finding[i].heap) == device && out->finding[i].bytes >= needed)
            return true;
    return false;
}

/* If nothing else explains why memory ran out: the owner of most of the live memory, activations of
 * a pass or a call site. */
static void holders(struct mpr_insights *out, const struct mpr_evidence *e,
                    const struct mpr_breakdown_heap *h)
{
    const struct mpr_role_share *activations = &h->role[MPR_ROLE_ACTIVATIONS];
    const struct mpr_row *largest = NULL;
    if (!e->at_oom[h->device] || is_explained(out, h->device)) return;
    for (size_t i = 0; i < MPR_ROLES; i++)
        if (h->role[i].rows && (!largest || h->role[i].row->bytes > largest->bytes))
            largest = h->role[i].row;
    const bool of_pass = activations->bytes >= h->bytes / 2;
    if (!largest || (!of_pass && largest->bytes < h->bytes / 5 * 2)) return;
    const uint64_t bytes = of_pass ? activations->bytes : largest->bytes;
    if (bytes < MPR_WORTH_BYTES || !(of_pass ? activations->row : largest)->path.depth) return;
    struct mpr_finding *f = mpr_finding_add(
        out, of_pass ? MPR_FINDING_ACTIVATIONS : MPR_FINDING_HOLDER, h->heap, h->time, bytes);
    f->path = of_pass ? activations->row->path : largest->path;
    mpr_finding_bytes(f, of_pass ? "activation_bytes" : "holder_bytes", bytes);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
}

/* Returns false outside of a pass.  Without a backward pass or an optimizer's step the end of a
 * forward pass is unknown. */
static bool pass_of(const struct mpr_breakdown *b, enum mpr_phase phase,
                    enum mpr_finding_variant *pass)
{
    *pass = MPR_VARIANT_MODULES;
    if (!b->passes && !b->steps) return true;
    *pass = phase == MPR_PHASE_FORWARD    ? MPR_VARIANT_FORWARD
            : phase == MPR_PHASE_BACKWARD ? MPR_VARIANT_BACKWARD
                                          : MPR_VARIANT_OPTIMIZER;
    return phase == MPR_PHASE_FORWARD || phase == MPR_PHASE_BACKWARD ||
           phase == MPR_PHASE_OPTIMIZER;
}

/* Reports the largest call site, because one call site can be changed. */
static void temporaries(struct mpr_insights *out, const struct mpr_breakdown *b,
                        const struct mpr_breakdown_heap *h)
{
    enum { WORTH_SHARE = 10 }; /* of the heap */
    const struct mpr_role_share *share = &h->role[MPR_ROLE_TEMPORARIES];
    const struct mpr_row *row = share->rows ? &share->row[0] : NULL;
    enum mpr_finding_variant pass;
    if (!b->ran || !pass_of(b, h->phase, &pass) || !row || !row->path.depth) return;
    if (row->bytes < MPR_WORTH_BYTES || row->bytes < h->bytes / WORTH_SHARE) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_TEMPORARIES, h->heap, h->time, row->bytes);
    f->variant = pass;
    f->path = row->path;
    mpr_finding_bytes(f, "temporary_bytes", share->bytes);
    mpr_finding_count(f, "temporary_blocks", share->blocks);
    mpr_finding_bytes(f, "place_bytes", row->bytes);
    mpr_finding_count(f, "place_blocks", row->blocks);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
}

/* Temporaries of a program without phases of training: one call site has most of them. */
static void site_temporaries(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const uint64_t least = 4 * MPR_WORTH_BYTES; /* every program has temporaries at its peak */
    for (size_t i = 0; i < e->site_temporaries; i++) {
        const struct mpr_site_temporary *t = &e->site_temporary[i];
        const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, t->heap);
        if (!mpr_heap_is_torch(t->heap) || (e->breakdown && e->breakdown->ran) || !whole ||
            t->bytes < least || t->bytes < whole->peak_bytes / 5 * 2 || !t->path.depth)
            continue;
        struct mpr_finding *f =
            mpr_finding_add(out, MPR_FINDING_TEMPORARIES, t->heap, whole->peak_time, t->bytes);
        f->variant = MPR_VARIANT_CALLS;
        f->path = t->path;
        mpr_finding_bytes(f, "place_bytes", t->bytes);
        mpr_finding_count(f, "times", t->times);
        mpr_finding_bytes(f, "heap_bytes", whole->peak_bytes);
    }
}

void mpr_insights_roles(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; e->breakdown && i < e->breakdown->heaps; i++) {
        const struct mpr_breakdown_heap *h = &e->breakdown->heap[i];
        optimizer_state(out, h);
        gradient_copies(out, h);
        idle_gradients(out, h);
        temporaries(out, e->breakdown, h);
    }
    site_temporaries(out, e);
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
    if (whole && whole->rows) f->path = whole->row[0].path;
    mpr_finding_bytes(f, "pool_bytes", bytes);
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
    mpr_finding_detail(
        f, (struct mpr_fact){ .key = "largest", .type = MPR_FACT_TEXT, .text = largest->name });
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

static struct mpr_fact text(const char *key, const char *value)
{
    return (struct mpr_fact){ .key = key, .type = MPR_FACT_TEXT, .text = value };
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

/* Other ranks of the same job are not other processes: ranks are compared with each other. */
static bool is_peer(const struct mpr_evidence *e, const struct mpr_process_info *process)
{
    return *e->log->summary.process.rank && *process->rank;
}

/* Memory ran out on a GPU that other processes use. */
static void other_processes(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_device_state *s = &out->oom.state;
    const struct mpr_device_share *largest = NULL;
    const int64_t unnamed = mpr_device_bytes(s, MPR_USE_OTHER_PROCESSES);
    const uint64_t without_log = unnamed > 0 ? (uint64_t)unnamed : 0;
    uint64_t all = without_log;
    if (!out->oom.told || !s->valid) return;
    for (size_t i = 0; i < s->shares; i++) {
        if (is_peer(e, s->share[i].process)) continue;
        if (!largest) largest = &s->share[i];
        all += s->share[i].bytes;
    }
    struct mpr_finding *f = largest ? other_process(out, largest->bytes, all) : NULL;
    if (f) {
        mpr_finding_fact(
            f,
            (struct mpr_fact){ .key = "pid", .type = MPR_FACT_ID, .value = largest->process->pid });
        mpr_finding_detail(f, text("program", mpr_process_title(&out->arena, largest->process)));
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
        idle_communicators(out, s, device);
        doubled_communicators(out, e, s, device);
    }
}

void mpr_insights_holders(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; e->breakdown && i < e->breakdown->heaps; i++)
        holders(out, e, &e->breakdown->heap[i]);
}
