/* Merges the events of all threads in the order of their times: selects the slots of the next
 * frame.
 *
 * All functions are called under epoch_lock. A frame's slots stay in their chunks until it is
 * written (writer.c). A chunk whose slots were all taken may be reused as soon as that frame is
 * written, so only the frame's selection refers to it. */
#ifndef MP_MERGE_H
#define MP_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/chunk.h"
#include "core/thread.h"
#include "mpf/slot.h"

#define MP_NO_EVENT UINT64_MAX /* not the time of any event */
/* Maximum number of kinds (operation and heap) in a frame. MPF counts a predicted one twice. */
#define MP_KINDS_MAX 120u

/* Entries for one frame: each chunk is passed once, and each thread may be in the middle of another
 * one. */
#define MP_TAKEN_MAX (2 * MP_POOL_PLACES)

/* The chunk's slots below `slots` are in a frame. */
struct mp_taken {
    uint32_t chunk, slots;
};

/* The slots of a frame: their places in the pool's memory, in units of 8 bytes, and how far chunks
 * are taken. */
struct mp_selection {
    uint32_t events, chunks;
    uint32_t most_events;
    uint32_t data_slots; /* maximum number of slots with data of the events */
    uint32_t *place;
    uint64_t newest; /* time of the last event */
    struct mp_taken chunk[MP_TAKEN_MAX];
};

struct mp_merge;

size_t mp_merge_bytes(void); /* bytes of memory for a merge, which must be zeros */
/* Merges events that are not in a frame yet: call begin, add each thread's ready events, then
 * start. */
void mp_merge_begin(struct mp_merge *m);
void mp_merge_add(struct mp_merge *m, const struct mp_thread *t, uint64_t upto, uint64_t floor);
void mp_merge_start(struct mp_merge *m);
/* Takes events up to `upto` in the order of time, as many as fit into one frame. */
void mp_merge_take(struct mp_merge *m, uint64_t upto, struct mp_selection *out);
/* Returns true if there are events for another frame. */
bool mp_merge_more(const struct mp_merge *m);

#endif
