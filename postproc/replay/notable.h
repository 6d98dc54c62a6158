/* Which of very many blocks a report keeps: those that stand out at some time.
 *
 * The run is a grid of cells of time.  A block's rank is the best that it has in any cell in which it was live, by its size
 * or by its size times its life; at the heap's peak the ranks go deeper. */
#ifndef MPR_NOTABLE_H
#define MPR_NOTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mpr_large_block;

enum { MPR_NOTABLE_CELLS = 64 };

/* Moves the `keep` blocks of the best ranks to the front, in no order; now: the run's end, ns. */
void mpr_notable_keep(struct mpr_large_block *block, size_t count, size_t keep, uint64_t peak, uint64_t now);

#endif
