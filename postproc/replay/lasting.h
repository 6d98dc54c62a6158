/* How long blocks live: of each cell, how many of its blocks were freed after which time, and what
 * all of them had of bytes.  An observer of replay: it sees the births and ends of blocks; memory
 * that is counted by pages (host/mmap, host/shm) has none.
 *
 * Every block is seen, so counts are exact; lives are kept by class.  Memory: that of births.h
 * a live block, and some 400 bytes a cell whose blocks were freed. */
#ifndef MPR_LASTING_H
#define MPR_LASTING_H

#include <stdint.h>

#include "births.h"

/* Class 0: no time at all; n: from 2^(n-1) ns on, to below 2^n.  The last one has no end. */
enum { MPR_LIFE_CLASSES = 48 };

struct mpr_lasting_cell {
    uint64_t births, bytes; /* of all blocks that there ever were */
    uint64_t ends, soon;    /* freed; of them no later than `within` */
    uint64_t soon_bytes;
    uint64_t *life; /* MPR_LIFE_CLASSES counts; NULL: none was freed */
};

struct mpr_lasting {
    uint64_t within; /* ns */
    struct mpr_lasting_cell *cell;
    uint32_t cells;
    struct mpr_births live;
    uint32_t marks;
    struct mpr_birth *gone; /* of those that lived at the newest mark and were freed since */
    uint32_t gones, gone_cap;
};

void mpr_lasting_free(struct mpr_lasting *lasting);
/* key: of blocks.h */
void mpr_lasting_born(struct mpr_lasting *lasting, uint64_t key, uint64_t size, uint32_t cell,
                      uint64_t time);
void mpr_lasting_gone(struct mpr_lasting *lasting, uint64_t key, uint64_t size, uint64_t time);
/* From now on the blocks that live now are known, also those that go: instead of those of the mark
 * before. */
void mpr_lasting_mark(struct mpr_lasting *lasting);
/* Calls with each block that lived at the newest mark, in no order. */
void mpr_lasting_marked(const struct mpr_lasting *lasting,
                        void (*each)(void *arg, const struct mpr_birth *birth), void *arg);
/* Of a cell; zeros where no block was seen. */
struct mpr_lasting_cell mpr_lasting_of(const struct mpr_lasting *lasting, uint32_t cell);

#endif
