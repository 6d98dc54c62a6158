#include "books.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

void mpr_books_init(struct mpr_books *books)
{
    memset(books, 0, sizeof *books);
    for (int i = 0; i < MPR_HEAPS; i++) books->heap[i].epoch = 1;
}

void mpr_books_free(struct mpr_books *books)
{
    free(books->cell);
    mpr_index_free(&books->number);
}

/* More cells than a block can name are more than there is memory for. */
uint32_t mpr_books_cell(struct mpr_books *books, uint64_t key, uint32_t site, uint8_t heap)
{
    const uint64_t hash = mpr_hash(key) + ((uint64_t)site << 8 | heap);
    uint32_t number;
    for (struct mpr_probe p = mpr_index_probe(&books->number, hash);
         (number = mpr_probe_next(&p));) {
        const struct mpr_cell *cell = &books->cell[number - 1];
        if (cell->key == key && cell->site == site && cell->heap == heap) return number - 1;
    }
    if (books->cells == MPR_CELLS_MAX) mpr_alloc_end();
    MPR_GROW(books->cell, books->cells, books->cell_cap);
    books->cell[books->cells] = (struct mpr_cell){ .key = key, .site = site, .heap = heap };
    books->heap[heap].used = true;
    mpr_index_add(&books->number, hash, ++books->cells);
    return books->cells - 1;
}

void mpr_books_used(const struct mpr_books *books, struct mpr_used_heaps *used)
{
    for (; used->cells < books->cells; used->cells++) {
        const uint8_t heap = books->cell[used->cells].heap;
        if (!memchr(used->code, heap, used->count)) used->code[used->count++] = heap;
    }
}

/* The present state stands for the peak. */
static void stand(struct mpr_heap *heap, uint64_t time)
{
    heap->peak_bytes = heap->bytes;
    heap->peak_blocks = heap->blocks;
    heap->peak_time = time;
    heap->epoch++;
}

/* What a heap held before does not count where it changed at the instant's first time. */
void mpr_books_note(const struct mpr_books *books, struct mpr_heap *heap)
{
    const uint64_t now = *books->chosen;
    const bool first = now == books->chosen_from && !heap->noted;
    if (!first && heap->bytes <= heap->peak_bytes) return;
    heap->noted = true;
    stand(heap, now);
}

void mpr_books_choose(struct mpr_books *books, uint64_t from, const uint64_t *now)
{
    for (int i = 0; i < MPR_HEAPS; i++) {
        books->heap[i].ceiling = UINT64_MAX;
        stand(&books->heap[i], from);
    }
    books->chosen = now;
    books->chosen_from = from;
}

void mpr_books_chosen(struct mpr_books *books) { books->chosen = NULL; }

uint64_t mpr_books_bytes_at_peak(const struct mpr_books *books, const struct mpr_cell *cell)
{
    return cell->epoch == books->heap[cell->heap].epoch ? cell->saved_bytes : cell->bytes;
}

uint64_t mpr_books_inherited_at_peak(const struct mpr_books *books, const struct mpr_cell *cell)
{
    return cell->epoch == books->heap[cell->heap].epoch ? cell->saved_inherited : cell->inherited;
}

uint64_t mpr_books_blocks_at_peak(const struct mpr_books *books, const struct mpr_cell *cell)
{
    return cell->epoch == books->heap[cell->heap].epoch ? cell->saved_blocks : cell->blocks;
}
