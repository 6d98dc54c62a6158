/* A thread's walks, kept for its next ones: if the same words are still on the stack, nothing is
 * unwound.
 *
 * A walk is cut into runs of a few frames, at places that depend only on the stack's addresses, so
 * walks that differ in their inner frames share the outer ones. A run consists of the words it
 * read: from the same registers, the same words lead to the same frames. About 3 ns per frame. */
#ifndef MP_WALK_H
#define MP_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/seen.h"
#include "stacks/unwinder.h"

enum { MP_RUN_PAIRS = 256, MP_RUN_READS = 8 };

/* State that only one thread uses; all zero at first. */
struct mp_walker {
    struct mp_bounds stack;
    /* memprof's number of the thread that is using it, which may be below a signal handler, or 0 */
    uint32_t user;
    uint8_t next_made;
    struct mp_run {
        uint32_t generation; /* the generation + 1, or 0 */
        uint16_t frames;
        uint8_t calls; /* bit i: read[i] is a return address */
        bool is_last;
        struct mp_frame from, to;
        struct mp_hash hash; /* of their return addresses */
        struct mp_read read[MP_RUN_READS];
    } run[MP_RUN_PAIRS][2];
};

/* Gets the hash of the return addresses that mp_unwind finds. Returns false if that is not possible
 * in this way. */
bool mp_walk(struct mp_walker *w, const struct mp_frame *from, uint32_t generation,
             struct mp_hash *out);

#endif
