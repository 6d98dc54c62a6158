/* Who looks on while the books change: levels of detail, excerpts, highs and touches. */
#include "alloc.h"
#include "books.h"
#include "excerpts.h"
#include "levels.h"

static void touch(struct mpr_touches *t, uint32_t index)
{
    mpr_touches_tick(t);
    MPR_REACH(t->is_touched, index, t->cells);
    if (t->is_touched[index]) return;
    t->is_touched[index] = true;
    MPR_GROW(t->cell, t->count, t->cap);
    t->cell[t->count++] = index;
}

static inline void before(struct mpr_books *books, uint32_t index, uint64_t size, bool grown)
{
    const uint8_t code = books->cell[index].heap;
    const struct mpr_heap *heap = &books->heap[code];
    if (books->levels && index >= books->levels->cells) mpr_levels_room(books->levels, index);
    if (books->levels) mpr_levels_before(books->levels, books, index, code, heap->bytes);
    if (books->excerpts)
        mpr_excerpts_see(books->excerpts, books, code, heap->epoch, index, size, grown);
    if (books->touches) touch(books->touches, index);
}

static inline void after(struct mpr_books *books, uint32_t index, bool grown)
{
    const uint8_t code = books->cell[index].heap;
    if (books->levels) mpr_levels_after(books->levels, code, books->heap[code].bytes, grown);
    if (books->chosen) mpr_books_note(books, &books->heap[code]);
}

static inline void rise(struct mpr_books *books, uint32_t index, uint64_t time)
{
    const uint8_t code = books->cell[index].heap;
    struct mpr_high *high = &books->highs->heap[code];
    const uint64_t bytes = books->heap[code].bytes;
    if (bytes > high->bytes) *high = (struct mpr_high){ bytes, time };
}

__attribute__((noinline)) void mpr_books_add_seen(struct mpr_books *books, uint32_t index,
                                                  uint64_t size, uint64_t blocks, uint64_t time)
{
    before(books, index, size, true);
    mpr_books_grow(books, &books->cell[index], size, blocks, time);
    after(books, index, true);
    if (books->highs) rise(books, index, time);
}

__attribute__((noinline)) void mpr_books_remove_seen(struct mpr_books *books, uint32_t index,
                                                     uint64_t size, uint64_t blocks)
{
    before(books, index, size, false);
    mpr_books_shrink(books, &books->cell[index], size, blocks);
    after(books, index, false);
}
