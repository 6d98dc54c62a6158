/* The matrix of allocations and frees: for each cell, how many bytes of the blocks that were
 * allocated in one slice of the run were freed in another one.  An observer of replay, which sees
 * only blocks.
 *
 * A slice of a heap holds a fixed number of its changes, a power of two that starts at one and
 * doubles when there are too many slices.  So sums are exact for every span that begins and ends
 * with a slice.  Memory is bounded except for that of live_index.h.  A heap with more than
 * MPR_MATRIX_BLOCKS blocks is dropped. */
#ifndef MPR_ALLOC_FREE_MATRIX_H
#define MPR_ALLOC_FREE_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "live_index.h"

enum { MPR_MATRIX_SLICES = 1024, MPR_MATRIX_ENTRIES = 1 << 17, MPR_MATRIX_BLOCKS = 1 << 24 };
#define MPR_NEVER_FREED UINT32_MAX

struct mpr_alloc_free_entry {
    uint32_t group;            /* a cell, or a group of the caller */
    uint32_t allocated, freed; /* slices; freed is MPR_NEVER_FREED for blocks that are live at the
                                  end */
    uint64_t bytes, blocks;
};

/* There is one entry for each (group, allocated, freed). */
struct mpr_alloc_free_table {
    struct mpr_alloc_free_entry *entry;
    uint32_t entries, cap;
    struct mpr_index number;          /* by hash of these three: place + 1 */
    uint64_t time[MPR_MATRIX_SLICES]; /* ns of each slice's first change */
    uint32_t slices;
    unsigned shift; /* a slice holds 2^shift changes */
};

struct mpr_alloc_free_heap {
    struct mpr_alloc_free_table table;
    uint64_t changes, blocks; /* so far */
    bool dropped;
};

struct mpr_alloc_free_matrix {
    struct mpr_alloc_free_heap *heap[256]; /* NULL: it had no blocks */
    struct mpr_live_index live;            /* its times are numbers of changes */
};

struct mpr_alloc_free_matrix *mpr_alloc_free_matrix_new(void);
void mpr_alloc_free_matrix_free(struct mpr_alloc_free_matrix *matrix);
/* @key: of blocks.h. */
void mpr_alloc_free_matrix_add(struct mpr_alloc_free_matrix *matrix, uint64_t key, uint64_t size,
                               uint32_t cell, uint64_t time);
void mpr_alloc_free_matrix_remove(struct mpr_alloc_free_matrix *matrix, uint64_t key,
                                  uint64_t time);
/* Drops a heap with pools, because pools have bytes outside of blocks. */
void mpr_alloc_free_matrix_drop_heap(struct mpr_alloc_free_matrix *matrix, uint8_t heap);
/* Call after the last event: adds the live blocks. */
void mpr_alloc_free_matrix_finish(struct mpr_alloc_free_matrix *matrix);

void mpr_alloc_free_table_add(struct mpr_alloc_free_table *table,
                              const struct mpr_alloc_free_entry *entry);
/* Joins every two slices. */
void mpr_alloc_free_table_widen(struct mpr_alloc_free_table *table);
void mpr_alloc_free_table_free(struct mpr_alloc_free_table *table);

#endif
