/* Rules on device memory: PyTorch's caching allocator, the roles of its blocks, and memory outside
 * of PyTorch. */
#include <stdlib.h>

#include "amount.h"
#include "evidence.h"

/* ---- PyTorch's allocator */

/* Free memory between live blocks, unless expandable segments are already in use. */
static void fragmentation(struct mpr_insights *out, const struct mpr_evidence *e,
                          const struct mpr_segments_device *d)
{
    uint64_t expandable = 0;
    if (!d->pins || !mpr_worth(d->split_free, d->bytes)) return;
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
    if (!h->steps || !mpr_worth(state->bytes, h->bytes) || state->bytes < parameters) return;
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
    const uint64_t outside = mpr_less(h->role[MPR_ROLE_GRADIENTS].bytes, h->bucket_bytes),
                   bytes = outside < h->bucket_bytes ? outside : h->bucket_bytes;
    if (!mpr_worth(bytes, h->bytes)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GRADIENT_COPIES, h->heap, h->time, bytes);
    mpr_finding_bytes(f, "gradient_bytes", outside);
    mpr_finding_bytes(f, "bucket_bytes", h->bucket_bytes);
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

void mpr_insights_roles(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; e->breakdown && i < e->breakdown->heaps; i++) {
        const struct mpr_breakdown_heap *h = &e->breakdown->heap[i];
        optimizer_state(out, h);
        gradient_copies(out, h);
        temporaries(out, e->breakdown, h);
    }
}

/* ---- outside of PyTorch */

/* For each thread that the device can hold, the driver keeps the bytes that the most demanding
 * kernel needs, or cudaLimitStackSize. */
static void local_memory(struct mpr_insights *out, const struct mpr_device_state *s,
                         unsigned device)
{
    const int64_t bytes = mpr_device_bytes(s, MPR_USE_LOCAL_MEMORY);
    if (bytes < MPR_WORTH_BYTES) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_LOCAL_MEMORY, mpf_heap_gpu(MPF_HEAP_DEVICE, device),
                        s->time, (uint64_t)bytes);
    mpr_finding_bytes(f, "local_memory_bytes", (uint64_t)bytes);
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

void mpr_insights_device(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; i < e->log->devices; i++) {
        const unsigned device = e->log->device[i].index;
        const struct mpr_device_state *s = &e->state[device];
        if (!s->valid) continue;
        local_memory(out, s, device);
        idle_communicators(out, s, device);
        doubled_communicators(out, e, s, device);
    }
}
