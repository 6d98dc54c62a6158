/* Walks that a thread has made, kept for its next ones: where the same words are still on the
 * stack, nothing is unwound.
 *
 * A walk is cut into runs of a few frames, at places that depend on the stack's addresses alone, so
 * that walks which differ only in their inner frames share the outer ones.  A run is what it read:
 * from the same registers, if the same words are there, the same frames follow.  Some 3 ns a frame.
 */
#ifndef MP_WALK_H
#define MP_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/seen.h"
#include "stacks/unwinder.h"

enum { MP_RUN_PAIRS = 256, MP_RUN_READS = 8 };

/* Of one thread, for it alone; all zero at first. */
struct mp_walker {
    struct mp_bounds stack;
    uint32_t user; /* memprof's number of the thread that is at work, maybe below a signal handler;
                      0: none is */
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
