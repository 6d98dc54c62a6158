/* What ranges that are open take of each heap, by entries of whoever follows them.  Private to this
 * layer.
 *
 * The heaps' highs since the range event before are those of all ranges that were open: at each
 * such event, before it counts, they are learnt, given to the entries of the open ranges and
 * forgotten. */
#ifndef MPR_TAKEN_H
#define MPR_TAKEN_H

#include "instance_heap.h"
#include "replay.h"

struct mpr_taken {
    size_t entries; /* at most */
    struct mpr_used_heaps heaps;
    struct mpr_highs highs;
    struct mpr_instance_heap *heap[MPR_HEAPS]; /* by entry; of heaps that are used */
    uint8_t risen[MPR_HEAPS];                  /* codes of those that have a high now */
    uint32_t rises;
};

/* Of a replay that has seen nothing yet. */
void mpr_taken_watch(struct mpr_taken *taken, struct mpr_replay *r, size_t entries);
void mpr_taken_free(struct mpr_taken *taken);

void mpr_taken_learn(struct mpr_taken *taken, const struct mpr_replay *r);
void mpr_taken_rise(struct mpr_taken *taken, size_t entry, uint64_t number);
void mpr_taken_forget(struct mpr_taken *taken);

/* An instance begins: the entry's first one, or one more of it. */
void mpr_taken_begin(struct mpr_taken *taken, const struct mpr_replay *r, size_t entry,
                     uint64_t number, bool first);
void mpr_taken_end(struct mpr_taken *taken, const struct mpr_replay *r, size_t entry);

void mpr_taken_move(struct mpr_taken *taken, size_t to, size_t from);
/* a, and b that comes after it, become one. */
void mpr_taken_join(struct mpr_taken *taken, size_t to, size_t a, size_t b);

#endif
