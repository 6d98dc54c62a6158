/* Puts events in order that were recorded in the wrong one.
 *
 * Two threads that exchange a block read their clocks within 20 us of each other, so in the log the
 * free of a block may be later than the next allocation of its address, or earlier than its own
 * allocation.
 * The k-th allocation of an address pairs with its k-th free: an event that came too early waits
 * here for its partner, at most MPR_REORDER_NS.
 *
 * A thread's own events are in order, so a waiting free does not belong to its thread's next
 * allocation, unless two frees changed places:
 *
 *     what happened        in the log
 *     1 allocates X        1 allocates X
 *     1 frees X            2 frees X        taken as the free of the first block
 *     1 allocates X        1 frees X        waits
 *     2 frees X            1 allocates X    the block that 2 freed
 *
 * That is the case if the free before the one that waits, with no block of that address between
 * them, is another thread's and at most MPR_REORDER_NS old: after the allocation it would be in
 * order. Otherwise the waiting free belongs to no block, or to a later allocation of another
 * thread. The reverse is not done: a thread's free may match its own waiting allocation, because
 * the block that was there may belong to an allocation that came too early, and its free may come
 * at any time. */
#ifndef MPR_REORDER_H
#define MPR_REORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpf/event.h"

/* ---- the newest events of a log: those of the current batch, and the last ones before it */

#define MPR_RECENT_EVENTS 512u /* maximum distance */

struct mpr_recent_events {
    const struct mpf_event *batch, *at;         /* at: the current event of the batch */
    struct mpf_event before[MPR_RECENT_EVENTS]; /* a ring; their data is no longer valid */
    uint64_t count;                             /* number of events that were ever put there */
};

/* Call at the end of each batch: keeps copies of its last events. */
void mpr_recent_events_keep(struct mpr_recent_events *r, size_t count);

/* ---- events that wait */

#define MPR_REORDER_NS  20000u
#define MPR_REORDER_MAX 1024u /* waiting at the same time; the oldest is dropped */

enum mpr_awaited {
    MPR_AWAITS_FREE = 1, /* a block's address was allocated again: its free may follow */
    MPR_AWAITS_ALLOC,    /* a block was freed that is not live: its allocation may follow */
};

struct mpr_early_event {
    uint64_t key, time;
    uint32_t thread;
    uint8_t kind;
    uint64_t bytes; /* of a block that was freed, or 0 if the log does not have them */
};

struct mpr_reorder {
    struct mpr_early_event at[MPR_REORDER_MAX]; /* a ring in time order; kind 0: its partner came */
    uint32_t first, count;
    struct mpr_recent_events recent; /* its `at` is set while an event waits */
};

void mpr_reorder_wait(struct mpr_reorder *r, uint64_t key, uint64_t time, uint32_t thread,
                      enum mpr_awaited kind);
/* Sets the bytes of the event that was added last. */
void mpr_reorder_set_bytes(struct mpr_reorder *r, uint64_t bytes);
/* Removes the oldest entry of that kind and key that is not of thread `not_thread` (0: of any
 * thread).  Returns false if there is none. */
bool mpr_reorder_match(struct mpr_reorder *r, uint64_t key, enum mpr_awaited kind,
                       uint32_t not_thread);
/* Removes the waiting free that belongs to the current event, which is an allocation by @thread.
 * Returns false if there is none. */
bool mpr_reorder_take_free(struct mpr_reorder *r, uint64_t key, uint32_t thread);
/* Moves the oldest entry to *out if it has waited for longer than MPR_REORDER_NS at `now`, or the
 * ring is full.  Returns false otherwise. */
bool mpr_reorder_expire(struct mpr_reorder *r, uint64_t now, struct mpr_early_event *out);

#endif
