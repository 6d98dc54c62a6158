/* What the encoder and the decoder of an EVENTS body share: its order of bytes (FORMAT.md, "EVENTS"). */
#ifndef MPF_COLUMNS_PRIVATE_H
#define MPF_COLUMNS_PRIVATE_H

#include <stdint.h>
#include <string.h>

#include "mpf/columns.h"
#include "mpf/slot.h"

/* The fixed part: two clocks, u32 events, u8 shift, u8 pairs, u16 0, then u32 bytes of each column. */
enum { COL_OPS, COL_THREADS, COL_TIMES, COL_BLOCKS, COL_SIZES, COL_REFS, COL_VALUES, COL_DATA, COLUMNS };
enum { BODY_HEAD = 2 * sizeof(struct mpf_clock) + 8 + 4 * COLUMNS, PAIRS_MAX = 255 };

static inline uint64_t zigzag(uint64_t delta) { return delta << 1 ^ (uint64_t)((int64_t)delta >> 63); }
static inline uint64_t unzigzag(uint64_t v) { return v >> 1 ^ -(v & 1); }

/* Blocks are 16-aligned nearly always: the low bits go to the top, where zeros cost nothing. */
static inline uint64_t rotate_down(uint64_t addr) { return addr >> 4 | addr << 60; }
static inline uint64_t rotate_up(uint64_t v) { return v << 4 | v >> 60; }

/* ---- which address a new block will get
 *
 * Allocators hand out the block of a size that was freed last.  Encoder and decoder keep, per class of size, the
 * addresses freed in this frame, newest last; a block that has the newest one costs no bytes at all: its operation
 * carries PREDICTED.  Only blocks made and freed in the frame take part: the size of others is not known to a decoder. */

enum { PREDICTED = 0x80 };

/* glibc's classes of 16 bytes up to 2 KiB, then powers of two. */
static inline unsigned size_class(uint64_t bytes)
{
    if (bytes <= 2040) return (unsigned)((bytes + 8 + 15) >> 4);
    return 128 + (63 - (unsigned)__builtin_clzll(bytes)) % 64;
}

static inline void push_freed(struct mpf_predictor *p, uint64_t class, uint64_t addr)
{
    p->of[class].addr[p->of[class].count++ % MPF_FREED] = addr;
}

/* Takes the address that a block of this class is expected to get; 0: none. */
static inline uint64_t pop_freed(struct mpf_predictor *p, uint64_t class)
{
    return p->of[class].count ? p->of[class].addr[--p->of[class].count % MPF_FREED] : 0;
}

static inline void forget_freed(struct mpf_predictor *p)
{
    for (unsigned i = 0; i < MPF_CLASSES; i++) p->of[i].count = 0;
    p->moving = 0;
}

#endif
