/* The events of all threads in the order of their times: which slots make up the next frame.
 *
 * All under epoch_lock.  A frame's slots stay in their chunks until it is written (writer.c); a
 * chunk of which every slot was taken into a frame may be gone as soon as that frame is, so a merge
 * keeps no other hold of it. */
#ifndef MP_MERGE_H
#define MP_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/chunk.h"
#include "core/thread.h"
#include "mpf/slot.h"

#define MP_NO_EVENT UINT64_MAX /* a time that no event has */
/* Of events in a frame, an operation and a heap each; MPF counts a guessed one twice */
#define MP_KINDS_MAX 120u

/* Entries for one frame: a chunk is passed once, and each thread stands in another one. */
#define MP_TAKEN_MAX (2 * MP_POOL_PLACES)

/* The chunk's slots below `slots` are in a frame. */
struct mp_taken {
    uint32_t chunk, slots;
};

/* What is taken into a frame: places of slots in the pool's memory, bytes / 8, and how far chunks
 * are taken with it. */
struct mp_selection {
    uint32_t events, chunks;
    uint32_t most_events;
    uint32_t data_slots; /* slots with data of the events, at most */
    uint32_t *place;
    uint64_t newest; /* time of the last event */
    struct mp_taken chunk[MP_TAKEN_MAX];
};

struct mp_merge;

size_t mp_merge_bytes(void); /* of memory for one, all zeros */
/* What no frame has taken is merged anew: begin, each thread with what it has ready, start. */
void mp_merge_begin(struct mp_merge *m);
void mp_merge_add(struct mp_merge *m, const struct mp_thread *t, uint64_t upto, uint64_t floor);
void mp_merge_start(struct mp_merge *m);
/* Takes events up to `upto` in the order of time, as many as go into one frame. */
void mp_merge_take(struct mp_merge *m, uint64_t upto, struct mp_selection *out);
/* Is something left for another frame? */
bool mp_merge_more(const struct mp_merge *m);

#endif
