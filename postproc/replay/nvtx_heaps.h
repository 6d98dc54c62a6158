/* Heaps that libraries told NVTX of, and regions in them: blocks of nvtx/regions, which lie in
 * memory that other heaps count.
 *
 * What is told of heaps is summed up by their names, so that pools that come and go are few rows.
 */
#ifndef MPR_NVTX_HEAPS_H
#define MPR_NVTX_HEAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "books.h"
#include "index.h"
#include "mpf/event.h"

struct mpr_replay;
struct mpr_thread;

/* All heaps of a name: a heap of `books`, by the same number from 1. */
enum { MPR_NVTX_ROWS = MPR_HEAPS - 1 };
struct mpr_nvtx_row {
    uint32_t name; /* of the ranges' names; or one of those below */
    uint64_t heaps, resets;
    uint64_t bytes, most_bytes; /* that the heaps have which are registered, now and at most */
};
/* No names of the log. */
enum {
    MPR_NVTX_UNNAMED = 0,
    MPR_NVTX_PROCESS = 1,       /* regions of the process, in no heap */
    MPR_NVTX_UNTOLD = 2,        /* in heaps whose registration is not in the log */
    MPR_NVTX_OTHER = UINT32_MAX /* heaps of further names than there are rows */
};

struct mpr_nvtx_heap {
    uint64_t handle, bytes;
    uint32_t row;
    uint32_t first; /* of its regions: place + 1 */
    uint32_t next;  /* of the free places, + 1 */
};

struct mpr_nvtx_region {
    uint64_t addr, size;
    uint64_t epoch;        /* of its row, just before it came: peaks since then have it in them */
    uint32_t cell, told;   /* of replay's books, and of those by name */
    uint32_t heap;         /* place */
    uint32_t newer, older; /* in its heap: places + 1; newer also of the free places */
    bool weighed;
};

struct mpr_nvtx {
    struct mpr_books *books; /* by the heap's name, and in it by the region's: a cell's key; NULL:
                                nothing was told */
    struct mpr_nvtx_row row[MPR_NVTX_ROWS];
    uint32_t rows;
    struct mpr_index row_number; /* by name: number from 1 */
    struct mpr_nvtx_heap *heap;
    uint32_t heaps, heap_cap, heap_free;
    struct mpr_index heap_number; /* by handle: place + 1 */
    struct mpr_nvtx_region *region;
    uint32_t regions, region_cap, region_free;
    struct mpr_index region_number; /* by address: place + 1 */
};

void mpr_nvtx_free(struct mpr_nvtx *n);
/* Every event of MPF_HEAP_NVTX. */
void mpr_nvtx_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);

#endif
