/* Heaps that libraries register with NVTX, and the regions in them: blocks of nvtx/regions, whose
 * memory other heaps also count.
 *
 * Heaps are summed up by name, so that pools that are created and destroyed are few rows. */
#ifndef MPR_NVTX_HEAPS_H
#define MPR_NVTX_HEAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "accounts.h"
#include "index.h"
#include "mpf/event.h"

struct mpr_replay;
struct mpr_thread;

/* All heaps of a name. Row n - 1 is heap n of `accounts`. */
enum { MPR_NVTX_ROWS = MPR_HEAPS - 1 };
struct mpr_nvtx_row {
    uint32_t name; /* a name of the ranges, or one of those below */
    uint64_t heaps, resets;
    uint64_t bytes, most_bytes; /* total of the registered heaps, now and at its maximum */
};
/* Numbers that no name of the log has. */
enum {
    MPR_NVTX_UNNAMED = 0,
    MPR_NVTX_PROCESS = 1,       /* regions of the process, in no heap */
    MPR_NVTX_UNREGISTERED = 2,  /* in heaps whose registration is not in the log */
    MPR_NVTX_OTHER = UINT32_MAX /* heaps with further names than there are rows */
};

struct mpr_nvtx_heap {
    uint64_t handle, bytes;
    uint32_t row;
    uint32_t first; /* its newest region: place + 1 */
    uint32_t next;  /* the next unused place + 1, in an unused place */
};

struct mpr_nvtx_region {
    uint64_t addr, size;
    uint64_t epoch;          /* epoch of its row before it was made: later peaks include it */
    uint32_t cell, row_cell; /* in the accounts of replay; in those by name */
    uint32_t heap;           /* place */
    uint32_t newer, older;   /* in its heap: places + 1. newer: also of unused places */
    bool weighed;
};

struct mpr_nvtx {
    /* Accounts by the heap's name. A cell's key is the region's name. NULL until there is a region.
     */
    struct mpr_accounts *accounts;
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
/* Takes every event of MPF_HEAP_NVTX. */
void mpr_nvtx_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);

#endif
