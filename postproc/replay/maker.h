/* What a block's cell depends on, and which cell that is. */
#ifndef MPR_MAKER_H
#define MPR_MAKER_H

#include "replay_state.h"

/* Of keys by AUTO: a library's number, not a range's. */
#define MPR_KEY_LIBRARY (UINT64_C(1) << 32)

/* Size class of a block: 0 for no bytes, otherwise n + 1 for sizes over 2^(n-1) up to 2^n. */
static inline uint32_t mpr_size_class(uint64_t size)
{
    if (size < 2) return (uint32_t)size;
    return 65 - (uint32_t)__builtin_clzll(size - 1);
}

/* What a block's cell depends on; site, comm and graph: 0 where they are not known. */
struct mpr_maker {
    uint64_t size;
    uint32_t node, thread, site, comm, graph;
};

/* A cell's key by MPR_GROUP_ALL: who shares range, thread and size class; the cell's site stands
 * beside it. */
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

/* The path of a block that is made in a range, with that Python stack: with its frames where the
 * range is a wrapper's (wrappers.h), by AUTO and ALL, which give a block the best name that it has.
 */
uint32_t mpr_maker_path(struct mpr_replay *r, uint32_t node, uint32_t python);
/* The key of a block's cell. */
uint64_t mpr_maker_key(const struct mpr_replay *r, const struct mpr_maker *m);
/* The index of its cell, made when new. */
uint32_t mpr_maker_cell(struct mpr_replay *r, const struct mpr_maker *m, uint8_t heap);

/* ---- the cell of what a thread makes now */

/* Its key without a call stack, as most blocks are. */
static inline uint64_t mpr_maker_plain_key(const struct mpr_replay *r, const struct mpr_thread *t,
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

/* With the call stack that is known, which is taken; without one, of a key that the hints do not
 * know. */
MPR_COLD uint32_t mpr_maker_at_site(struct mpr_replay *r, struct mpr_thread *t, uint8_t heap,
                                    uint64_t size);
MPR_COLD uint32_t mpr_maker_look_up(struct mpr_replay *r, uint64_t key, uint8_t heap);

static inline uint32_t mpr_maker_new(struct mpr_replay *r, struct mpr_thread *t, uint8_t heap,
                                     uint64_t size)
{
    if (__builtin_expect(t->at.stack | t->at.python, 0)) return mpr_maker_at_site(r, t, heap, size);
    const uint64_t key = mpr_maker_plain_key(r, t, size);
    const struct mpr_hint *hint = mpr_books_hint(&r->books, key, heap);
    return hint->key == key && hint->heap == heap && heap ? hint->cell
                                                          : mpr_maker_look_up(r, key, heap);
}

#endif
