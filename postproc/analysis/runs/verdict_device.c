/* Compares memory outside of heaps: graphs' pools, free memory of PyTorch, parts of a device, and
 * anonymous memory that belongs to no block. */
#include "amount.h"
#include "verdict_parts.h"

/* ---- devices */

/* Returns the largest anonymous memory, or 0 if the report is about an instant or about another
 * heap. */
static struct mpr_sides resident_of(const struct mpr_comparison *c)
{
    const uint8_t heap = c->diff->peaks.options.heap;
    if ((heap && heap != MPF_HEAP_HOST) || !mpr_instant_is_peak(c->log[0]->at))
        return (struct mpr_sides){ 0, 0 };
    return (struct mpr_sides){ c->log[0]->summary.anonymous, c->log[1]->summary.anonymous };
}

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
    return d && d->peak.valid ? mpr_positive(mpr_device_bytes(&d->peak, use)) : 0;
}

/* Returns the live blocks of captured graphs. */
static const struct mpr_role_share *captured(const struct mpr_comparison *c, size_t side,
                                             uint8_t heap)
{
    const struct mpr_breakdown_heap *h = mpr_comparison_roles(c, side, heap);
    return h ? &h->role[MPR_ROLE_GRAPHS] : NULL;
}

/* Returns the bytes of the graphs' memory pools: those of all segments if their finding has them,
 * else live blocks and free memory. */
static uint64_t pool_bytes(const struct mpr_comparison *c, size_t side, uint8_t heap,
                           const struct mpr_device *d)
{
    const struct mpr_insights *in = c->insights[side];
    const uint8_t own = mpr_diff_own_heap(c->diff, c->run[side], heap);
    const struct mpr_role_share *share = captured(c, side, heap);
    const struct mpr_finding *pools = in ? mpr_finding_of(in, MPR_FINDING_GRAPH_POOLS, own) : NULL;
    const char key[] = "pool_bytes";
    if (pools) return mpr_finding_value(pools, key, sizeof key - 1)->value;
    return use_of(d, MPR_USE_TORCH_GRAPH_POOLS) + (share ? share->bytes : 0);
}

static void compare_pools(struct mpr_comparison *c, unsigned number,
                          const struct mpr_device *const *d, struct mpr_sides peak)
{
    const uint8_t heap = mpf_heap_gpu(MPF_HEAP_TORCH, number);
    const struct mpr_sides bytes = { pool_bytes(c, 0, heap, d[0]), pool_bytes(c, 1, heap, d[1]) };
    if (!mpr_change_counts(c, bytes, peak)) return;
    const struct mpr_role_share *share[2] = { captured(c, 0, heap), captured(c, 1, heap) };
    mpr_change_name_by_role(
        c, mpr_change_add(c, MPR_CHANGE_GRAPH_POOLS, "graph_pools", heap, bytes, peak), share);
}

/* Compares the memory that PyTorch keeps free.  It differs as a consequence if live blocks differ
 * by as much. */
static void compare_cache(struct mpr_comparison *c, unsigned number,
                          const struct mpr_device *const *d, struct mpr_sides peak)
{
    struct mpr_sides bytes = { 0, 0 }, live = { 0, 0 };
    uint64_t *of[2] = { &bytes.base, &bytes.now };
    for (size_t i = 0; i < 2; i++)
        *of[i] = use_of(d[i], MPR_USE_TORCH_SPLIT_FREE) + use_of(d[i], MPR_USE_TORCH_RELEASABLE);
    live.base = use_of(d[0], MPR_USE_TORCH_LIVE);
    live.now = use_of(d[1], MPR_USE_TORCH_LIVE);
    if (!mpr_change_counts(c, bytes, peak) ||
        mpr_sides_distance(bytes) < 2 * mpr_sides_distance(live))
        return;
    mpr_change_add(c, MPR_CHANGE_CACHE, "cache", mpf_heap_gpu(MPF_HEAP_TORCH, number), bytes, peak);
}

/* Compares the parts of a device that belong to no heap.  Blocks of a library are in gpuN/device;
 * their heap is compared unless PyTorch uses the device. */
static void compare_parts(struct mpr_comparison *c, const struct mpr_diff_account *a,
                          const struct mpr_device *const *d, struct mpr_sides peak)
{
    const uint8_t heap = mpf_heap_gpu(MPF_HEAP_DEVICE, a->which);
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
    const struct mpr_device *d[2] = { device_of(c, 0, a->which), device_of(c, 1, a->which) };
    const struct mpr_sides peak = mpr_account_sides(a);
    if (!d[0] || !d[1] || !d[0]->peak.valid || !d[1]->peak.valid || a->noise) return;
    compare_pools(c, a->which, d, peak);
    if (!c->of_heap[mpf_heap_gpu(MPF_HEAP_TORCH, a->which)].is_noise)
        compare_cache(c, a->which, d, peak);
    compare_parts(c, a, d, peak);
}

/* Returns the anonymous memory beyond the peaks of blocks and mappings.  Mappings need not be
 * touched, so it may be more. */
static uint64_t unowned(const struct mpr_log_peaks *log, const struct mpr_heap_peak *blocks)
{
    const struct mpr_heap_peak *mappings = mpr_peaks_heap(log, MPF_HEAP_MMAP);
    const uint64_t live = blocks->peak_bytes + (mappings ? mappings->peak_bytes : 0);
    return mpr_saturating_sub(log->summary.anonymous, live);
}

/* Compares anonymous memory that belongs to no live block, because malloc keeps freed blocks, or
 * because memprof does not record its owner. */
void mpr_compare_retention(struct mpr_comparison *c)
{
    const struct mpr_heap_peak *blocks[2] = { mpr_peaks_heap(c->log[0], MPF_HEAP_HOST),
                                              mpr_peaks_heap(c->log[1], MPF_HEAP_HOST) };
    const struct mpr_sides resident = resident_of(c);
    if (!blocks[0] || !blocks[1] || !resident.base || !resident.now) return;
    const struct mpr_sides bytes = { unowned(c->log[0], blocks[0]), unowned(c->log[1], blocks[1]) };
    if (mpr_sides_distance(bytes) < MPR_CHANGE_BYTES || !mpr_change_counts(c, bytes, resident) ||
        !mpr_change_counts(c, resident, resident) || !mpr_sides_agree(bytes, resident))
        return; /* the kernel's figures are sampled */
    struct mpr_change *change =
        mpr_change_add(c, MPR_CHANGE_RETENTION, "retention", MPF_HEAP_HOST, bytes, resident);
    const struct mpr_heap_peak *more = blocks[bytes.now > bytes.base];
    if (more->rows) change->path = more->row[0].path;
    change->estimated = true;
}
