#include "nvtx_sums.h"

#include <stdbool.h>
#include <stdlib.h>

#include "labels.h"
#include "replay.h"

static const char *heap_name(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t name)
{
    switch (name) {
    case MPR_NVTX_UNNAMED: return "(no name)";
    case MPR_NVTX_PROCESS: return "(in no heap)";
    case MPR_NVTX_UNTOLD: return "(heap not known)";
    case MPR_NVTX_OTHER: return "(further heaps)";
    default: return mpr_label_name(arena, r, name, 0);
    }
}

static int by_peak(const void *left, const void *right)
{
    const struct mpr_nvtx_sum *a = left, *b = right;
    if (a->peak_bytes != b->peak_bytes) return a->peak_bytes > b->peak_bytes ? -1 : 1;
    return (a->allocations < b->allocations) - (a->allocations > b->allocations);
}

static struct mpr_nvtx_sum heap_of(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t i)
{
    const struct mpr_nvtx_row *row = &r->nvtx.row[i];
    struct mpr_nvtx_sum sum = { .heap = heap_name(arena, r, row->name),
                                .heaps = row->heaps,
                                .resets = row->resets,
                                .size = row->most_bytes };
    if (!r->nvtx.books) return sum; /* it had no region */
    const struct mpr_heap *heap = &r->nvtx.books->heap[i + 1];
    sum.peak_bytes = heap->peak_bytes;
    sum.peak_blocks = heap->peak_blocks;
    sum.peak_time = heap->peak_time;
    sum.end_bytes = heap->bytes;
    sum.end_blocks = heap->blocks;
    sum.allocations = heap->allocations;
    return sum;
}

const struct mpr_nvtx_sum *mpr_nvtx_heaps(struct mpr_arena *arena, const struct mpr_replay *r,
                                          size_t *count)
{
    *count = r->nvtx.rows;
    if (!*count) return NULL;
    struct mpr_nvtx_sum *sum = mpr_arena_alloc(arena, *count * sizeof *sum);
    for (uint32_t i = 0; i < *count; i++) sum[i] = heap_of(arena, r, i);
    qsort(sum, *count, sizeof *sum, by_peak);
    return sum;
}

static struct mpr_nvtx_sum region_of(struct mpr_arena *arena, const struct mpr_replay *r,
                                     const struct mpr_cell *cell)
{
    const struct mpr_books *books = r->nvtx.books;
    const uint32_t name = (uint32_t)cell->key;
    return (struct mpr_nvtx_sum){
        .heap = heap_name(arena, r, r->nvtx.row[cell->heap - 1].name),
        .region = name ? mpr_label_name(arena, r, name, 0) : "(no name)",
        .peak_bytes = mpr_books_bytes_at_peak(books, cell),
        .peak_blocks = mpr_books_blocks_at_peak(books, cell),
        .peak_time = books->heap[cell->heap].peak_time,
        .end_bytes = cell->bytes,
        .end_blocks = cell->blocks,
        .allocations = cell->allocations,
    };
}

const struct mpr_nvtx_sum *mpr_nvtx_regions(struct mpr_arena *arena, const struct mpr_replay *r,
                                            size_t *count)
{
    const struct mpr_books *books = r->nvtx.books;
    bool named[MPR_HEAPS] = { false };
    *count = 0;
    if (!books) return NULL;
    for (uint32_t i = 0; i < books->cells; i++)
        if (books->cell[i].key != MPR_NVTX_UNNAMED) named[books->cell[i].heap] = true;
    struct mpr_nvtx_sum *sum = mpr_arena_alloc(arena, books->cells * sizeof *sum);
    for (uint32_t i = 0; i < books->cells; i++)
        if (named[books->cell[i].heap] && books->cell[i].allocations)
            sum[(*count)++] = region_of(arena, r, &books->cell[i]);
    qsort(sum, *count, sizeof *sum, by_peak);
    return sum;
}
