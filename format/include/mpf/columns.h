/* The body of an EVENTS frame: events of all threads in time order, coded column by column.
 *
 * Times are kept in steps of 2^shift ticks (about 1 us): their order is exact, the instant is
 * rounded down to a step. A free whose block was allocated in the same frame names it by age (how
 * many allocations ago it was made). */
#ifndef MPF_COLUMNS_H
#define MPF_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "mpf/event.h"
#include "mpf/slot.h"

/* ---- encode: capture side.  Not thread-safe; no allocation, no system call. */

struct mpf_columns;

/* Bytes of memory that an encoder for at most max_events events a frame needs (zeroed by the
 * caller, aligned to 64, mostly untouched in practice), the most bytes that its body can take, and
 * the encoder. */
size_t mpf_columns_memory(uint32_t max_events);
size_t mpf_columns_bound(uint32_t max_events);
struct mpf_columns *mpf_columns_init(void *memory, uint32_t max_events, unsigned tick_shift);

/* From now on a FREE or MOVE_BEGIN whose slot has a size, and whose block is not in the frame, gets
 * a BLOCK_BYTES event before it. Then a frame has room for half as many events. */
void mpf_columns_keep_bytes(struct mpf_columns *c);

/* Starts a frame.  Events must come in non-decreasing order of slot->time. */
void mpf_columns_begin(struct mpf_columns *c);
/* Adds one event.  data: mpf_slot_size(slot->head) bytes for a DATA event, else NULL.  The caller
 * never adds more than there is room for, nor more than max_events * MPF_CONT_BYTES bytes of data,
 * to a frame. */
void mpf_columns_add(struct mpf_columns *c, const struct mpf_slot *slot, uint32_t thread,
                     const uint8_t *data);
/* Slots of chunks, in the order of their events: places are bytes / 8 from base.  Adds those from
 * number `from` on that are of class BLOCK or REF, and returns the number of the first one that is
 * not, or the count.  An event gets the time of its slot, but never less than *time; *time becomes
 * that of the event where it stops. */
struct mpf_slots {
    const uint8_t *base;
    const uint32_t *place;
    uint32_t count;
};
uint32_t mpf_columns_add_plain(struct mpf_columns *c, const struct mpf_slots *slots, uint32_t from,
                               uint64_t *time);
/* Bytes of its memory that the frame at hand has touched. */
size_t mpf_columns_touched(const struct mpf_columns *c);
uint32_t mpf_columns_count(const struct mpf_columns *c);
/* Events that can be added whatever they are: a frame is limited in events and in kinds (operation
 * and heap). */
uint32_t mpf_columns_room(const struct mpf_columns *c);
/* Ends the frame and writes its body. @from and @to are the clock at the previous and at this
 * frame, to convert ticks to ns. Returns the body's length or MPF_ERR_SPACE. */
long mpf_columns_finish(struct mpf_columns *c, const struct mpf_clock *from,
                        const struct mpf_clock *to, uint8_t *out, size_t cap);

/* ---- decode: report side.  Trusts nothing; every length is checked. */

struct mpf_column {
    const uint8_t *at, *end;
};
/* A block of the frame, and its class of size */
struct mpf_block {
    uint64_t addr, class;
};

/* Guesses the address of the next block: format's own. */
enum { MPF_STACKS = 256, MPF_FREED = 7 };
struct mpf_predictor {
    struct mpf_freed {
        uint64_t addr[MPF_FREED];
        uint64_t count;
    } freed[MPF_STACKS];
    uint64_t moving, next;
};
struct mpf_columns_reader {
    struct mpf_clock from, to;
    uint64_t scale;          /* ns per tick, fixed point */
    uint64_t origin;         /* CLOCK_MONOTONIC ns that event times count from */
    uint32_t events;         /* in the frame */
    uint32_t blocks;         /* BLOCK events decoded so far: entries of `block` in use */
    struct mpf_block *block; /* the frame's BLOCK events, for ages */
    uint32_t thread, thread_left, step_left;
    unsigned tick_shift, pairs;
    const uint8_t *pair; /* the frame's kinds: operation, heap and class */
    uint64_t step, time, prev_ref, prev_region;
    struct mpf_predictor predictor;
    struct mpf_column op, threads, times, blocks_at, sizes, refs, values, data;
};

/* Opens a body.  `block` is the caller's scratch of `block_cap` blocks; the frame's number of
 * events must fit (MPF_ERR_SPACE otherwise: ask mpf_columns_events first).  origin: the header's
 * start on CLOCK_MONOTONIC. */
long mpf_columns_events(const uint8_t *body, size_t bytes);
int mpf_columns_open(struct mpf_columns_reader *r, const uint8_t *body, size_t bytes,
                     uint64_t origin, struct mpf_block *block, uint32_t block_cap);
/* Decodes up to cap events.  Returns how many (0 at the end) or MPF_ERR_DAMAGED; then the rest of
 * the frame is of no use. */
long mpf_columns_next(struct mpf_columns_reader *r, struct mpf_event *out, uint32_t cap);

/* Ticks to ns since `origin`, by the line through two clocks (slope 1 where they are the same
 * instant). */
uint64_t mpf_clock_ns(const struct mpf_clock *from, const struct mpf_clock *to, uint64_t origin,
                      uint64_t ticks);

#endif
