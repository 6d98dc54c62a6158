/* The map of page ranges (host/mmap, host/shm): who made which bytes writable. */
#ifndef MPR_REGIONS_H
#define MPR_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "books.h"
#include "intervals.h"

/* Intervals that do not overlap.  `what` is a cell: writable, of who holds the bytes; otherwise of
 * who reserved them.  Only writable bytes count. */
struct mpr_regions {
    struct mpr_intervals spans;
};

void mpr_regions_free(struct mpr_regions *r);
/* Bytes of the interval that begins at `start`; 0 when none does. */
uint64_t mpr_regions_extent(const struct mpr_regions *r, uint64_t start);
/* Each takes the range [start, start + size), changes the books and returns how many intervals it
 * changed. */
size_t mpr_regions_map(struct mpr_regions *r, struct mpr_books *books, uint64_t start,
                       uint64_t size, uint32_t cell, bool writable, uint64_t time);
size_t mpr_regions_unmap(struct mpr_regions *r, struct mpr_books *books, uint64_t start,
                         uint64_t size);
/* Only what is known changes: a range that was never mapped stays unknown. */
size_t mpr_regions_protect(struct mpr_regions *r, struct mpr_books *books, uint64_t start,
                           uint64_t size, uint32_t cell, bool writable, uint64_t time);
/* mremap: intervals keep their owner at the new place; bytes beyond the old size belong to `cell`.
 */
size_t mpr_regions_move(struct mpr_regions *r, struct mpr_books *books, const uint64_t from[2],
                        const uint64_t to[2], uint32_t cell, uint64_t time);
/* True when any byte of the range is known; *heap gets the heap of the first. */
bool mpr_regions_known(const struct mpr_regions *r, const struct mpr_books *books, uint64_t start,
                       uint64_t size, uint8_t *heap);

#endif
