/* Which bytes of a place survive: its live bytes just before each of its allocations.
 *
 * A place is a range path and a site (MPR_GROUP_PLACE).  One that leaks has more live bytes at each
 * of its calls than at the one before.  One that makes temporaries has none, and a cache that is
 * full has as many as before.  The clock of a place is its own allocations, so neither the
 * program's start nor its end nor another loop counts.
 *
 * A place is followed from the first allocation at which it is large.  Its allocations are divided
 * into at most MPR_SURVIVORS_POINTS spans of equal numbers, and each keeps the least live bytes
 * before one of them: what a collector or a full cache leaves.  With too many spans, neighbours are
 * joined.  At most MPR_SURVIVORS_MAX places are followed.
 *
 * A place that is used again and again has pulses: its live bytes rise, and fall to less than half
 * of that before they rise again.  A pulse is what one use of the place needs, in one block or in
 * many.  A block that realloc replaces stays: it is neither an allocation nor the end of a pulse.
 * The host's heap as a whole also has pulses: small blocks may have no call stack, and then the
 * place of a large use has no usual ones.  They rise from a base, which is what the program keeps:
 * bytes that stay while the program allocates half as often as in the rise to them.
 */
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

/* A time, and the allocations in device memory and pinned memory up to then. */
struct mpr_survivor_time {
    uint64_t ns, made;
};

/* The pulses of a place or a heap. */
struct mpr_pulses {
    uint64_t least; /* bytes: smaller pulses do not count.  0: those of a place */
    bool dropped;   /* blocks were removed at dropped_ns, which may belong to a realloc */
    uint64_t dropped_ns;
    bool falls;          /* the newest pulse is over */
    uint64_t high, low;  /* most live bytes of the newest pulse; least live bytes since its end */
    uint64_t base;       /* bytes from which it rises.  A place has none */
    uint64_t added;      /* allocations so far, */
    uint64_t begin;      /* before the newest pulse, */
    uint64_t low_at;     /* when `low` was reached, */
    uint64_t mark;       /* and when the base was looked for */
    uint64_t lowest;     /* least live bytes since then */
    uint64_t longest;    /* most allocations of a pulse */
    uint64_t count, all; /* pulses that are over, and the sum of their bytes */
    uint64_t largest, second;    /* bytes: the largest of them, and the second */
    uint64_t top;                /* most live bytes of the largest */
    uint64_t before, all_before; /* pulses before the largest, and their sum */
    uint64_t floor;              /* most live bytes between two pulses */
};

/* A followed place. */
struct mpr_survivor {
    uint32_t place;
    uint32_t points, in_last;             /* in_last: allocations in the last, unfinished span */
    uint64_t each;                        /* allocations per span */
    struct mpr_survivor_time first, last; /* of its allocations */
    uint64_t kept;                        /* live bytes after the last allocation */
    uint64_t freed_ns; /* when a third of these had been freed again, or UINT64_MAX */
    struct {
        uint64_t low;                  /* least live bytes before an allocation */
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
        uint64_t at_peak; /* bytes at the heap's peak; after mpr_survivors_settle */
    } * place;
    uint32_t places, place_cap;
    struct mpr_index number; /* of places: index + 1, by hash */
    uint32_t *of_cell;       /* the place of a cell + 1, or 0 */
    uint32_t cells;
    struct mpr_pulses host;      /* of host/heap */
    uint64_t made;               /* allocations in device memory and pinned memory */
    uint64_t last_ns[MPR_HEAPS]; /* by heap: of its last allocation */
    uint64_t pushed_ns;          /* the last begin of a range */
};

/* Observes a replay by MPR_GROUP_PLACE or MPR_GROUP_ALL from before its first event. */
void mpr_survivors_begin(struct mpr_survivors *s, struct mpr_replay *r);
void mpr_survivors_free(struct mpr_survivors *s);
/* Call it after the last event, before the pulses and the bytes at the peak are used. */
void mpr_survivors_settle(struct mpr_survivors *s);
/* Called by the accounts before blocks are added to a cell, or removed from it. */
void mpr_survivors_add(struct mpr_survivors *s, uint32_t cell, uint64_t bytes);
void mpr_survivors_remove(struct mpr_survivors *s, uint32_t cell, uint64_t bytes);

#endif
