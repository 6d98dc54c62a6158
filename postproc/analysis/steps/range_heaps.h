/* Measures the heaps in the instances of ranges: their peaks, and the bytes at begin and end.
 * Private to this layer.
 *
 * A heap's maximum since the previous range event belongs to all instances that were open then. So
 * an observer of range events takes the maxima before each of them, and gives them to the open
 * instances. Its observers own the numbering of entries; an entry is one instance or several. */
#ifndef MPR_RANGE_HEAPS_H
#define MPR_RANGE_HEAPS_H

#include "instances.h"
#include "replay.h"

/* The maxima between the two newest range events, of heaps that have risen. */
struct mpr_heap_rises {
    struct mpr_heap_maxima maxima; /* since the newest one */
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
    struct mpr_heap_rises *rises; /* may be shared by several */
    struct mpr_range_heaps_heap {
        struct mpr_instance_heap *at; /* by entry; entries that are not in it have zeros */
        size_t entries;
    } heap[MPR_HEAPS];
};

void mpr_range_heaps_free(struct mpr_range_heaps *taken);
/* Returns the heap in the first @entries entries, in the arena. */
struct mpr_instance_heap *mpr_range_heaps_copy(const struct mpr_range_heaps *taken,
                                               struct mpr_arena *arena, uint8_t heap,
                                               size_t entries);
/* Gives the maxima to an entry. @number: of the instance. */
void mpr_range_heaps_rise(struct mpr_range_heaps *taken, size_t entry, uint64_t number);
/* An instance begins. @first: it is the first one of its entry. */
void mpr_range_heaps_begin(struct mpr_range_heaps *taken, const struct mpr_replay *r, size_t entry,
                           uint64_t number, bool first);
void mpr_range_heaps_end(struct mpr_range_heaps *taken, const struct mpr_replay *r, size_t entry);
void mpr_range_heaps_move(struct mpr_range_heaps *taken, size_t to, size_t from);
/* Sets entry @to to the sum of @a and the later @b. */
void mpr_range_heaps_join(struct mpr_range_heaps *taken, size_t to, size_t a, size_t b);

#endif
