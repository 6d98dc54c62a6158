/* When each live block was made, how large, and in which cell: for observers of replay.
 *
 * Blocks are known by heap and address (blocks.h).  Places are used again.  Memory: a place and two
 * entries of the index a live block, twice that where both have just grown: 56 to 112 bytes. */
#ifndef MPR_BIRTHS_H
#define MPR_BIRTHS_H

#include <stdbool.h>
#include <stdint.h>

#include "index.h"

struct mpr_birth {
    uint64_t time, size;
    uint32_t cell; /* MPR_NO_CELL: a free place */
    union {
        uint32_t marks; /* of who observes: how many it had set before */
        uint32_t next;  /* of the free places, + 1 */
    };
};
#define MPR_NO_CELL UINT32_MAX

/* All zero: none. */
struct mpr_births {
    struct mpr_birth *at; /* live ones and free places */
    uint32_t count, cap, free;
    struct mpr_index number; /* by key: place + 1 */
};

void mpr_births_free(struct mpr_births *births);
/* In the place of a block whose end was not seen, where there is one. */
void mpr_births_add(struct mpr_births *births, uint64_t key, const struct mpr_birth *birth);
/* Takes the block out into *birth; false: it is not known. */
bool mpr_births_take(struct mpr_births *births, uint64_t key, struct mpr_birth *birth);
/* Calls with each one that is live, in no order. */
void mpr_births_each(const struct mpr_births *births,
                     void (*each)(void *arg, uint64_t key, const struct mpr_birth *birth),
                     void *arg);

#endif
