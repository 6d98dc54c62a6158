/* Measures each heap in the instances of ranges: its peak, and its bytes at begin and end.  Private
 * to this layer.
 *
 * A heap's maximum between two range events belongs to all instances that were open then.  So an
 * observer of range events reads the maxima before each event and assigns them to the open
 * instances.  An entry is one instance or several; the caller numbers the entries. */
#ifndef MPR_RANGE_HEAPS_H
#define MPR_RANGE_HEAPS_H

#include "instances.h"
#include "replay.h"

/* The maxima between the two newest range events, of heaps whose bytes have risen. */
struct mpr_heap_rises {
    struct mpr_heap_maxima maxima; /* since the newest event */
    struct mpr_used_heaps heaps;
    struct mpr_heap_rise {
        struct mpr_heap_maximum high;
        uint8_t code;
    } rise[MPR_HEAPS];
    uint32_t count;
};

/* Call it before the first event; the replay uses the rises until its end. */
void mpr_heap_rises_watch(struct mpr_heap_rises *rises, struct mpr_replay *r);
void mpr_heap_rises_take(struct mpr_heap_rises *rises, const struct mpr_replay *r);

struct mpr_range_heaps {
    struct mpr_heap_rises *rises; /* may be shared by several ranges */
    struct mpr_range_heaps_heap {
        struct mpr_instance_heap *at; /* by entry; later entries are all 0 */
        size_t entries;
    } heap[MPR_HEAPS];
};

void mpr_range_heaps_free(struct mpr_range_heaps *h);
/* Returns the values of a heap in the first @entries entries, in the arena. */
struct mpr_instance_heap *mpr_range_heaps_copy(const struct mpr_range_heaps *h,
                                               struct mpr_arena *arena, uint8_t heap,
                                               size_t entries);
/* Assigns the maxima to an entry.  @number: of the instance. */
void mpr_range_heaps_rise(struct mpr_range_heaps *h, size_t entry, uint64_t number);
/* Begins an instance.  @first: it is the first one of its entry. */
void mpr_range_heaps_begin(struct mpr_range_heaps *h, const struct mpr_replay *r, size_t entry,
                           uint64_t number, bool first);
void mpr_range_heaps_end(struct mpr_range_heaps *h, const struct mpr_replay *r, size_t entry);
void mpr_range_heaps_move(struct mpr_range_heaps *h, size_t to, size_t from);
/* Sets entry @to to the sum of @a and the later @b. */
void mpr_range_heaps_join(struct mpr_range_heaps *h, size_t to, size_t a, size_t b);

#endif
