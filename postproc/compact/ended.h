/* The blocks that ended last in a log that is thinned, so that those which went can stay after all.
 *
 * Replay looks at most MPR_REPAIR_NS back where a free finds no block (repairs.h): the thinned log
 * has what it finds there, so that it is paired as before. */
#ifndef MPR_ENDED_H
#define MPR_ENDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recent.h"

enum { MPR_ENDED_PLACES = 2, MPR_ENDED_FREES = 2 }; /* AT and AT_PYTHON; a realloc's two events */

struct mpr_ended {
    uint64_t key, time; /* of its free, or of the realloc's beginning */
    uint32_t life;      /* who adds it knows it as this; 0: it went, with what stands below */
    uint8_t events, heap;
    uint64_t event[1 + MPR_ENDED_PLACES + MPR_ENDED_FREES], size;
    size_t from, to; /* levels of its heap that lie before its birth, and before its end */
};

struct mpr_ended_ring {
    struct mpr_ended at[MPR_RECENT];
    uint64_t count; /* that were ever put there */
};

/* Its number, from 1. */
uint64_t mpr_ended_add(struct mpr_ended_ring *r, uint64_t key, uint64_t time, uint32_t life);
/* NULL: it is none of the last ones any more. */
struct mpr_ended *mpr_ended_get(struct mpr_ended_ring *r, uint64_t number);
/* Takes out one of `key` that ended no longer than MPR_REPAIR_NS before `now`; false: there is
 * none. */
bool mpr_ended_take(struct mpr_ended_ring *r, uint64_t key, uint64_t now, struct mpr_ended *out);

#endif
