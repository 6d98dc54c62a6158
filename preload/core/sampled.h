/* A sample of malloc's blocks (MEMPROF_HOST=sample), at a few instructions per call.
 *
 * Sampling points are at random distances, with a mean of `mean` bytes, in the sequence of bytes
 * that a thread requests (draw.h). A block that contains a point is recorded. Blocks of at least
 * `large` bytes are all recorded. All sizes are requested sizes.
 *
 * malloc subtracts the size from the thread's countdown and examines the block if the countdown
 * ends in it. The countdown is below `large`, so it ends in each large block. No other work is done
 * for a block that is not examined: its size is not read, and neither it nor its free is counted.
 *
 * A free asks a set of addresses, which has exactly the live blocks that are on record:
 *  - An address is added before the program gets the block, and removed before the real free. So no
 *    other thread can get the address while it is a member.
 *  - A thread that frees a block got its address from the thread that allocated it, and the program
 *    orders that. So the thread that frees the block sees the address in the set.
 *  - A free whose address is not a member (any more) has no effect here. So a free that reaches two
 *    hooks is recorded once.
 *
 * A signal handler may interrupt at any instruction. The subtraction is one instruction, so it
 * loses no bytes of a handler. A block in which the countdown ends takes its subtraction back at
 * once, so that a handler which interrupts later finds a valid countdown. Between the two, the
 * countdown is a number that no block of a handler reaches, so these blocks are not examined.
 *
 * `off` uses the same countdown with a `mean` of 0, so that large blocks start the encoder. It
 * records no blocks. */
#ifndef MP_SAMPLED_H
#define MP_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addresses.h"
#include "base/machine.h"

struct mp_sampled {
    bool on;                   /* the mode is `sample` or `off` */
    uint64_t mean;             /* mean bytes between sampling points; 0: `off` */
    uint64_t large;            /* bytes from which each block is examined, and recorded */
    struct mp_addresses *live; /* the recorded live blocks; NULL: `off` */
};
/* Hidden, so that a hook reads it without the GOT. */
extern struct mp_sampled mp_sampled __attribute__((visibility("hidden")));

/* Bytes that the thread can request before a block is examined. 0 in a new thread, so that its
 * first block is examined and the thread gets its record. */
extern __thread uint64_t mp_sampled_left
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Sets the mode: `sample` with @mean, or `off` if @mean is 0. Returns false without memory. */
bool mp_sampled_init(uint64_t mean);
/* Empties the set, in a forked child. */
void mp_sampled_reset(void);

/* Subtracts a block from the countdown. Returns true if the block must be examined: then the caller
 * takes the subtraction back, makes the real call, and calls mp_sampled_examine if it succeeded. */
static inline __attribute__((always_inline)) bool mp_sampled_due(size_t bytes)
{
    return mp_machine_subtract(&mp_sampled_left, bytes);
}
static inline void mp_sampled_take_back(size_t bytes) { mp_machine_add(&mp_sampled_left, bytes); }
/* Restarts the countdown, and records the block if it is large or contains a sampling point. */
void mp_sampled_examine(void *p, size_t bytes) __attribute__((noinline));

/* Called for a block that the program has just got. */
static inline void mp_sampled_made(void *p, size_t bytes)
{
    if (!mp_sampled_due(bytes)) return;
    mp_sampled_take_back(bytes);
    mp_sampled_examine(p, bytes);
}

/* Returns false if the block is certainly not on record. Not in mode `off`. */
static inline __attribute__((always_inline)) bool mp_sampled_may_have(const void *p)
{
    return mp_addresses_may_have(mp_sampled.live, p);
}
/* Called before the real free if mp_sampled_may_have is true: records the free of a recorded
 * block. */
void mp_sampled_freed(void *p) __attribute__((noinline));
/* Called before the real free, in any mode of this file. */
static inline void mp_sampled_end(void *p)
{
    if (mp_sampled.live && mp_sampled_may_have(p)) mp_sampled_freed(p);
}

/* Called before the real realloc of p. Returns true if p was on record; it is not any more. */
bool mp_sampled_moves(void *p);
/* Called after it with the new block, or NULL if the block was freed. @was: the result of
 * mp_sampled_moves. @due: the new block must be examined. */
void mp_sampled_moved(bool was, void *q, size_t bytes, bool due);
/* Called instead if the real realloc failed, after the event of its failure. */
void mp_sampled_stays(void *p);

/* Let the thread's next block be examined, and the free of p, so that a caller learns whether a
 * hook of malloc or free is called. */
void mp_sampled_watch_next(void);
void mp_sampled_watch(void *p);
void mp_sampled_unwatch(void *p);

#endif
