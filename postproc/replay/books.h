/* The accounts: bytes and blocks of each heap and of each cell (a heap's share of one range, thread
 * or size class).
 *
 * "Bytes of every cell at the heap's peak" needs no copy at a new peak: a heap counts its peaks
 * (epoch), and a cell saves its values when it first changes after the epoch moved on.
 *
 * Invariants: the sum of a heap's cells is the heap's bytes, now and at the peak; a cell of another
 * epoch than its heap's has not changed since the peak. */
#ifndef MPR_BOOKS_H
#define MPR_BOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "index.h"

struct mpr_levels;
struct mpr_excerpts;

/* What each event touches comes first: a cache line. */
struct mpr_cell {
    uint64_t bytes, blocks; /* now */
    uint64_t epoch;
    uint64_t saved_bytes, saved_blocks; /* at the peak, when epoch is the heap's */
    uint64_t own_peak;
    uint64_t allocations;
    uint8_t heap;
    uint32_t site; /* by MPR_GROUP_ALL: number of sites.h, 0 where none is known; otherwise 0 */
    uint64_t key;  /* range node, thread, size class, ..., or all of them (mpr_all) */
    uint64_t inherited, saved_inherited; /* of bytes: by ranges of another thread than the one that
                                            made the block */
};

#define MPR_CELLS_MAX (UINT32_C(1) << 23) /* so many that a block can name (blocks.h) */

struct mpr_failure {
    uint64_t time, size;
    unsigned error;
};

struct mpr_heap {
    uint64_t bytes, blocks;
    uint64_t ceiling; /* above this is a new peak; UINT64_MAX once pinned */
    uint64_t peak_bytes, peak_blocks, peak_time;
    uint64_t epoch; /* peaks so far, from 1 */
    uint64_t allocations, frees, failures;
    uint64_t made_bytes;        /* by the allocations of the host's */
    uint64_t unmatched;         /* frees of blocks never seen */
    uint64_t inherited;         /* frees of the parent process's blocks */
    uint64_t missed;            /* blocks whose address was handed out again without a free */
    uint64_t repairs;           /* events put in order */
    struct mpr_failure largest; /* failed allocation */
    uint64_t huge_failures;     /* failed allocations of huge pages; `failures` leaves them out */
    struct mpr_failure largest_huge;
    bool used;
    bool noted; /* it has changed at the chosen instant's first time */
};

#define MPR_HEAPS 256

/* Cells without a site that were looked up last, by hash. */
struct mpr_hint {
    uint64_t key;
    uint32_t cell;
    uint8_t heap; /* 0: an empty place */
};
enum { MPR_HINT_BITS = 10, MPR_HINTS = 1 << MPR_HINT_BITS };

/* Each heap's largest state since an observer set it to 0; bytes 0: it has not grown. */
struct mpr_highs {
    struct mpr_high {
        uint64_t bytes, time;
    } heap[MPR_HEAPS];
};

/* Cells that changed since an observer forgot them; and a time that it waits for. */
struct mpr_touches {
    uint8_t *is_touched; /* by cell */
    uint32_t cells;
    uint32_t *cell; /* those that are touched */
    uint32_t count, cap;
    const uint64_t *now;     /* replay's clock */
    uint64_t next;           /* ns: before the first change then or later ... */
    void (*tick)(void *arg); /* ... this is called, which sets it anew */
    void *arg;
};

/* Before anything changes that such an observer asks for. */
static inline void mpr_touches_tick(struct mpr_touches *t)
{
    if (t && *t->now >= t->next) t->tick(t->arg);
}

struct mpr_books {
    struct mpr_heap heap[MPR_HEAPS]; /* by the event's heap byte */
    struct mpr_cell *cell;
    uint32_t cells, cell_cap;
    struct mpr_index number; /* by hash of (key, site, heap): cell index + 1 */
    struct mpr_hint hint[MPR_HINTS];
    struct mpr_levels *levels; /* observers; NULL: none */
    struct mpr_excerpts *excerpts;
    struct mpr_highs *highs;
    struct mpr_touches *touches;
    const uint64_t *chosen; /* replay's clock while the chosen instant lasts; NULL: it does not */
    uint64_t chosen_from;
};

void mpr_books_init(struct mpr_books *books);
void mpr_books_free(struct mpr_books *books);
/* Index of the cell, made when new. */
uint32_t mpr_books_cell(struct mpr_books *books, uint64_t key, uint32_t site, uint8_t heap);
/* By the hash's high bits: the low ones do not know the size class, which is in a key's high bits.
 */
static inline struct mpr_hint *mpr_books_hint(struct mpr_books *books, uint64_t key, uint8_t heap)
{
    return &books->hint[mpr_hash(key) >> (64 - MPR_HINT_BITS) ^ heap];
}
/* From now on every heap's largest state since `from`, now, stands for its peak; after
 * mpr_books_chosen that is for good.  now: replay's clock, ns. */
void mpr_books_choose(struct mpr_books *books, uint64_t from, const uint64_t *now);
void mpr_books_chosen(struct mpr_books *books);
/* Heaps that have cells, in order of their first one; all zero at first. */
struct mpr_used_heaps {
    uint8_t code[MPR_HEAPS];
    uint32_t count, cells; /* cells: that were looked at */
};
/* Adds those that came since it was asked last. */
void mpr_books_used(const struct mpr_books *books, struct mpr_used_heaps *used);
/* A cell's values at its heap's peak. */
uint64_t mpr_books_inherited_at_peak(const struct mpr_books *books, const struct mpr_cell *cell);
uint64_t mpr_books_bytes_at_peak(const struct mpr_books *books, const struct mpr_cell *cell);
uint64_t mpr_books_blocks_at_peak(const struct mpr_books *books, const struct mpr_cell *cell);

static inline void mpr_books_save(struct mpr_cell *cell, const struct mpr_heap *heap)
{
    if (cell->epoch == heap->epoch) return;
    cell->saved_bytes = cell->bytes;
    cell->saved_blocks = cell->blocks;
    cell->saved_inherited = cell->inherited;
    cell->epoch = heap->epoch;
}

static inline void mpr_books_grow(struct mpr_books *books, struct mpr_cell *cell, uint64_t size,
                                  uint64_t blocks, uint64_t time)
{
    struct mpr_heap *heap = &books->heap[cell->heap];
    mpr_books_save(cell, heap);
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

static inline void mpr_books_shrink(struct mpr_books *books, struct mpr_cell *cell, uint64_t size,
                                    uint64_t blocks)
{
    struct mpr_heap *heap = &books->heap[cell->heap];
    mpr_books_save(cell, heap);
    cell->bytes -= size;
    cell->blocks -= blocks;
    heap->bytes -= size;
    heap->blocks -= blocks;
}

/* A heap has changed in the chosen instant. */
void mpr_books_note(const struct mpr_books *books, struct mpr_heap *heap);

/* The same where observers look on (observers.c). */
void mpr_books_add_seen(struct mpr_books *books, uint32_t index, uint64_t size, uint64_t blocks,
                        uint64_t time);
void mpr_books_remove_seen(struct mpr_books *books, uint32_t index, uint64_t size, uint64_t blocks);

static inline bool mpr_books_seen(const struct mpr_books *books)
{
    return books->levels || books->excerpts || books->highs || books->touches || books->chosen;
}

/* Blocks come into a cell, or leave it, in one change: modulo 2^64, so that bytes may come while
 * blocks leave. */
static inline void mpr_books_add_many(struct mpr_books *books, uint32_t index, uint64_t size,
                                      uint64_t blocks, uint64_t time)
{
    if (mpr_books_seen(books)) mpr_books_add_seen(books, index, size, blocks, time);
    else mpr_books_grow(books, &books->cell[index], size, blocks, time);
}

static inline void mpr_books_remove_many(struct mpr_books *books, uint32_t index, uint64_t size,
                                         uint64_t blocks)
{
    if (mpr_books_seen(books)) mpr_books_remove_seen(books, index, size, blocks);
    else mpr_books_shrink(books, &books->cell[index], size, blocks);
}

/* A block. */
static inline void mpr_books_add(struct mpr_books *books, uint32_t index, uint64_t size,
                                 uint64_t time)
{
    mpr_books_add_many(books, index, size, 1, time);
}

static inline void mpr_books_remove(struct mpr_books *books, uint32_t index, uint64_t size)
{
    mpr_books_remove_many(books, index, size, 1);
}

#endif
