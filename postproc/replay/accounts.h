/* The accounts: bytes and blocks of each heap and of each cell.  A cell is a heap's share of one
 * range, thread, size class or call stack.
 *
 * The bytes of every cell at the heap's peak are known without a copy at each new peak: a heap
 * counts its peaks (epoch), and a cell saves its values at its first change in a new epoch.
 *
 * Invariants: the sum of a heap's cells is the heap's bytes, now and at the peak; a cell whose
 * epoch is not the heap's has not changed since the peak. */
#ifndef MPR_ACCOUNTS_H
#define MPR_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index.h"

struct mpr_levels;
struct mpr_excerpts;
struct mpr_own_peaks;
struct mpr_survivors;

/* The members that every event uses come first and fill a cache line. */
struct mpr_cell {
    uint64_t bytes, blocks; /* now */
    uint64_t epoch;
    uint64_t saved_bytes, saved_blocks; /* at the peak, if epoch is the heap's */
    uint64_t own_peak;
    uint64_t allocations;
    uint8_t heap;
    uint32_t site; /* by MPR_GROUP_ALL: number of sites.h, 0 if unknown; otherwise 0 */
    uint64_t key;  /* range node, thread, size class, ..., or a struct mpr_composite_key */
    /* Bytes of blocks that have the range of another thread, because their own has none. */
    uint64_t inherited, saved_inherited;
};

struct mpr_cell_values {
    uint64_t bytes, blocks, inherited;
};

#define MPR_CELLS_MAX (UINT32_C(1) << 23) /* blocks.h has this many bits for a cell */

struct mpr_failure {
    uint64_t time, size;
    unsigned error;
};

struct mpr_heap {
    uint64_t bytes, blocks;
    uint64_t ceiling; /* more bytes are a new peak; UINT64_MAX once an instant is selected */
    uint64_t peak_bytes, peak_blocks, peak_time;
    uint64_t epoch; /* peaks so far, from 1 */
    uint64_t allocations, frees, failures;
    uint64_t made_bytes; /* sum of all allocations, in heaps of the host */
    uint64_t unmatched;  /* frees of unknown blocks */
    uint64_t inherited;  /* frees of the parent process's blocks */
    uint64_t missed;  /* blocks at whose address another one was allocated without a free in between
                       */
    uint64_t repairs; /* events that reorder.h put in order */
    struct mpr_failure largest; /* failed allocation */
    uint64_t huge_failures;     /* failed allocations of huge pages, not among `failures` */
    struct mpr_failure largest_huge;
    bool used;
    bool changed_in_instant; /* at the first time of the selected instant */
};

#define MPR_HEAPS 256

/* An entry of a cache of cells without a site, by hash. */
struct mpr_hint {
    uint64_t key;
    uint32_t cell;
    uint8_t heap; /* 0: empty */
};
enum { MPR_HINT_BITS = 10, MPR_HINTS = 1 << MPR_HINT_BITS };

/* An observer of maxima: the maximum of each heap since the observer set it to 0 bytes. */
struct mpr_heap_maxima {
    struct mpr_heap_maximum {
        uint64_t bytes, time;
    } heap[MPR_HEAPS];
    struct mpr_heap_maxima *next; /* of another observer, or NULL */
};

/* An observer of changes: the cells that changed since it cleared the list.  Its `tick` is called
 * before the first change at or after a time. */
struct mpr_touched_cells {
    uint8_t *is_touched; /* by cell */
    uint32_t cells;
    uint32_t *cell; /* the touched ones */
    uint32_t count, cap;
    const uint64_t *now;     /* replay's clock */
    void (*tick)(void *arg); /* called before the first change at `next` or later; sets `next` */
    uint64_t next;           /* ns */
    void *arg;
};

/* Call before any change of the state that such an observer reads. */
static inline void mpr_touched_cells_tick(struct mpr_touched_cells *t)
{
    if (t && *t->now >= t->next) t->tick(t->arg);
}

struct mpr_accounts {
    struct mpr_heap heap[MPR_HEAPS]; /* by the event's heap byte */
    struct mpr_cell *cell;
    uint32_t cells, cell_cap;
    struct mpr_index number; /* by hash of (key, site, heap): cell index + 1 */
    struct mpr_hint hint[MPR_HINTS];
    struct mpr_levels *levels; /* observers, or NULL */
    struct mpr_excerpts *excerpts;
    struct mpr_heap_maxima *maxima;
    struct mpr_touched_cells *touches;
    struct mpr_own_peaks *own_peaks; /* of coarser groupings (projection.h) */
    struct mpr_survivors *survivors;
    const uint64_t *instant_now; /* replay's clock during the selected instant, otherwise NULL */
    uint64_t instant_from;
};

void mpr_accounts_init(struct mpr_accounts *accounts);
void mpr_accounts_free(struct mpr_accounts *accounts);
/* Returns the index of a cell, which is made if it is new. */
uint32_t mpr_accounts_cell(struct mpr_accounts *accounts, uint64_t key, uint32_t site,
                           uint8_t heap);
/* Returns the place of a cell in the cache.  Uses the high bits of the hash, because a size class
 * is in the high bits of its key and does not reach the low ones. */
static inline struct mpr_hint *mpr_accounts_hint(struct mpr_accounts *accounts, uint64_t key,
                                                 uint8_t heap)
{
    return &accounts->hint[mpr_hash(key) >> (64 - MPR_HINT_BITS) ^ heap];
}
/* Between these two calls each heap's largest state since `from` replaces its peak.
 * @now: replay's clock, ns */
void mpr_accounts_instant_begin(struct mpr_accounts *accounts, uint64_t from, const uint64_t *now);
void mpr_accounts_instant_end(struct mpr_accounts *accounts);
/* The heaps that have cells, in order of their first one.  All zero at first. */
struct mpr_used_heaps {
    uint8_t code[MPR_HEAPS];
    uint32_t count, cells; /* cells: number of cells that were examined */
};
/* Adds the heaps that are new since the previous call. */
void mpr_accounts_used(const struct mpr_accounts *accounts, struct mpr_used_heaps *used);
/* Returns the values of a cell at its heap's peak. */
static inline struct mpr_cell_values mpr_accounts_at_peak(const struct mpr_accounts *accounts,
                                                          const struct mpr_cell *cell)
{
    if (cell->epoch != accounts->heap[cell->heap].epoch)
        return (struct mpr_cell_values){ cell->bytes, cell->blocks, cell->inherited };
    return (struct mpr_cell_values){ cell->saved_bytes, cell->saved_blocks, cell->saved_inherited };
}

/* ---- changes */

/* Call before a cell changes. */
static inline void mpr_accounts_save(struct mpr_cell *cell, const struct mpr_heap *heap)
{
    if (cell->epoch == heap->epoch) return;
    cell->saved_bytes = cell->bytes;
    cell->saved_blocks = cell->blocks;
    cell->saved_inherited = cell->inherited;
    cell->epoch = heap->epoch;
}

static inline void mpr_accounts_add_unobserved(struct mpr_accounts *accounts, struct mpr_cell *cell,
                                               uint64_t size, uint64_t blocks, uint64_t time)
{
    struct mpr_heap *heap = &accounts->heap[cell->heap];
    mpr_accounts_save(cell, heap);
    cell->bytes += size;
    cell->blocks += blocks;
    if (cell->bytes > cell->own_peak) cell->own_peak = cell->bytes;
    heap->bytes += size;
    heap->blocks += blocks;
    if (heap->bytes <= heap->ceiling) return;
    heap->ceiling = heap->peak_bytes = heap->bytes;
    heap->peak_blocks = heap->blocks;
    heap->peak_time = time;
    heap->epoch++;
}

static inline void mpr_accounts_remove_unobserved(struct mpr_accounts *accounts,
                                                  struct mpr_cell *cell, uint64_t size,
                                                  uint64_t blocks)
{
    struct mpr_heap *heap = &accounts->heap[cell->heap];
    mpr_accounts_save(cell, heap);
    cell->bytes -= size;
    cell->blocks -= blocks;
    heap->bytes -= size;
    heap->blocks -= blocks;
}

/* Change a cell like the functions above, with the observers.  @time: of an addition */
void mpr_accounts_change_observed(struct mpr_accounts *accounts, uint32_t index, uint64_t size,
                                  uint64_t blocks, uint64_t time, bool added);

static inline bool mpr_accounts_are_observed(const struct mpr_accounts *accounts)
{
    return accounts->levels || accounts->excerpts || accounts->maxima || accounts->touches ||
           accounts->own_peaks || accounts->survivors || accounts->instant_now;
}

/* Adds bytes and blocks to a cell, or removes them, in one change.  @blocks: modulo 2^64, so that
 * bytes can be added while blocks are removed. */
static inline void mpr_accounts_add_many(struct mpr_accounts *accounts, uint32_t index,
                                         uint64_t size, uint64_t blocks, uint64_t time)
{
    if (mpr_accounts_are_observed(accounts))
        mpr_accounts_change_observed(accounts, index, size, blocks, time, true);
    else mpr_accounts_add_unobserved(accounts, &accounts->cell[index], size, blocks, time);
}

static inline void mpr_accounts_remove_many(struct mpr_accounts *accounts, uint32_t index,
                                            uint64_t size, uint64_t blocks)
{
    if (mpr_accounts_are_observed(accounts))
        mpr_accounts_change_observed(accounts, index, size, blocks, 0, false);
    else mpr_accounts_remove_unobserved(accounts, &accounts->cell[index], size, blocks);
}

/* Adds or removes one block. */
static inline void mpr_accounts_add(struct mpr_accounts *accounts, uint32_t index, uint64_t size,
                                    uint64_t time)
{
    mpr_accounts_add_many(accounts, index, size, 1, time);
}

static inline void mpr_accounts_remove(struct mpr_accounts *accounts, uint32_t index, uint64_t size)
{
    mpr_accounts_remove_many(accounts, index, size, 1);
}

#endif
