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

#endif
