/* Measures leaks by the live bytes of each place just before each of its allocations.
 *
 * A place is a range path and a site (MPR_GROUP_PLACE).  A place that leaks has more live bytes at
 * each allocation than at the one before.  A place of temporaries has none, and a full cache has
 * the same number each time.  Time is counted in allocations of the place itself, so the start and
 * the end of the program, and other loops, do not matter.
 *
 * A place is followed from the first allocation at which it is large.  Its allocations are divided
 * into at most MPR_SURVIVORS_POINTS spans of equal length.  The minimum of the live bytes in a span
 * is kept, because these bytes survive a garbage collection.  If there are too many spans, each two
 * neighbours are joined.  At most MPR_SURVIVORS_MAX places are followed.
 *
 * A place that is used repeatedly has pulses: its live bytes rise, and fall to less than half
 * before they rise again.  The height of a pulse is the memory that one use of the place needs, in
 * one block or in many.  A realloc is neither an allocation nor the end of a pulse.
 *
 * host/heap as a whole also has pulses, because small blocks may have no call stack.  They rise
 * from a base: the bytes that stay while the program allocates half as often as in the rise to
 * them. */
#ifndef MPR_SURVIVORS_H
#define MPR_SURVIVORS_H

#include <stddef.h>
#include <stdint.h>

#include "replay.h"

enum {
    MPR_SURVIVORS_POINTS = 16,
    MPR_SURVIVORS_MAX = 8192,
    MPR_SURVIVORS_BYTES = 64 << 10, /* a followed place has at least this many bytes ... */
    MPR_SURVIVORS_SHARE = 1024      /* ... and this share of the heap's peak so far */
};

/* A time, and the number of allocations in device and pinned memory up to then. */
struct mpr_survivor_time {
    uint64_t ns, device_allocs;
};

/* The pulses of a place or a heap. */
struct mpr_pulses {
    uint64_t min_bytes; /* smaller pulses do not count.  0 for a place */
    bool removed;       /* blocks were removed at removed_ns, perhaps by a realloc */
    uint64_t removed_ns;
    bool over;          /* the newest pulse is over */
    uint64_t high, low; /* maximum live bytes of the newest pulse; minimum since its end */
    uint64_t base;      /* bytes from which pulses rise; 0 for a place */
    /* Numbers of allocations: all so far; before the newest pulse; when `low` was reached; when a
     * base was looked for last.  lowest: minimum of live bytes since then */
    uint64_t added, begin, low_at, mark, lowest;
    uint64_t longest;            /* maximum number of allocations of a pulse */
    uint64_t count, sum;         /* pulses that are over, and the sum of their bytes */
    uint64_t largest, second;    /* bytes of the largest of these, and of the second largest */
    uint64_t top;                /* maximum live bytes of the largest */
    uint64_t before, sum_before; /* pulses before the largest, and their sum */
    uint64_t floor;              /* maximum live bytes between two pulses */
};

/* A followed place. */
struct mpr_survivor {
    uint32_t place;
    uint32_t points, last_allocations; /* last_allocations: allocations in the last, unfinished span
                                        */
    uint64_t each;                     /* allocations per span */
    struct mpr_survivor_time first, last; /* the times of its first and last allocation */
    uint64_t kept;                        /* live bytes after the last allocation */
    uint64_t freed_ns;                    /* when a third of `kept` had been freed, or UINT64_MAX */
    struct {
        uint64_t low;                  /* minimum live bytes before an allocation */
        struct mpr_survivor_time last; /* of the last allocation */
    } point[MPR_SURVIVORS_POINTS];
    struct mpr_pulses use;
};

struct mpr_survivors {
    const struct mpr_replay *replay;
    struct mpr_survivor *followed;
    uint32_t count, cap;
    struct mpr_survivors_place {
        uint32_t node, site;
        uint8_t heap;
        uint32_t followed; /* index + 1, or 0 */
        uint64_t bytes, allocations;
        uint64_t at_peak; /* bytes at the heap's peak; set by mpr_survivors_finish */
    } * place;
    uint32_t places, place_cap;
    struct mpr_index number; /* of places: index + 1, by hash */
    uint32_t *of_cell;       /* the place of a cell + 1, or 0 */
    uint32_t cells;
    struct mpr_pulses host;      /* of host/heap */
    uint64_t device_allocs;      /* in device and pinned memory */
    uint64_t last_ns[MPR_HEAPS]; /* by heap: time of its last allocation */
    uint64_t pushed_ns;          /* when a range began last */
};

/* Observes a replay by MPR_GROUP_PLACE or MPR_GROUP_ALL from before its first event. */
void mpr_survivors_begin(struct mpr_survivors *s, struct mpr_replay *r);
void mpr_survivors_free(struct mpr_survivors *s);
/* Call after the last event, before the pulses and the bytes at the peak are used. */
void mpr_survivors_finish(struct mpr_survivors *s);
/* Called by the accounts before blocks are added to a cell, or removed from it. */
void mpr_survivors_add(struct mpr_survivors *s, uint32_t cell, uint64_t bytes);
void mpr_survivors_remove(struct mpr_survivors *s, uint32_t cell, uint64_t bytes);

#endif
