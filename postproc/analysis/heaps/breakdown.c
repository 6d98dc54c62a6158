/* Follows the blocks that PyTorch held at each device's instant until they are freed, and gives
 * each a role. The role depends on the phase in which the block was allocated; `roles` has the
 * rules.
 *
 * The instant is the heap's peak, or the selected one (accounts.h). One pass is enough: a new
 * peak takes all live blocks, and forgets those that were freed since the previous peak. So at
 * most twice the live blocks are kept. */
#include "breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "bisect.h"
#include "gpu.h"
#include "index.h"
#include "labels.h"
#include "mpf/gpu.h"

static const struct {
    const char *key, *name, *rule;
} roles[MPR_ROLES] = {
    [MPR_ROLE_PARAMETERS] = { "parameters", "parameters, buffers",
                              "allocated for a module outside of passes: by a call that makes or moves the module, or lived "
                              "through two passes or to the end" },
    [MPR_ROLE_GRADIENTS] = { "gradients", "gradients",
                             "allocated in a backward pass and outlived it; DistributedDataParallel's buckets" },
    [MPR_ROLE_OPTIMIZER] = { "optimizer_state", "optimizer state",
                             "allocated in an optimizer's step and outlived it" },
    [MPR_ROLE_ACTIVATIONS] = { "activations", "activations",
                               "allocated before a backward pass and freed in it, or the pass is incomplete or missing" },
    [MPR_ROLE_OUTPUTS] = { "outputs", "outputs",
                           "allocated in a forward pass and outlived the backward pass" },
    [MPR_ROLE_GATHERED] = { "gathered_parameters", "gathered parameters",
                            "allocated where FSDP joins shards" },
    [MPR_ROLE_CACHE] = { "kv_cache", "KV cache", "allocated by a call of a cache" },
    [MPR_ROLE_INPUTS] = { "inputs", "inputs, other data",
                          "allocated before a forward pass for no module, and outlived it" },
    [MPR_ROLE_GRAPHS] = { "graphs", "captured graphs",
                          "allocated while a graph was captured, and outlived the capture" },
    [MPR_ROLE_WORKSPACES] = { "workspaces", "workspaces",
                              "allocated once, in the first pass, and never freed (like cuBLAS's)" },
    [MPR_ROLE_TEMPORARIES] = { "temporaries", "temporaries",
                               "allocated and freed in one pass or optimizer's step, or between two" },
    [MPR_ROLE_ASLEEP] = { "asleep", "asleep, not in use",
                          "unmapped below live blocks (sleep mode), so without memory" },
    [MPR_ROLE_UNEXPLAINED] = { "unexplained", "unexplained", "no rule fits" },
};

const char *mpr_role_key(enum mpr_role role) { return roles[role].key; }
const char *mpr_role_name(enum mpr_role role) { return roles[role].name; }
const char *mpr_role_rule(enum mpr_role role) { return roles[role].rule; }

enum mpr_role mpr_role_named(const char *key)
{
    enum mpr_role role = 0;
    while (role < MPR_ROLES && strcmp(roles[role].key, key) != 0) role++;
    return role;
}

/* ---- lifetimes of blocks */

/* A block with the moments of its allocation and its free. */
struct life {
    struct mpr_gpu_block block;
    uint64_t allocations_until_free;    /* blocks allocated on its device until it was freed */
    struct mpr_moment allocated, freed; /* freed: the end of the log if the block is live then */
    unsigned stack;  /* the context of its Python stack (enum mpr_torch_context), or 0 */
    unsigned ranges; /* the context of its thread's ranges */
    bool is_live;    /* at the end of the log; or freed at the end of a program without passes */
    bool recorded;   /* autograd had recorded nodes before its allocation */
    bool freed_last; /* no block was allocated after it was freed */
    bool no_pass;    /* the log has neither a pass nor an optimizer step, so it has no phases */
    bool captured;   /* allocated during the capture of a graph, and not freed during it */
    bool has_parameter_size; /* it has the size of a parameter, and no gradient was ever freed. If
                                the log has one pass, blocks that were allocated before it count as
                                parameters. */
    bool only_pass; /* the log has one backward pass, so it is unknown which blocks would outlive
                       the next one */
    bool trains;    /* the log has a backward pass or an optimizer step */
    bool repeated;  /* another live block has its size and call stack */
    bool is_cut;    /* the log ends before the process did, so the last pass may be incomplete */
    /* Only for blocks of the instant, or parts of them: */
    enum mpr_role role;
    uint32_t frame;         /* name of the innermost call in its Python stack */
    uint32_t key;           /* number of the node of its Python stack, or of its ranges */
    uint64_t bytes, blocks; /* blocks: 0 if another part of the block counts it */
};

/* Returns how many backward passes began while the block was live. */
static uint32_t passes(const struct life *l) { return l->freed.passes - l->allocated.passes; }

/* Returns true if the block was allocated in a backward pass and outlived it. */
static bool is_left_by_backward(const struct life *l)
{
    return l->allocated.phase == MPR_PHASE_BACKWARD && !(l->ranges & MPR_IN_GATHER) &&
           (l->is_live || l->freed.phase != MPR_PHASE_BACKWARD || passes(l) > 0);
}

struct device {
    uint64_t epoch;            /* the heap's, at the instant */
    uint64_t births, mappings; /* numbers of blocks and of mappings of handles until then */
    struct mpr_moment instant;
    bool recorded;     /* autograd recorded a node in the forward pass of the instant */
    struct life *gone; /* blocks of the instant that have been freed */
    uint32_t count, cap;
    uint64_t made;       /* allocations so far */
    uint64_t *step_peak; /* by training step */
    uint32_t step_peaks, step_cap;
};

enum { STEP_PEAKS_MAX = 4096 }; /* steps of a device */

struct mpr_breakdown_reading {
    struct mpr_training training;
    struct life *live; /* in no order */
    uint32_t count, cap;
    struct mpr_index place_of; /* by address, + 1 */
    struct device device[MPF_GPUS];
    unsigned devices;   /* the highest number of a device with PyTorch's memory, + 1 */
    uint64_t contexts;  /* number of blocks that were freed with their context */
    bool returns_grads; /* a block that outlived its backward pass was freed */
};

static const struct mpr_heap *heap_of(const struct mpr_replay *r, unsigned device)
{
    return &r->accounts.heap[mpf_heap_gpu(MPF_HEAP_TORCH, device)];
}

/* Moves the instant if the heap has a new peak. It is the state after the event, or before the
 * event if that allocated a block that the peak does not include. */
static void update_instant(struct mpr_breakdown_reading *l, const struct mpr_replay *r,
                           unsigned device, bool made)
{
    const struct mpr_heap *heap = heap_of(r, device);
    struct device *d = &l->device[device];
    if (heap->epoch == d->epoch) return;
    d->epoch = heap->epoch;
    d->instant = l->training.now;
    d->recorded = l->training.recorded == l->training.now.serial;
    d->births = r->gpu.births - (made && heap->bytes != heap->peak_bytes);
    d->mappings = r->gpu.mappings;
    d->count = 0;
}

static void note_step_peak(struct device *d, uint32_t step, uint64_t bytes)
{
    if (step >= STEP_PEAKS_MAX) return;
    while (d->step_peaks <= step) {
        MPR_GROW(d->step_peak, d->step_peaks, d->step_cap);
        d->step_peak[d->step_peaks++] = 0;
    }
    if (d->step_peak[step] < bytes) d->step_peak[step] = bytes;
}

/* @is_live: its free was not recorded. */
static void end_life(struct mpr_breakdown_reading *l, const struct mpr_replay *r,
                     const struct mpr_thread *t, uint32_t place, bool is_live)
{
    struct life *life = &l->live[place];
    const uint64_t addr = life->block.addr;
    const unsigned device = mpf_heap_device(life->block.heap);
    struct device *d = &l->device[device];
    const struct mpr_heap *heap = heap_of(r, device);
    const bool was_in = heap->epoch == d->epoch || heap->bytes != heap->peak_bytes;
    update_instant(l, r, device, false);
    life->allocations_until_free = d->made;
    life->freed = mpr_training_moment(&l->training, r, t);
    life->captured = life->block.capture && t->gpu.capture != life->block.capture;
    life->is_live = false;
    l->returns_grads |= is_left_by_backward(life);
    life->is_live = is_live;
    if (was_in && life->block.birth <= d->births) {
        MPR_GROW(d->gone, d->count, d->cap);
        d->gone[d->count++] = *life;
    }
    mpr_index_set(&l->place_of, addr, 0);
    *life = l->live[--l->count];
    if (place < l->count) mpr_index_set(&l->place_of, life->block.addr, place + 1);
}

static void on_alloc(struct mpr_breakdown_reading *l, const struct mpr_replay *r,
                     const struct mpr_thread *t, const struct mpf_event *e)
{
    const struct mpr_gpu_block *b = mpr_gpu_blocks_find(&r->gpu.torch, e->addr);
    const uint32_t known = mpr_index_get(&l->place_of, e->addr);
    const unsigned device = mpf_heap_device(e->heap);
    if (!b) return;
    if (device >= l->devices) l->devices = device + 1;
    if (known) end_life(l, r, t, known - 1, true);
    update_instant(l, r, device, true);
    l->device[device].made++;
    note_step_peak(&l->device[device], l->training.now.steps, heap_of(r, device)->bytes);
    MPR_GROW(l->live, l->count, l->cap);
    l->live[l->count++] = (struct life){
        .block = *b,
        .allocated = l->training.now,
        .recorded = l->training.has_nodes,
        .ranges = mpr_training_context(&l->training, &r->ranges, t->node),
        .is_live = true,
    };
    mpr_index_set(&l->place_of, e->addr, l->count);
}

static void on_event(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    struct mpr_breakdown_reading *l = arg;
    const bool of_torch = mpr_gpu_of_torch(e);
    for (unsigned i = 0; !of_torch && i < l->devices; i++) update_instant(l, r, i, false);
    mpr_training_see(&l->training, r, t, e);
    if (r->gpu.context_blocks != l->contexts) {
        l->contexts = r->gpu.context_blocks;
        for (uint32_t i = l->count; i-- > 0;) { /* blocks that were freed with their context */
            const struct mpr_gpu_block *b =
                mpr_gpu_blocks_find(&r->gpu.torch, l->live[i].block.addr);
            if (!b || b->birth != l->live[i].block.birth) end_life(l, r, t, i, false);
        }
    }
    if (of_torch && e->op == MPF_OP_ALLOC) on_alloc(l, r, t, e);
    const uint32_t known =
        of_torch && e->op == MPF_OP_FREE ? mpr_index_get(&l->place_of, e->addr) : 0;
    if (known) end_life(l, r, t, known - 1, false);
}

struct mpr_breakdown_reading *mpr_breakdown_watch(struct mpr_reader *reader)
{
    struct mpr_breakdown_reading *l = mpr_alloc(1, sizeof *l);
    reader->replay.options.backward_also = true; /* the module of a backward pass's blocks */
    mpr_watch_begin(&reader->replay, (struct mpr_watch){ on_event, l });
    return l;
}

void mpr_breakdown_reading_free(struct mpr_breakdown_reading *l)
{
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        free(l->device[i].gone);
        free(l->device[i].step_peak);
    }
    free(l->live);
    mpr_index_free(&l->place_of);
    mpr_training_free(&l->training);
    free(l);
}

/* ---- the role by the phase of the allocation */

static bool ended_in_phase(const struct life *l)
{
    return !l->is_live && l->freed.serial == l->allocated.serial;
}

/* The role of a block that is kept for ever. A library allocates a workspace once, at its first
 * call. Blocks of later passes, or of several calls, are the program's. */
static enum mpr_role role_of_kept(const struct life *l)
{
    const uint32_t first = l->allocated.phase == MPR_PHASE_BACKWARD ? 1 : 0;
    return l->repeated || l->allocated.passes > first ? MPR_ROLE_UNEXPLAINED : MPR_ROLE_WORKSPACES;
}

static enum mpr_role role_of_backward(const struct life *l)
{
    if (!is_left_by_backward(l)) return MPR_ROLE_TEMPORARIES;
    if (l->only_pass && l->is_live && !l->has_parameter_size)
        return MPR_ROLE_UNEXPLAINED; /* a gradient, or a workspace */
    if (!l->is_live || passes(l) == 0 || l->has_parameter_size) return MPR_ROLE_GRADIENTS;
    return role_of_kept(l);
}

/* A forward pass of a program that does not train. Its end is unknown, so only a module's call
 * in the stack shows that a block was allocated in it. */
static enum mpr_role role_of_inference(const struct life *l)
{
    if (l->stack & MPR_IN_CACHE) return MPR_ROLE_CACHE;
    if (l->captured) return MPR_ROLE_GRAPHS;
    if (l->stack & MPR_IN_MODULE) return MPR_ROLE_PARAMETERS;
    return l->is_live ? MPR_ROLE_INPUTS : MPR_ROLE_UNEXPLAINED;
}

static enum mpr_role role_of_forward(const struct life *l)
{
    const bool trains = l->freed.passes > 0 || l->freed.steps > 0;
    /* no backward pass began, or its end is unknown */
    const bool in_last_pass =
        passes(l) == 0 ? l->freed.passes > 0
                       : passes(l) == 1 && l->is_cut && l->freed.phase == MPR_PHASE_BACKWARD;
    if (!trains && l->stack && !(l->stack & MPR_IN_FORWARD)) return role_of_inference(l);
    if (!l->is_live && l->freed.phase == MPR_PHASE_BACKWARD && passes(l) > 0)
        return MPR_ROLE_ACTIVATIONS;
    if (l->stack & MPR_IN_CACHE && !(trains && ended_in_phase(l))) return MPR_ROLE_CACHE;
    if (l->captured) return MPR_ROLE_GRAPHS;
    if (ended_in_phase(l))
        return l->freed_last ? MPR_ROLE_UNEXPLAINED /* the end of the program may have freed it */
                             : MPR_ROLE_TEMPORARIES;
    if (!l->is_live) return passes(l) > 0 ? MPR_ROLE_OUTPUTS : MPR_ROLE_TEMPORARIES;
    /* without a backward pass, autograd's graph keeps the blocks that it would need */
    if (in_last_pass || (l->recorded && !l->freed.passes)) return MPR_ROLE_ACTIVATIONS;
    if (l->only_pass) return MPR_ROLE_UNEXPLAINED; /* an output, or a workspace */
    return passes(l) == 1 ? MPR_ROLE_OUTPUTS : role_of_kept(l);
}

/* A block that a training program allocates outside of passes. If it lives through passes, it
 * belongs to a module unless its stack shows otherwise. */
static enum mpr_role role_of_training(const struct life *l)
{
    const bool modules = !l->stack || l->stack & MPR_IN_MODULE;
    const bool lasts = l->is_live || passes(l) >= 2; /* a pass and the next one */
    const bool fresh = l->allocated.phase == MPR_PHASE_BETWEEN && passes(l) <= 1; /* the batch */
    if (lasts && modules && !fresh) return MPR_ROLE_PARAMETERS;
    if (l->stack & MPR_IN_BUILD && (l->is_live || passes(l) > 0)) return MPR_ROLE_PARAMETERS;
    if (!l->is_live && l->freed.phase == MPR_PHASE_BACKWARD && modules) return MPR_ROLE_ACTIVATIONS;
    if (l->only_pass && modules && !l->is_live && l->allocated.phase == MPR_PHASE_SETUP)
        return MPR_ROLE_UNEXPLAINED; /* a parameter, or the batch */
    if (l->is_live || passes(l) > 0) return MPR_ROLE_INPUTS;
    return l->allocated.phase == MPR_PHASE_BETWEEN ? MPR_ROLE_TEMPORARIES : MPR_ROLE_UNEXPLAINED;
}

static enum mpr_role role_of_between(const struct life *l)
{
    if (ended_in_phase(l) && !l->captured) return MPR_ROLE_TEMPORARIES;
    if (l->stack & MPR_IN_CACHE) return MPR_ROLE_CACHE;
    if (l->captured) return MPR_ROLE_GRAPHS;
    if (l->freed.passes > 0) return role_of_training(l);
    if (l->stack & MPR_IN_MODULE || (!l->stack && l->is_live)) return MPR_ROLE_PARAMETERS;
    return l->stack ? MPR_ROLE_INPUTS : MPR_ROLE_UNEXPLAINED;
}

/* The whole log is one phase, so only the stack shows the role. */
static enum mpr_role role_without_phases(const struct life *l)
{
    if (l->stack & MPR_IN_CACHE) return MPR_ROLE_CACHE;
    if (l->captured) return MPR_ROLE_GRAPHS;
    return l->is_live && l->stack & MPR_IN_MODULE ? MPR_ROLE_PARAMETERS : MPR_ROLE_UNEXPLAINED;
}

static enum mpr_role role_of(const struct life *l)
{
    if (l->no_pass) return role_without_phases(l);
    if (l->ranges & MPR_IN_GATHER && l->allocated.phase != MPR_PHASE_OPTIMIZER)
        return MPR_ROLE_GATHERED;
    if (l->stack & MPR_IN_BUCKET && !ended_in_phase(l)) return MPR_ROLE_GRADIENTS;
    switch (l->allocated.phase) {
    case MPR_PHASE_OPTIMIZER: return ended_in_phase(l) ? MPR_ROLE_TEMPORARIES : MPR_ROLE_OPTIMIZER;
    case MPR_PHASE_BACKWARD: return role_of_backward(l);
    case MPR_PHASE_FORWARD: return role_of_forward(l);
    default: return role_of_between(l);
    }
}

/* ---- the roles of a device's blocks */

/* Returns the blocks of the device's instant; the caller frees them. */
static struct life *blocks_of(struct mpr_breakdown_reading *l, const struct mpr_replay *r,
                              unsigned device, size_t *count)
{
    struct device *d = &l->device[device];
    update_instant(l, r, device, false);
    struct life *block = mpr_alloc((size_t)d->count + l->count, sizeof *block);
    *count = d->count;
    if (d->count) memcpy(block, d->gone, d->count * sizeof *block);
    for (uint32_t i = 0; i < l->count; i++) {
        const struct life *life = &l->live[i];
        if (mpf_heap_device(life->block.heap) != device || life->block.birth > d->births) continue;
        block[*count] = *life;
        block[*count].captured = life->block.capture != 0;
        block[(*count)++].freed = l->training.now;
    }
    return block;
}

/* Returns true if a block of one of the sorted sizes may be from a request of the same size.
 * PyTorch's allocator does not split off a remainder below 1 MiB, so their sizes differ by less
 * than that (c10/cuda/CUDACachingAllocator.cpp). */
static bool has_size(const uint64_t *size, size_t sizes, uint64_t wanted)
{
    const uint64_t slack = wanted > UINT64_C(1) << 20 ? (UINT64_C(1) << 20) - 1 : 0;
    const size_t too_small = MPR_COUNT_FIRST(i, sizes, size[i] + slack < wanted);
    return too_small < sizes && size[too_small] <= wanted + slack;
}

/* Separates gradients, which have the size of a parameter, from workspaces, among blocks that
 * were allocated in a backward pass and never freed. If the only pass does not identify all
 * parameters, blocks that were allocated before it count as parameters. */
static void find_gradients(struct life *block, size_t count)
{
    uint64_t *size = mpr_alloc(count, sizeof *size);
    size_t sizes = 0;
    for (const struct life *l = block; l < block + count; l++)
        if (l->role == MPR_ROLE_PARAMETERS ||
            (l->only_pass && l->allocated.phase == MPR_PHASE_SETUP))
            size[sizes++] = l->block.size;
    qsort(size, sizes, sizeof *size, mpr_compare_numbers);
    for (struct life *l = block; l < block + count; l++) {
        if (!is_left_by_backward(l)) continue;
        l->has_parameter_size = has_size(size, sizes, l->block.size);
        l->role = role_of(l);
    }
    free(size);
}

MPR_COMPARE(by_stack, struct life *,
            mpr_compare((*a)->key, (*b)->key) ?: mpr_compare((*a)->block.size, (*b)->block.size))

/* Finds blocks that are not workspaces because the same calls allocated several of them. */
static void reject_repeated(struct life *block, size_t count)
{
    struct life **kept = mpr_alloc(count, sizeof *kept);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (block[i].role == MPR_ROLE_WORKSPACES) kept[n++] = &block[i];
    qsort(kept, n, sizeof *kept, by_stack);
    for (size_t i = 0; i < n; i++) {
        kept[i]->repeated = (i && by_stack(&kept[i - 1], &kept[i]) == 0) ||
                            (i + 1 < n && by_stack(&kept[i], &kept[i + 1]) == 0);
        kept[i]->role = role_of(kept[i]);
    }
    free(kept);
}

MPR_COMPARE(by_frame, struct life *,
            mpr_compare((*a)->frame, (*b)->frame)
                ?: mpr_compare((*a)->block.size, (*b)->block.size))

/* Finds blocks that a class with a name like "Cache" allocated.  The class is not a module, so they
 * are not parameters.  A program that does not train keeps its keys and values in equal blocks, one
 * for each layer or one for each of the two.  A single block may be of any other cache. */
static void find_class_caches(struct life *block, size_t count)
{
    struct life **cached = mpr_alloc(count, sizeof *cached);
    size_t n = 0;
    for (struct life *l = block; l < block + count; l++) {
        if (!(l->stack & MPR_IN_CLASS_CACHE) || l->stack & MPR_IN_BUILD) continue;
        if (!(l->stack & MPR_IN_FORWARD)) l->stack &= ~(unsigned)MPR_IN_MODULE;
        if (!l->trains) cached[n++] = l;
    }
    qsort(cached, n, sizeof *cached, by_frame);
    for (size_t i = 0; i < n; i++)
        if ((i && by_frame(&cached[i - 1], &cached[i]) == 0) ||
            (i + 1 < n && by_frame(&cached[i], &cached[i + 1]) == 0))
            cached[i]->stack |= MPR_IN_CACHE;
    free(cached);
}

static void find_roles(struct mpr_breakdown_reading *l, const struct mpr_replay *r, bool is_cut,
                       struct life *block, size_t count)
{
    const struct mpr_moment *now = &l->training.now;
    for (struct life *life = block; life < block + count; life++) {
        const struct mpr_gpu_block *b = &life->block;
        const uint32_t python = mpr_gpu_backward_python(r, b);
        life->stack = mpr_training_context(&l->training, &r->ranges, python) |
                      mpr_torch_innermost_context(&r->ranges, python);
        life->freed_last = !life->is_live &&
                           life->allocations_until_free == l->device[mpf_heap_device(b->heap)].made;
        life->is_live |= life->freed_last && !now->passes && !now->steps;
        life->no_pass = now->phase == MPR_PHASE_SETUP;
        life->only_pass = now->passes == 1;
        life->is_cut = is_cut;
        life->trains = now->passes || now->steps;
        life->frame = r->ranges.node[python].name;
        life->key = python ? python : b->backward_node;
        life->bytes = b->size;
        life->blocks = 1;
    }
    find_class_caches(block, count);
    for (struct life *life = block; life < block + count; life++) life->role = role_of(life);
    if (!l->returns_grads || now->passes == 1) find_gradients(block, count);
    reject_repeated(block, count);
}

static int by_address(const void *key, const void *block)
{
    return mpr_compare(*(const uint64_t *)key, ((const struct mpr_gpu_block *)block)->addr);
}

/* Gives the bytes that are asleep in the snapshot a separate role, whatever their block's role
 * is. Returns the blocks, perhaps moved, and sets their new count. */
static struct life *split_asleep(struct life *block, size_t *blocks,
                                 const struct mpr_device_snapshot *p)
{
    const size_t count = *blocks;
    block = mpr_resize(block, 2 * count, sizeof *block);
    for (size_t i = 0; p->torches && i < count; i++) {
        struct life *part = &block[i];
        const struct mpr_gpu_block *at_peak =
            bsearch(&part->block.addr, p->torch, p->torches, sizeof *p->torch, by_address);
        if (!at_peak || at_peak->birth != part->block.birth || !at_peak->asleep) continue;
        if (at_peak->asleep < part->bytes) {
            part->bytes -= at_peak->asleep;
            part = &block[(*blocks)++];
            *part = block[i];
            part->bytes = at_peak->asleep;
            part->blocks = 0;
        }
        part->role = MPR_ROLE_ASLEEP;
    }
    return block;
}

/* ---- the result */

MPR_COMPARE(by_role_and_key, struct life,
            mpr_compare(a->role, b->role) ?: mpr_compare(a->key, b->key))

/* @block: the blocks of one role, sorted by key. */
static void fill_share(struct mpr_role_share *share, struct mpr_arena *arena,
                       const struct mpr_reader *reader, const struct life *block, size_t count)
{
    struct mpr_row *row = mpr_arena_alloc(arena, count * sizeof *row);
    for (const struct life *l = block; l < block + count; l++) {
        const uint64_t time = l->block.time;
        if (l == block || l->key != l[-1].key)
            row[share->rows++].path = mpr_label_node(arena, reader, l->key);
        row[share->rows - 1].bytes += l->bytes;
        row[share->rows - 1].blocks += l->blocks;
        if (!share->bytes || time < share->oldest) share->oldest = time;
        if (!share->bytes || time > share->newest) share->newest = time;
        share->bytes += l->bytes;
        share->blocks += l->blocks;
    }
    qsort(row, share->rows, sizeof *row, mpr_row_by_bytes);
    share->row = row;
}

static void fill_heap(struct mpr_breakdown *breakdown, struct mpr_breakdown_reading *reading,
                      const struct mpr_reader *reader, unsigned device)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_heap *heap = heap_of(r, device);
    const struct mpr_device_snapshot *snapshot = &r->gpu.device[device].peak;
    const struct device *d = &reading->device[device];
    size_t count;
    struct life *block = blocks_of(reading, r, device, &count);
    find_roles(reading, r, breakdown->summary.end != MPF_END_EXIT, block, count);
    struct mpr_breakdown_heap *out = &breakdown->heap[breakdown->heaps++];
    *out = (struct mpr_breakdown_heap){ .device = device,
                                        .heap = mpf_heap_gpu(MPF_HEAP_TORCH, device),
                                        .bytes = heap->peak_bytes,
                                        .blocks = heap->peak_blocks,
                                        .time = heap->peak_time,
                                        .phase = d->instant.phase,
                                        .steps = d->instant.steps,
                                        .passes = d->instant.passes,
                                        .recorded = d->recorded,
                                        .asleep_time = snapshot->time };
    for (size_t i = 0; snapshot->valid && i < snapshot->torches; i++)
        out->asleep += snapshot->torch[i].asleep;
    if (out->asleep && snapshot->mappings == d->mappings)
        block = split_asleep(block, &count, snapshot);
    for (size_t i = 0; i < count; i++) {
        if (block[i].role != MPR_ROLE_GRADIENTS) continue;
        if (block[i].stack & MPR_IN_BUCKET) out->bucket_bytes += block[i].bytes;
        if (block[i].allocated.steps < d->instant.steps) out->idle_bytes += block[i].bytes;
    }
    qsort(block, count, sizeof *block, by_role_and_key);
    for (size_t i = 0, role = 0; role < MPR_ROLES; role++) {
        const size_t first = i;
        while (i < count && block[i].role == role) i++;
        out->role[role].role = (enum mpr_role)role;
        fill_share(&out->role[role], &breakdown->arena, reader, &block[first], i - first);
    }
    free(block);
    if (!reading->training.now.steps || !d->step_peaks) return;
    uint64_t *peak = mpr_arena_alloc(&breakdown->arena, d->step_peaks * sizeof *peak);
    memcpy(peak, d->step_peak, d->step_peaks * sizeof *peak);
    out->step_peak = peak;
    out->step_peaks = d->step_peaks;
}

/* ---- readings */

void mpr_breakdown_take(struct mpr_breakdown *out, struct mpr_breakdown_reading *reading,
                        const struct mpr_reader *reader, const char *path)
{
    const struct mpr_moment *now = &reading->training.now;
    *out = (struct mpr_breakdown){ .at = reader->replay.options.at };
    mpr_reader_summary(reader, path, &out->arena, &out->summary);
    out->steps = now->steps;
    out->passes = now->passes;
    out->ran = now->phase != MPR_PHASE_SETUP;
    out->heap = mpr_arena_alloc(&out->arena, MPF_GPUS * sizeof *out->heap);
    for (unsigned i = 0; i < MPF_GPUS; i++)
        if (heap_of(&reader->replay, i)->allocations) fill_heap(out, reading, reader, i);
}

int mpr_breakdown_read(struct mpr_breakdown *breakdown, const char *path, struct mpr_instant at,
                       bool without_malloc, const struct mpr_progress *progress,
                       struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, MPR_GROUP_AUTO, at, error) != 0) return -1;
    reader.replay.options.without_malloc = without_malloc;
    struct mpr_breakdown_reading *reading = mpr_breakdown_watch(&reader);
    const int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        mpr_breakdown_take(breakdown, reading, &reader, path);
        breakdown->at = at;
        mpr_reader_close(&reader);
    }
    mpr_breakdown_reading_free(reading);
    return status;
}

void mpr_breakdown_free(struct mpr_breakdown *breakdown) { mpr_arena_free(&breakdown->arena); }
