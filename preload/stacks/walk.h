/* Walks that a thread has made, kept for its next ones: if the same words are still on the stack,
 * nothing is unwound.
 *
 * A walk is cut into runs of a few frames, at places that depend only on the stack's addresses, so
 * walks that differ in their inner frames share the outer ones. A run is the words it read: from
 * the same registers, the same words lead to the same frames. About 3 ns per frame. */
#ifndef MP_WALK_H
#define MP_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/seen.h"
#include "stacks/unwinder.h"

enum { MP_RUN_PAIRS = 256, MP_RUN_READS = 8 };

/* State of one thread, used only by it; initially all zero. */
struct mp_walker {
    struct mp_bounds stack;
    /* memprof's number of the thread that is using it, maybe below a signal handler; 0: none */
    uint32_t user;
    uint8_t next_made;
    struct mp_run {
        uint32_t generation; /* + 1; 0: none */
        uint16_t frames;
        uint8_t calls; /* bit i: read[i] is a return address */
        bool is_last;
        struct mp_frame from, to;
        struct mp_hash hash; /* of their return addresses */
        struct mp_read read[MP_RUN_READS];
    } run[MP_RUN_PAIRS][2];
};

/* The hash of the return addresses that mp_unwind finds.  False: it cannot be had in this way. */
bool mp_walk(struct mp_walker *w, const struct mp_frame *from, uint32_t generation,
             struct mp_hash *out);

#endif
