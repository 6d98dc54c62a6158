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
/* mremap, in two steps, for what the kernel has moved away another thread may map before the call
 * returns.  Left: what was mapped there is no longer, but its bytes count until it has arrived. */
struct mpr_leaving {
    struct mpr_interval *span; /* NULL: nothing was known there, or nothing is under way */
    size_t count;
    uint64_t from, size;
};
void mpr_regions_leave(struct mpr_regions *r, struct mpr_books *books, uint64_t start,
                       uint64_t size, struct mpr_leaving *leaving);
/* Intervals keep their owner at the new place, [to[0], to[0] + to[1]); bytes beyond the old size
 * belong to `cell`.  Returns how many there are. */
size_t mpr_regions_arrive(struct mpr_regions *r, struct mpr_books *books,
                          struct mpr_leaving *leaving, const uint64_t to[2], uint32_t cell,
                          uint64_t time);
/* The call was refused: they are where they were. */
void mpr_regions_stay(struct mpr_regions *r, struct mpr_books *books, struct mpr_leaving *leaving);
/* True when any byte of the range is known; *heap gets the heap of the first. */
bool mpr_regions_known(const struct mpr_regions *r, const struct mpr_books *books, uint64_t start,
                       uint64_t size, uint8_t *heap);

#endif
