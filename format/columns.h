/* Shared by the encoder and the decoder of an EVENTS body: the order of its bytes (FORMAT.md,
 * "EVENTS"). */
#ifndef MPF_COLUMNS_PRIVATE_H
#define MPF_COLUMNS_PRIVATE_H

#include <stdint.h>
#include <string.h>

#include "mpf/columns.h"
#include "mpf/slot.h"

/* The fixed part: two clocks, u32 events, u8 shift, u8 pairs, u16 0, then u32 bytes of each column.
 */
enum {
    COL_OPS,
    COL_THREADS,
    COL_TIMES,
    COL_BLOCKS,
    COL_SIZES,
    COL_REFS,
    COL_VALUES,
    COL_DATA,
    COLUMNS
};
enum {
    BODY_HEAD = 2 * sizeof(struct mpf_clock) + 8 + 4 * COLUMNS,
    PAIRS_MAX = 255,
    PAIR_BYTES = 3
};

static inline uint64_t zigzag(uint64_t delta)
{
    return delta << 1 ^ (uint64_t)((int64_t)delta >> 63);
}
static inline uint64_t unzigzag(uint64_t v) { return v >> 1 ^ -(v & 1); }

/* Blocks are 16-aligned nearly always: the low bits go to the top, where zeros cost nothing. */
static inline uint64_t rotate_down(uint64_t addr) { return addr >> 4 | addr << 60; }
static inline uint64_t rotate_up(uint64_t v) { return v << 4 | v >> 60; }

/* ---- which address a new block will get
 *
 * The model is glibc's, which others resemble: a thread keeps the first blocks that it frees of
 * each class of size (tcache) and hands out the newest of them.  A block that has the address so
 * foretold costs no bytes at all: its operation carries PREDICTED.  Any other one is thought to
 * follow the block made before it, as when a heap grows.  Only blocks made and freed in the frame
 * take part: a decoder does not know the size of others. */

enum { PREDICTED = 0x80, OPERATION = 0x7f };

/* Units of 16 bytes that a block takes in the heap: its bytes and a word in front. */
static inline uint64_t units(uint64_t bytes) { return bytes <= 8 ? 2 : (bytes + 23) >> 4; }

/* glibc's classes of 16 bytes up to 2 KiB, then powers of two. */
static inline unsigned size_class(uint64_t bytes)
{
    return bytes <= 2040 ? (unsigned)units(bytes) : 128 + (63 - (unsigned)__builtin_clzll(bytes));
}

/* Two threads may share an entry, which only makes a guess worse. */
static inline struct mpf_freed *freed_of(struct mpf_predictor *p, uint32_t thread, uint64_t class)
{
    return &p->freed[(thread * 37 + class) % MPF_STACKS];
}

static inline void push_freed(struct mpf_freed *f, uint64_t addr)
{
    if (f->count < MPF_FREED) f->addr[f->count++] = addr;
}

/* Takes the address that the next block is expected to get; 0: none. */
static inline uint64_t pop_freed(struct mpf_freed *f) { return f->count ? f->addr[--f->count] : 0; }

static inline void forget_freed(struct mpf_predictor *p)
{
    for (unsigned i = 0; i < MPF_STACKS; i++) p->freed[i].count = 0;
    p->moving = p->next = 0;
}

#endif
