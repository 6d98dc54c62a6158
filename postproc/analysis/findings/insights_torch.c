/* Memory that PyTorch's caching allocator and its graphs hold without need. */
#include "amount.h"
#include "evidence.h"

/* ---- fragmentation */

static uint64_t expandable_bytes(const struct mpr_segments_device *d)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < d->segments; i++)
        if (d->segment[i].expandable) bytes += d->segment[i].bytes;
    return bytes;
}

static void pinned(struct mpr_insights *out, const struct mpr_evidence *e,
                   const struct mpr_segments_device *d)
{
    if (!d->pins || !mpr_worth(d->split_free, d->bytes)) return;
    if (expandable_bytes(d) >= d->bytes / 2) return; /* the advice is in force */
    const struct mpr_segment_pin *pin = &d->pin[0];
    struct mpr_frame_copies copies = { .arena = &out->arena };
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_FRAGMENTATION, mpf_heap_gpu(MPF_HEAP_TORCH, d->index),
                        d->time, d->split_free);
    f->what = mpr_arena_format(
        &out->arena,
        "%s is free between live blocks, %s of it in %s segment%s that %s block%s pin%s, %s",
        mpr_finding_size(out, d->split_free), mpr_finding_size(out, pin->free),
        mpr_finding_number(out, pin->segments), mpr_finding_plural(pin->segments),
        mpr_finding_number(out, pin->blocks), mpr_finding_plural(pin->blocks),
        pin->blocks == 1 ? "s" : "", mpr_finding_size(out, pin->bytes));
    f->path = mpr_frame_copy_path(&copies, pin->path); /* the segments go */
    mpr_frame_copies_free(&copies);
    f->change = "make what lives long before what dies soon; PYTORCH_CUDA_ALLOC_CONF="
                "expandable_segments:True may help (not computed: a piece with a live block stays)";
    f->look = e->at_oom[d->index] ? "segments --at oom" : "segments --at peak";
    mpr_finding_bytes(f, "split_free_bytes", d->split_free);
    mpr_finding_bytes(f, "pinned_bytes", pin->free);
    mpr_finding_count(f, "pinning_blocks", pin->blocks);
    mpr_finding_bytes(f, "pinning_bytes", pin->bytes);
    mpr_finding_count(f, "segments", pin->segments);
}

/* ---- cache */

static void cached(struct mpr_insights *out, const struct mpr_evidence *e, unsigned device)
{
    const struct mpr_device_state *s = &e->state[device];
    if (!s->valid || !mpr_worth(s->releasable, s->torch_segments)) return;
    struct mpr_finding *f = mpr_finding_add(
        out, MPR_FINDING_CACHE, mpf_heap_gpu(MPF_HEAP_TORCH, device), s->time, s->releasable);
    f->what =
        mpr_arena_format(&out->arena, "PyTorch kept %s in segments without a live block when %s",
                         mpr_finding_size(out, s->releasable),
                         e->at_oom[device] ? "memory ran out" : "the device was fullest");
    f->change = "torch.cuda.empty_cache() before what peaks, or garbage_collection_threshold:0.8 "
                "in PYTORCH_CUDA_ALLOC_CONF";
    f->look = e->at_oom[device] ? "segments --at oom" : "segments --at peak";
    mpr_finding_bytes(f, "releasable_bytes", s->releasable);
    mpr_finding_bytes(f, "segment_bytes", s->torch_segments);
}

/* ---- pools of graphs */

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
    f->what = mpr_arena_format(&out->arena, "graphs hold %s memory pools, %s; the largest has %s",
                               mpr_finding_number(out, pools), mpr_finding_size(out, bytes),
                               mpr_finding_size(out, largest));
    f->change = "one pool for graphs that do not run at the same time: torch.cuda.graph(g, "
                "pool=first.pool()), the largest captured first";
    f->look = "graphs";
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
    f->what = mpr_arena_format(&out->arena,
                               "%s lay free in graphs' memory pools when memory ran out: only a "
                               "capture into the same pool can use it",
                               mpr_finding_size(out, s->pool_free));
    f->change = "capture into the pool that is there: torch.cuda.graph(g, pool=first.pool()), the "
                "largest captured first; or fewer graphs";
    f->look = "graphs";
    mpr_finding_bytes(f, "free_bytes", s->pool_free);
    mpr_finding_bytes(f, "segment_bytes", s->torch_segments);
}

void mpr_insights_torch(struct mpr_insights *out, const struct mpr_evidence *e)
{
    bool separate[MPF_GPUS] = { false };
    for (size_t i = 0; i < e->segments->devices; i++) {
        const struct mpr_segments_device *d = &e->segments->device[i];
        pinned(out, e, d);
        separate[d->index] = separate_pools(out, d);
    }
    for (size_t i = 0; i < e->log->devices; i++) {
        const unsigned device = e->log->device[i].index;
        cached(out, e, device);
        if (!separate[device]) closed_pools(out, e, device);
    }
}
