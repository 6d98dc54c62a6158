/* Who looks on while blocks come and go: the largest of them, those that last, what a span keeps,
 * each of them. */
#ifndef MPR_LIVES_H
#define MPR_LIVES_H

#include "replay.h"

static inline bool mpr_lives_watched(const struct mpr_replay *r)
{
    return r->large || r->lasting || r->flows || r->ledger;
}

/* `block->from` may be before now: memory with a handle is made before it has an address. */
static inline void mpr_lives_born(struct mpr_replay *r, uint8_t heap,
                                  const struct mpr_large_block *block)
{
    const uint64_t key = mpr_block_key(block->addr, heap);
    if (r->large) mpr_large_born(r->large, heap, block);
    if (r->lasting) mpr_lasting_born(r->lasting, key, block->size, block->cell, block->from);
    if (r->ledger) mpr_ledger_born(r->ledger, key, block->size, block->cell, block->from);
}

/* The bytes of the block of that number, of its heap (blocks.h), count from now on, or no more: of
 * memory with a handle, which may have no address yet, or another one later, from when it is made
 * until its last reference goes. */
static inline void mpr_lives_counted(struct mpr_replay *r, uint8_t heap, uint64_t number,
                                     uint64_t size, uint32_t cell)
{
    const bool sampled = heap == MPF_HEAP_HOST && mpr_replay_samples_host(r);
    if (r->flows && !sampled)
        mpr_flows_born(r->flows, mpr_block_key(number, heap), size, cell, r->now);
}

static inline void mpr_lives_uncounted(struct mpr_replay *r, uint8_t heap, uint64_t number)
{
    if (r->flows) mpr_flows_gone(r->flows, mpr_block_key(number, heap), r->now);
}

/* Who does what the newest event says. */
static inline struct mpr_freer mpr_lives_freer(const struct mpr_replay *r)
{
    const struct mpr_thread *t = r->actor < r->threads.count ? r->threads.at[r->actor] : NULL;
    return (struct mpr_freer){ r->actor, t ? t->node : 0 };
}

static inline void mpr_lives_gone(struct mpr_replay *r, uint64_t key, uint64_t size)
{
    mpr_touches_tick(r->books.touches);
    if (r->large) mpr_large_gone(r->large, (uint8_t)key, key >> 8, size, r->now, r->actor);
    if (r->lasting) mpr_lasting_gone(r->lasting, key, size, r->now);
    if (r->ledger) mpr_ledger_gone(r->ledger, key, r->now, mpr_lives_freer(r));
}

#endif
