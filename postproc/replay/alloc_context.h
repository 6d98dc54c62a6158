/* The context of an allocation (range path, thread, call stack, size), which determines its cell.
 */
#ifndef MPR_ALLOC_CONTEXT_H
#define MPR_ALLOC_CONTEXT_H

#include "replay.h"

/* A flag in keys by MPR_GROUP_AUTO: the key is the number of a library, not of a range. */
#define MPR_KEY_LIBRARY (UINT64_C(1) << 32)

/* Returns the size class of a block: 0 for 0 bytes, n + 1 for sizes over 2^(n-1) up to 2^n. */
static inline uint32_t mpr_size_class(uint64_t size)
{
    if (size < 2) return (uint32_t)size;
    return 65 - (uint32_t)__builtin_clzll(size - 1);
}

struct mpr_alloc_context {
    uint64_t size;
    uint32_t node, thread, site, comm, graph; /* site, comm, graph: 0 if unknown */
};

/* A cell's key by MPR_GROUP_ALL.  The cell's site is a separate field. */
struct mpr_composite_key {
    uint32_t node, thread, class;
};
static inline uint64_t mpr_composite_key_pack(struct mpr_composite_key all)
{
    return all.node | (uint64_t)all.thread << 32 | (uint64_t)all.class << 54;
}
static inline struct mpr_composite_key mpr_composite_key_unpack(uint64_t key)
{
    return (struct mpr_composite_key){ (uint32_t)key, key >> 32 & (MPR_THREADS_MAX - 1),
                                       (uint32_t)(key >> 54) };
}

/* Returns the path of a block that is allocated in range `node` with this Python stack.  If the
 * range is one of PyTorch that is named after a Python call ("DistributedDataParallel.forward"),
 * the frames inside that call are appended by AUTO, ALL and PLACE.  Otherwise all blocks of a
 * wrapped model would have the wrapper's name. */
uint32_t mpr_alloc_context_path(struct mpr_replay *r, uint32_t node, uint32_t python);
/* Returns the key of the cell. */
uint64_t mpr_alloc_context_key(const struct mpr_replay *r, const struct mpr_alloc_context *c);
/* Returns the index of the cell, which is made if it is new. */
uint32_t mpr_alloc_context_cell(struct mpr_replay *r, const struct mpr_alloc_context *c,
                                uint8_t heap);

/* Returns the path of device blocks that the thread allocates.  If the thread has no range of the
 * application, the path begins with those of the thread that pushed such a range last, and
 * *inherited is true.  @inherited may be NULL. */
uint32_t mpr_thread_inherited_path(struct mpr_replay *r, struct mpr_thread *t, bool *inherited);

/* Returns true if the thread's next block represents others, which have no call stack. */
static inline bool mpr_thread_has_sampled_stack(const struct mpr_replay *r,
                                                const struct mpr_thread *t)
{
    const bool sampled = (t->at.stack | t->at.python) && r->options.sample_mean != 0;
    return sampled && (!t->node || r->options.by != MPR_GROUP_AUTO);
}

/* ---- the cell of a block that a thread allocates now */

/* Returns the key of a block without a call stack.  Most blocks have none. */
static inline uint64_t mpr_thread_plain_key(const struct mpr_replay *r, const struct mpr_thread *t,
                                            uint64_t size)
{
    switch (r->options.by) {
    case MPR_GROUP_RANGE:
    case MPR_GROUP_AUTO:
    case MPR_GROUP_PLACE: return t->node;
    case MPR_GROUP_THREAD: return t->number;
    case MPR_GROUP_SIZE: return mpr_size_class(size);
    case MPR_GROUP_ALL:
        return mpr_composite_key_pack(
            (struct mpr_composite_key){ t->node, t->number, mpr_size_class(size) });
    default: return 0;
    }
}

/* Does the same as mpr_thread_cell, for a thread with a call stack. */
MPR_COLD uint32_t mpr_thread_cell_at_site(struct mpr_replay *r, struct mpr_thread *t, uint8_t heap,
                                          uint64_t size);
/* Looks up the cell of a block without a call stack and stores it in the cache. */
MPR_COLD uint32_t mpr_thread_cell_look_up(struct mpr_replay *r, uint64_t key, uint8_t heap);

/* Returns the cell of a block.  The thread's call stack is used for one block only. */
static inline uint32_t mpr_thread_cell(struct mpr_replay *r, struct mpr_thread *t, uint8_t heap,
                                       uint64_t size)
{
    if (__builtin_expect(t->at.stack | t->at.python, 0))
        return mpr_thread_cell_at_site(r, t, heap, size);
    const uint64_t key = mpr_thread_plain_key(r, t, size);
    const struct mpr_hint *hint = mpr_accounts_hint(&r->accounts, key, heap);
    return hint->key == key && hint->heap == heap && heap ? hint->cell
                                                          : mpr_thread_cell_look_up(r, key, heap);
}

#endif
