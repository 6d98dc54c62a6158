#include "books.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "excerpts.h"
#include "levels.h"
#include "projection.h"
#include "survivors.h"

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

/* Memory is exhausted long before there are more cells than a block can name. */
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

/* ---- at the peak */

static bool is_saved(const struct mpr_books *books, const struct mpr_cell *cell)
{
    return cell->epoch == books->heap[cell->heap].epoch;
}

uint64_t mpr_books_bytes_at_peak(const struct mpr_books *books, const struct mpr_cell *cell)
{
    return is_saved(books, cell) ? cell->saved_bytes : cell->bytes;
}

uint64_t mpr_books_inherited_at_peak(const struct mpr_books *books, const struct mpr_cell *cell)
{
    return is_saved(books, cell) ? cell->saved_inherited : cell->inherited;
}

uint64_t mpr_books_blocks_at_peak(const struct mpr_books *books, const struct mpr_cell *cell)
{
    return is_saved(books, cell) ? cell->saved_blocks : cell->blocks;
}

/* ---- the selected instant */

static void set_peak(struct mpr_heap *heap, uint64_t time)
{
    heap->peak_bytes = heap->bytes;
    heap->peak_blocks = heap->blocks;
    heap->peak_time = time;
    heap->epoch++;
}

void mpr_books_instant_begin(struct mpr_books *books, uint64_t from, const uint64_t *now)
{
    for (int i = 0; i < MPR_HEAPS; i++) {
        books->heap[i].ceiling = UINT64_MAX;
        set_peak(&books->heap[i], from);
    }
    books->instant_now = now;
    books->instant_from = from;
}

void mpr_books_instant_end(struct mpr_books *books) { books->instant_now = NULL; }

/* If a heap changes at the instant's first time, its state before that does not count. */
static void changed_in_instant(const struct mpr_books *books, struct mpr_heap *heap)
{
    const uint64_t now = *books->instant_now;
    const bool first = now == books->instant_from && !heap->changed_in_instant;
    if (!first && heap->bytes <= heap->peak_bytes) return;
    heap->changed_in_instant = true;
    set_peak(heap, now);
}

/* ---- observers */

static void touch(struct mpr_touches *t, uint32_t index)
{
    mpr_touches_tick(t);
    MPR_REACH(t->is_touched, index, t->cells);
    if (t->is_touched[index]) return;
    t->is_touched[index] = true;
    MPR_GROW(t->cell, t->count, t->cap);
    t->cell[t->count++] = index;
}

static inline void before_change(struct mpr_books *books, uint32_t index, uint64_t size, bool added)
{
    const uint8_t code = books->cell[index].heap;
    const struct mpr_heap *heap = &books->heap[code];
    if (books->levels && index >= books->levels->cells) mpr_levels_room(books->levels, index);
    if (books->levels) mpr_levels_before(books->levels, books, index, code, heap->bytes);
    if (books->excerpts)
        mpr_excerpts_see(books->excerpts, books, code, heap->epoch, index, size, added);
    if (books->touches) touch(books->touches, index);
}

static inline void after_change(struct mpr_books *books, uint32_t index, uint64_t size, bool added)
{
    const uint8_t code = books->cell[index].heap;
    if (books->levels) mpr_levels_after(books->levels, code, books->heap[code].bytes, added);
    if (books->own_peaks) mpr_own_peaks_change(books->own_peaks, index, added ? size : 0 - size);
    if (books->instant_now) changed_in_instant(books, &books->heap[code]);
}

__attribute__((noinline)) void mpr_books_add_observed(struct mpr_books *books, uint32_t index,
                                                      uint64_t size, uint64_t blocks, uint64_t time)
{
    before_change(books, index, size, true);
    if (books->survivors) mpr_survivors_add(books->survivors, index, size);
    mpr_books_add_unobserved(books, &books->cell[index], size, blocks, time);
    after_change(books, index, size, true);
    const uint8_t code = books->cell[index].heap;
    const uint64_t bytes = books->heap[code].bytes;
    for (struct mpr_highs *highs = books->highs; highs; highs = highs->next) {
        struct mpr_high *high = &highs->heap[code];
        if (bytes > high->bytes) *high = (struct mpr_high){ bytes, time };
    }
}

__attribute__((noinline)) void mpr_books_remove_observed(struct mpr_books *books, uint32_t index,
                                                         uint64_t size, uint64_t blocks)
{
    before_change(books, index, size, false);
    if (books->survivors) mpr_survivors_remove(books->survivors, index, size);
    mpr_books_remove_unobserved(books, &books->cell[index], size, blocks);
    after_change(books, index, size, false);
}
