/* The context of an allocation (range path, thread, call stack, size), and the cell that it
 * selects. */
#ifndef MPR_MAKER_H
#define MPR_MAKER_H

#include "replay.h"

/* Flag in keys by MPR_GROUP_AUTO: the number of a library, not of a range. */
#define MPR_KEY_LIBRARY (UINT64_C(1) << 32)

/* Returns the size class of a block: 0 for 0 bytes, n + 1 for sizes over 2^(n-1) up to 2^n. */
static inline uint32_t mpr_size_class(uint64_t size)
{
    if (size < 2) return (uint32_t)size;
    return 65 - (uint32_t)__builtin_clzll(size - 1);
}

/* site, comm and graph are 0 if unknown. */
struct mpr_alloc_context {
    uint64_t size;
    uint32_t node, thread, site, comm, graph;
};

/* A cell's key by MPR_GROUP_ALL. The cell's site is a field of its own. */
struct mpr_all {
    uint32_t node, thread, class;
};
static inline uint64_t mpr_all_key(struct mpr_all all)
{
    return all.node | (uint64_t)all.thread << 32 | (uint64_t)all.class << 54;
}
static inline struct mpr_all mpr_all_of(uint64_t key)
{
    return (struct mpr_all){ (uint32_t)key, key >> 32 & (MPR_THREADS_MAX - 1),
                             (uint32_t)(key >> 54) };
}

/* Returns the path of a block that is allocated in range `node` with that Python stack. By AUTO and
 * ALL, which give a block its best name, a range of PyTorch that is named after a Python call (such
 * as "DistributedDataParallel.forward") is continued with the frames inside that call: otherwise
 * everything that a wrapped model does would have the wrapper's name. */
uint32_t mpr_alloc_context_path(struct mpr_replay *r, uint32_t node, uint32_t python);
/* Returns the key of the cell; the index of the cell, made when new. */
uint64_t mpr_alloc_context_key(const struct mpr_replay *r, const struct mpr_alloc_context *c);
uint32_t mpr_alloc_context_cell(struct mpr_replay *r, const struct mpr_alloc_context *c,
                                uint8_t heap);

/* Returns the path of device blocks that the thread allocates: that of its own ranges, below those
 * of the thread that pushed a range last if it has no ranges of the application (then *inherited is
 * true). */
uint32_t mpr_thread_inherited_path(struct mpr_replay *r, struct mpr_thread *t, bool *inherited);

/* ---- the cell of a block that a thread allocates now */

/* Returns its key if no call stack is known, which is so for most blocks. */
static inline uint64_t mpr_thread_plain_key(const struct mpr_replay *r, const struct mpr_thread *t,
                                            uint64_t size)
{
    switch (r->options.by) {
    case MPR_GROUP_RANGE:
    case MPR_GROUP_AUTO: return t->node;
    case MPR_GROUP_THREAD: return t->number;
    case MPR_GROUP_SIZE: return mpr_size_class(size);
    case MPR_GROUP_ALL:
        return mpr_all_key((struct mpr_all){ t->node, t->number, mpr_size_class(size) });
    default: return 0;
    }
}

/* With the thread's call stack, which is used up; without one, for a key that has no hint yet. */
MPR_COLD uint32_t mpr_thread_cell_at_site(struct mpr_replay *r, struct mpr_thread *t, uint8_t heap,
                                          uint64_t size);
MPR_COLD uint32_t mpr_thread_cell_look_up(struct mpr_replay *r, uint64_t key, uint8_t heap);

static inline uint32_t mpr_thread_cell(struct mpr_replay *r, struct mpr_thread *t, uint8_t heap,
                                       uint64_t size)
{
    if (__builtin_expect(t->at.stack | t->at.python, 0))
        return mpr_thread_cell_at_site(r, t, heap, size);
    const uint64_t key = mpr_thread_plain_key(r, t, size);
    const struct mpr_hint *hint = mpr_books_hint(&r->books, key, heap);
    return hint->key == key && hint->heap == heap && heap ? hint->cell
                                                          : mpr_thread_cell_look_up(r, key, heap);
}

#endif
