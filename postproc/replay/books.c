#include "books.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define FIRST_SLOTS 256u

int mpr_books_init(struct mpr_books *books)
{
    memset(books, 0, sizeof *books);
    for (int i = 0; i < MPR_HEAPS; i++) books->heap[i].epoch = 1;
    books->slots = FIRST_SLOTS;
    books->slot = calloc(FIRST_SLOTS, sizeof *books->slot);
    return books->slot ? 0 : -1;
}

void mpr_books_free(struct mpr_books *books)
{
    free(books->cell);
    free(books->slot);
}

static uint32_t home(const struct mpr_books *books, uint64_t key, uint32_t site, uint8_t heap)
{
    return (uint32_t)mpr_hash(mpr_hash(key) + ((uint64_t)site << 8 | heap)) & (books->slots - 1);
}

static uint32_t *find(const struct mpr_books *books, uint64_t key, uint32_t site, uint8_t heap)
{
    uint32_t at = home(books, key, site, heap);
    while (books->slot[at]) {
        const struct mpr_cell *cell = &books->cell[books->slot[at] - 1];
        if (cell->key == key && cell->site == site && cell->heap == heap) break;
        at = (at + 1) & (books->slots - 1);
    }
    return &books->slot[at];
}

static int grow_slots(struct mpr_books *books)
{
    uint32_t *slot = calloc((size_t)books->slots * 2, sizeof *slot);
    if (!slot) return -1;
    free(books->slot);
    books->slot = slot;
    books->slots *= 2;
    for (uint32_t i = 0; i < books->cells; i++) {
        const struct mpr_cell *cell = &books->cell[i];
        *find(books, cell->key, cell->site, cell->heap) = i + 1;
    }
    return 0;
}

static int make_room(struct mpr_books *books)
{
    if (books->cells < books->cell_cap) return 0;
    const uint32_t cap = books->cell_cap ? books->cell_cap * 2 : 64;
    struct mpr_cell *cell = realloc(books->cell, cap * sizeof *cell);
    if (!cell) return -1;
    books->cell = cell;
    books->cell_cap = cap;
    return books->cells < books->slots / 2 ? 0 : grow_slots(books);
}

uint32_t mpr_books_cell(struct mpr_books *books, uint64_t key, uint32_t site, uint8_t heap)
{
    uint32_t *slot = find(books, key, site, heap);
    if (*slot) return *slot - 1;
    if (books->cells == MPR_CELLS_MAX || make_room(books) != 0) return UINT32_MAX;
    books->cell[books->cells] = (struct mpr_cell){ .key = key, .site = site, .heap = heap };
    books->heap[heap].used = true;
    *find(books, key, site, heap) = ++books->cells;
    return books->cells - 1;
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
