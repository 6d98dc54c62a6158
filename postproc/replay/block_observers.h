/* Calls the observers of blocks: large blocks, lifetimes, the matrix of allocations and frees, and
 * the ledger. */
#ifndef MPR_BLOCK_OBSERVERS_H
#define MPR_BLOCK_OBSERVERS_H

#include "replay.h"

static inline bool mpr_blocks_are_observed(const struct mpr_replay *r)
{
    return r->large || r->lifetimes || r->alloc_free || r->ledger;
}

/* A block got its address.  `block->from` may be earlier, because memory with a handle has no
 * address at first. */
static inline void mpr_observe_alloc(struct mpr_replay *r, uint8_t heap,
                                     const struct mpr_large_block *block)
{
    const uint64_t key = mpr_block_key(block->addr, heap);
    if (r->large) mpr_large_allocated(r->large, heap, block);
    if (r->lifetimes)
        mpr_lifetime_histogram_add(r->lifetimes, key, block->size, block->cell, block->from);
    const struct mpr_live_block live = { block->from, block->size, block->cell, { 0 } };
    if (!r->ledger) return;
    mpr_live_index_add(&r->ledger->live, key, &live);
    if (r->ledger->allocated) r->ledger->allocated(r->ledger->arg, key, &live);
}

/* A block loses its address. */
static inline void mpr_observe_free(struct mpr_replay *r, uint64_t key, uint64_t size)
{
    mpr_touched_cells_tick(r->accounts.touches);
    if (r->large) mpr_large_freed(r->large, (uint8_t)key, key >> 8, size, r->now, r->actor);
    if (r->lifetimes) mpr_lifetime_histogram_remove(r->lifetimes, key, size, r->now);
    if (!r->ledger) return;
    const struct mpr_thread *t = r->actor < r->threads.count ? r->threads.at[r->actor] : NULL;
    mpr_ledger_remove(r->ledger, key, r->now, (struct mpr_freer){ r->actor, t ? t->node : 0 });
}

/* A block's bytes begin to count, or no longer count.  @number: identifies the block in its heap.
 * That is its address, or a serial number for device memory, because memory with a handle counts
 * until its last reference is dropped, whatever its address. */
static inline void mpr_observe_counted(struct mpr_replay *r, uint8_t heap, uint64_t number,
                                       uint64_t size, uint32_t cell)
{
    const bool sampled = heap == MPF_HEAP_HOST && mpr_replay_samples_host(r);
    if (r->alloc_free && !sampled)
        mpr_alloc_free_matrix_add(r->alloc_free, mpr_block_key(number, heap), size, cell, r->now);
}

static inline void mpr_observe_uncounted(struct mpr_replay *r, uint8_t heap, uint64_t number)
{
    if (r->alloc_free)
        mpr_alloc_free_matrix_remove(r->alloc_free, mpr_block_key(number, heap), r->now);
}

/* A block is allocated, or freed, that is not device memory: it has its address while it counts. */
static inline void mpr_observe_block(struct mpr_replay *r, uint8_t heap, uint64_t addr,
                                     uint64_t size, uint32_t cell)
{
    const struct mpr_large_block block = {
        .addr = addr, .size = size, .from = r->now, .to = UINT64_MAX, .cell = cell
    };
    mpr_observe_alloc(r, heap, &block);
    mpr_observe_counted(r, heap, addr, size, cell);
}

static inline void mpr_observe_block_free(struct mpr_replay *r, uint64_t key, uint64_t size)
{
    mpr_observe_free(r, key, size);
    mpr_observe_uncounted(r, (uint8_t)key, key >> 8);
}

#endif
