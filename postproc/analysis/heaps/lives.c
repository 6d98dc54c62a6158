#include "lives.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "gpu_book.h"
#include "roles.h"

static const struct mpr_heap *heap_of(const struct mpr_replay *r, unsigned device)
{
    return &r->books.heap[mpf_heap_gpu(MPF_HEAP_TORCH, device)];
}

/* Has the instant moved?  Then it is the state that the event left behind, or the one before it,
 * where a block that the event made was not there yet. */
static void look(struct mpr_lives *l, const struct mpr_replay *r, unsigned device, bool made)
{
    const struct mpr_heap *heap = heap_of(r, device);
    struct mpr_lives_device *d = &l->device[device];
    if (heap->epoch == d->epoch) return;
    d->epoch = heap->epoch;
    d->instant = l->phases.now;
    d->births = r->gpu.births - (made && heap->bytes != heap->peak_bytes);
    d->mappings = r->gpu.mappings;
    d->count = 0;
}

static void forget(struct mpr_lives *l, uint32_t place)
{
    mpr_index_set(&l->number, l->live[place].block.addr, 0);
    l->live[place] = l->live[--l->count];
    if (place < l->count) mpr_index_set(&l->number, l->live[place].block.addr, place + 1);
}

static void bury(struct mpr_lives *l, const struct mpr_replay *r, const struct mpr_thread *t,
                 uint32_t place)
{
    struct mpr_block_life *life = &l->live[place];
    const unsigned device = mpf_heap_device(life->block.heap);
    struct mpr_lives_device *d = &l->device[device];
    const struct mpr_heap *heap = heap_of(r, device);
    const bool before = heap->epoch == d->epoch || heap->bytes != heap->peak_bytes;
    look(l, r, device, false);
    life->gone = mpr_phases_of(&l->phases, r, t);
    life->made_before_gone = d->made;
    life->captured = life->block.capture && t->gpu.capture != life->block.capture;
    const struct mpr_role_life role = { .made = life->made,
                                        .gone = life->gone,
                                        .under = life->under };
    l->returns_grads |= mpr_role_is_left_by_backward(&role);
    if (before && life->block.birth <= d->births) {
        MPR_GROW(d->gone, d->count, d->cap);
        d->gone[d->count++] = *life;
    }
    forget(l, place);
}

static void on_alloc(struct mpr_lives *l, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    const struct mpr_gpu_block *b = mpr_gpu_blocks_find(&r->gpu.torch, e->addr);
    const uint32_t known = mpr_index_get(&l->number, e->addr);
    if (!b) return;
    if (mpf_heap_device(e->heap) >= l->devices) l->devices = mpf_heap_device(e->heap) + 1;
    if (known) bury(l, r, t, known - 1); /* its free was not seen */
    look(l, r, mpf_heap_device(e->heap), true);
    l->device[mpf_heap_device(e->heap)].made++;
    MPR_GROW(l->live, l->count, l->cap);
    l->live[l->count++] = (struct mpr_block_life){
        .block = *b,
        .made = l->phases.now,
        .under = mpr_torch_says(&l->phases.names, &r->ranges, t->node),
        .lives = true,
    };
    mpr_index_set(&l->number, e->addr, l->count);
}

static void on_free(struct mpr_lives *l, const struct mpr_replay *r, const struct mpr_thread *t,
                    const struct mpf_event *e)
{
    const uint32_t known = mpr_index_get(&l->number, e->addr);
    if (known) {
        l->live[known - 1].lives = false;
        bury(l, r, t, known - 1);
    }
}

/* A context is gone, and blocks with it. */
static void sweep(struct mpr_lives *l, const struct mpr_replay *r, const struct mpr_thread *t)
{
    for (uint32_t i = l->count; i-- > 0;) {
        const struct mpr_gpu_block *b = mpr_gpu_blocks_find(&r->gpu.torch, l->live[i].block.addr);
        if (b && b->birth == l->live[i].block.birth) continue;
        l->live[i].lives = false;
        bury(l, r, t, i);
    }
}

void mpr_lives_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                   const struct mpf_event *e)
{
    struct mpr_lives *l = arg;
    if (!mpr_gpu_of_torch(e))
        for (unsigned i = 0; i < l->devices; i++) look(l, r, i, false);
    mpr_phases_see(&l->phases, r, t, e);
    if (r->gpu.context_blocks != l->contexts) {
        l->contexts = r->gpu.context_blocks;
        sweep(l, r, t);
    }
    if (!mpr_gpu_of_torch(e)) return;
    if (e->op == MPF_OP_ALLOC) on_alloc(l, r, t, e);
    else if (e->op == MPF_OP_FREE) on_free(l, r, t, e);
}

bool mpr_lives_went_last(const struct mpr_lives *l, const struct mpr_block_life *life)
{
    return !life->lives &&
           life->made_before_gone == l->device[mpf_heap_device(life->block.heap)].made;
}

struct mpr_block_life *mpr_lives_end(struct mpr_lives *l, const struct mpr_replay *r,
                                     unsigned device, size_t *count)
{
    struct mpr_lives_device *d = &l->device[device];
    look(l, r, device, false);
    struct mpr_block_life *all = mpr_alloc((size_t)d->count + l->count, sizeof *all);
    *count = d->count;
    if (d->count) memcpy(all, d->gone, d->count * sizeof *all);
    for (uint32_t i = 0; i < l->count; i++) {
        const struct mpr_block_life *life = &l->live[i];
        if (mpf_heap_device(life->block.heap) != device || life->block.birth > d->births) continue;
        all[*count] = *life;
        all[*count].captured = life->block.capture != 0;
        all[(*count)++].gone = l->phases.now;
    }
    return all;
}

void mpr_lives_free(struct mpr_lives *l)
{
    for (unsigned i = 0; i < MPF_GPUS; i++) free(l->device[i].gone);
    free(l->live);
    mpr_index_free(&l->number);
    mpr_phases_free(&l->phases);
}
