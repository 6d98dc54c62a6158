/* Memory of a device beyond live blocks: graphs' memory pools, what PyTorch's allocator keeps free,
 * and parts of the account that belong to no heap. */
#include "verdict_rules.h"

static const struct mpr_device *device_of(const struct mpr_comparison *c, size_t side,
                                          unsigned number)
{
    const uint8_t own =
        mpr_diff_own_heap(c->diff, c->run[side], mpf_heap_gpu(MPF_HEAP_DEVICE, number));
    for (size_t i = 0; i < c->log[side]->devices; i++)
        if (c->log[side]->device[i].index == mpf_heap_device(own)) return &c->log[side]->device[i];
    return NULL;
}

static uint64_t use_of(const struct mpr_device *d, enum mpr_use use)
{
    return d && d->peak.valid ? mpr_sides_positive(mpr_device_bytes(&d->peak, use)) : 0;
}

/* Compares the bytes of the graphs' memory pools: those of all segments if their finding has them,
 * else live blocks and free memory. */
static void compare_pools(struct mpr_comparison *c, unsigned number,
                          const struct mpr_device *const *d, struct mpr_sides peak)
{
    const uint8_t heap = mpf_heap_gpu(MPF_HEAP_TORCH, number);
    const struct mpr_role_share *captured[2];
    const char key[] = "pool_bytes";
    uint64_t pool[2];
    for (size_t i = 0; i < 2; i++) {
        const struct mpr_finding *f = mpr_comparison_finding(c, i, MPR_FINDING_GRAPH_POOLS, heap);
        const struct mpr_breakdown_heap *h = mpr_comparison_roles(c, i, heap);
        captured[i] = h ? &h->role[MPR_ROLE_GRAPHS] : NULL;
        pool[i] = f ? mpr_finding_value(f, key, sizeof key - 1)->value
                    : use_of(d[i], MPR_USE_TORCH_GRAPH_POOLS) + (h ? captured[i]->bytes : 0);
    }
    const struct mpr_sides bytes = { pool[0], pool[1] };
    if (!mpr_change_counts(c, bytes, peak)) return;
    mpr_change_name_by_role(
        c, mpr_change_add(c, MPR_CHANGE_GRAPH_POOLS, "graph_pools", heap, bytes, peak), captured);
}

/* Compares the memory that PyTorch keeps free.  It differs as a consequence if live blocks differ
 * by as much. */
static void compare_cache(struct mpr_comparison *c, unsigned number,
                          const struct mpr_device *const *d, struct mpr_sides peak)
{
    uint64_t kept[2];
    for (size_t i = 0; i < 2; i++)
        kept[i] = use_of(d[i], MPR_USE_TORCH_SPLIT_FREE) + use_of(d[i], MPR_USE_TORCH_RELEASABLE);
    const struct mpr_sides bytes = { kept[0], kept[1] },
                           live = { use_of(d[0], MPR_USE_TORCH_LIVE),
                                    use_of(d[1], MPR_USE_TORCH_LIVE) };
    if (mpr_change_counts(c, bytes, peak) &&
        mpr_sides_distance(bytes) >= 2 * mpr_sides_distance(live))
        mpr_change_add(c, MPR_CHANGE_CACHE, "cache", mpf_heap_gpu(MPF_HEAP_TORCH, number), bytes,
                       peak);
}

/* Compares the parts of a device that belong to no heap.  Blocks of a library are in gpuN/device;
 * their heap is compared unless PyTorch uses the device. */
static void compare_parts(struct mpr_comparison *c, const struct mpr_diff_account *a,
                          const struct mpr_device *const *d, struct mpr_sides peak)
{
    const uint8_t heap = mpf_heap_gpu(MPF_HEAP_DEVICE, a->number);
    const bool with_torch = mpr_comparison_has_torch(c, heap);
    for (int use = MPR_USE_NCCL; use < MPR_USES; use++) {
        const struct mpr_sides bytes = { use_of(d[0], (enum mpr_use)use),
                                         use_of(d[1], (enum mpr_use)use) };
        const bool of_heap = use <= MPR_USE_GRAPH_MEMORY;
        if (!mpr_change_counts(c, bytes, peak) || (of_heap && !with_torch)) continue;
        const struct mpr_device *more = d[bytes.now > bytes.base];
        struct mpr_change *change =
            mpr_change_add(c, MPR_CHANGE_DEVICE, "device", heap, bytes, peak);
        change->use = (enum mpr_use)use;
        for (size_t i = 0; i < more->peak.parts; i++)
            if (more->peak.part[i].use == (enum mpr_use)use) change->part = more->peak.part[i].name;
    }
}

void mpr_compare_device(struct mpr_comparison *c, const struct mpr_diff_account *a)
{
    const struct mpr_device *d[2] = { device_of(c, 0, a->number), device_of(c, 1, a->number) };
    const struct mpr_sides peak = mpr_sides_of(&a->total);
    if (!d[0] || !d[1] || !d[0]->peak.valid || !d[1]->peak.valid || a->total.kind == MPR_DIFF_NOISE)
        return;
    compare_pools(c, a->number, d, peak);
    if (!c->heap[mpf_heap_gpu(MPF_HEAP_TORCH, a->number)].is_noise)
        compare_cache(c, a->number, d, peak);
    compare_parts(c, a, d, peak);
}
