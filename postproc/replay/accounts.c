#include "accounts.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "excerpts.h"
#include "levels.h"
#include "projection.h"
#include "survivors.h"

void mpr_accounts_init(struct mpr_accounts *accounts)
{
    memset(accounts, 0, sizeof *accounts);
    for (int i = 0; i < MPR_HEAPS; i++) accounts->heap[i].epoch = 1;
}

void mpr_accounts_free(struct mpr_accounts *accounts)
{
    free(accounts->cell);
    mpr_index_free(&accounts->number);
}

uint32_t mpr_accounts_cell(struct mpr_accounts *accounts, uint64_t key, uint32_t site, uint8_t heap)
{
    const uint64_t hash = mpr_hash(key) + ((uint64_t)site << 8 | heap);
    MPR_INDEX_EACH(number, &accounts->number, hash) {
        const struct mpr_cell *cell = &accounts->cell[number - 1];
        if (cell->key == key && cell->site == site && cell->heap == heap) return number - 1;
    }
    if (accounts->cells == MPR_CELLS_MAX) mpr_alloc_fail(); /* memory runs out long before */
    MPR_GROW(accounts->cell, accounts->cells, accounts->cell_cap);
    accounts->cell[accounts->cells] = (struct mpr_cell){ .key = key, .site = site, .heap = heap };
    accounts->heap[heap].used = true;
    mpr_index_add(&accounts->number, hash, ++accounts->cells);
    return accounts->cells - 1;
}

void mpr_accounts_used(const struct mpr_accounts *accounts, struct mpr_used_heaps *used)
{
    for (; used->cells < accounts->cells; used->cells++) {
        const uint8_t heap = accounts->cell[used->cells].heap;
        if (!memchr(used->code, heap, used->count)) used->code[used->count++] = heap;
    }
}

/* ---- the selected instant */

static void set_peak(struct mpr_heap *heap, uint64_t time)
{
    heap->peak_bytes = heap->bytes;
    heap->peak_blocks = heap->blocks;
    heap->peak_time = time;
    heap->epoch++;
}

void mpr_accounts_instant_begin(struct mpr_accounts *accounts, uint64_t from, const uint64_t *now)
{
    for (int i = 0; i < MPR_HEAPS; i++) {
        accounts->heap[i].ceiling = UINT64_MAX;
        set_peak(&accounts->heap[i], from);
    }
    accounts->instant_now = now;
    accounts->instant_from = from;
}

void mpr_accounts_instant_end(struct mpr_accounts *accounts) { accounts->instant_now = NULL; }

/* ---- changes with observers */

__attribute__((noinline)) void mpr_accounts_change_observed(struct mpr_accounts *accounts,
                                                            uint32_t index, uint64_t size,
                                                            uint64_t blocks, uint64_t time,
                                                            bool added)
{
    const uint8_t code = accounts->cell[index].heap;
    struct mpr_heap *heap = &accounts->heap[code];
    struct mpr_touched_cells *t = accounts->touches;
    if (accounts->levels && index >= accounts->levels->cells)
        mpr_levels_reserve(accounts->levels, index);
    if (accounts->levels) mpr_levels_before(accounts->levels, accounts, index, code, heap->bytes);
    if (accounts->excerpts)
        mpr_excerpts_change(accounts->excerpts, accounts, code, heap->epoch, index, size, added);
    if (t) {
        mpr_touched_cells_tick(t);
        MPR_REACH(t->is_touched, index, t->cells);
        if (!t->is_touched[index]) { *MPR_ADD(t->cell, t->count, t->cap) = index; }
        t->is_touched[index] = true;
    }
    if (accounts->survivors)
        (added ? mpr_survivors_add : mpr_survivors_remove)(accounts->survivors, index, size);

    struct mpr_cell *cell = &accounts->cell[index];
    if (added) mpr_accounts_add_unobserved(accounts, cell, size, blocks, time);
    else mpr_accounts_remove_unobserved(accounts, cell, size, blocks);

    if (accounts->levels) mpr_levels_after(accounts->levels, code, heap->bytes, added);
    if (accounts->own_peaks)
        mpr_own_peaks_change(accounts->own_peaks, index, added ? size : 0 - size);
    if (accounts->instant_now) {
        /* If a heap changes at the first time of the instant, its state before that does not count.
         */
        const uint64_t now = *accounts->instant_now;
        const bool first = now == accounts->instant_from && !heap->changed_in_instant;
        if (first || heap->bytes > heap->peak_bytes) {
            heap->changed_in_instant = true;
            set_peak(heap, now);
        }
    }
    for (struct mpr_heap_maxima *maxima = accounts->maxima; added && maxima; maxima = maxima->next)
        if (heap->bytes > maxima->heap[code].bytes)
            maxima->heap[code] = (struct mpr_heap_maximum){ heap->bytes, time };
}
