#include "alloc_free_matrix.h"

#include <stdlib.h>

#include "alloc.h"
#include "blocks.h"
#include "mpf/event.h"

struct mpr_alloc_free_matrix *mpr_alloc_free_matrix_new(void)
{
    return mpr_alloc(1, sizeof(struct mpr_alloc_free_matrix));
}

void mpr_alloc_free_table_free(struct mpr_alloc_free_table *table)
{
    free(table->entry);
    mpr_index_free(&table->number);
}

void mpr_alloc_free_matrix_free(struct mpr_alloc_free_matrix *matrix)
{
    if (!matrix) return;
    for (int i = 0; i < 256; i++) {
        if (matrix->heap[i]) mpr_alloc_free_table_free(&matrix->heap[i]->table);
        free(matrix->heap[i]);
    }
    mpr_live_index_free(&matrix->live);
    free(matrix);
}

/* ---- a table */

void mpr_alloc_free_table_add(struct mpr_alloc_free_table *table,
                              const struct mpr_alloc_free_entry *entry)
{
    const uint64_t hash =
        mpr_hash(((uint64_t)entry->allocated << 32 | entry->freed)) + entry->group;
    MPR_INDEX_EACH(number, &table->number, hash) {
        struct mpr_alloc_free_entry *known = &table->entry[number - 1];
        if (known->group != entry->group || known->allocated != entry->allocated ||
            known->freed != entry->freed)
            continue;
        known->bytes += entry->bytes;
        known->blocks += entry->blocks;
        return;
    }
    *MPR_ADD(table->entry, table->entries, table->cap) = *entry;
    mpr_index_add(&table->number, hash, table->entries);
}

/* Works in place, because no entry moves to a later place. */
void mpr_alloc_free_table_widen(struct mpr_alloc_free_table *table)
{
    const uint32_t entries = table->entries;
    mpr_index_free(&table->number);
    table->number = (struct mpr_index){ 0 };
    table->entries = 0;
    for (uint32_t i = 0; i < entries; i++) {
        struct mpr_alloc_free_entry entry = table->entry[i];
        entry.allocated /= 2;
        if (entry.freed != MPR_NEVER_FREED) entry.freed /= 2;
        mpr_alloc_free_table_add(table, &entry);
    }
    for (uint32_t i = 0; i < table->slices; i += 2) table->time[i / 2] = table->time[i];
    table->slices = (table->slices + 1) / 2;
    table->shift++;
}

/* ---- changes of a heap */

static struct mpr_alloc_free_heap *heap_of(struct mpr_alloc_free_matrix *matrix, uint8_t code)
{
    struct mpr_alloc_free_heap **heap = &matrix->heap[code];
    if (!*heap) *heap = mpr_alloc(1, sizeof **heap);
    return *heap;
}

/* Counts a change and returns its number. */
static uint64_t count_change(struct mpr_alloc_free_heap *heap, uint64_t time)
{
    struct mpr_alloc_free_table *table = &heap->table;
    const uint64_t number = heap->changes++;
    while (number >> table->shift >= MPR_MATRIX_SLICES ||
           (table->entries >= MPR_MATRIX_ENTRIES && table->slices > 1))
        mpr_alloc_free_table_widen(table);
    if (number >> table->shift >= table->slices) table->time[table->slices++] = time;
    return number;
}

/* @freed: slice. */
static void add_block(struct mpr_alloc_free_heap *heap, const struct mpr_live_block *block,
                      uint32_t freed)
{
    const struct mpr_alloc_free_entry entry = { .group = block->cell,
                                                .allocated =
                                                    (uint32_t)(block->time >> heap->table.shift),
                                                .freed = freed,
                                                .bytes = block->size,
                                                .blocks = 1 };
    mpr_alloc_free_table_add(&heap->table, &entry);
}

void mpr_alloc_free_matrix_add(struct mpr_alloc_free_matrix *matrix, uint64_t key, uint64_t size,
                               uint32_t cell, uint64_t time)
{
    struct mpr_alloc_free_heap *heap;
    if ((uint8_t)key == MPF_HEAP_PYTHON) return; /* its bytes are estimates */
    heap = heap_of(matrix, (uint8_t)key);
    heap->dropped |= ++heap->blocks > MPR_MATRIX_BLOCKS;
    if (heap->dropped) return;
    const struct mpr_live_block block = { .time = count_change(heap, time),
                                          .size = size,
                                          .cell = cell };
    mpr_live_index_add(&matrix->live, key, &block);
}

void mpr_alloc_free_matrix_remove(struct mpr_alloc_free_matrix *matrix, uint64_t key, uint64_t time)
{
    struct mpr_live_block block;
    if (!mpr_live_index_take(&matrix->live, key, &block)) return;
    struct mpr_alloc_free_heap *heap = matrix->heap[(uint8_t)key];
    if (heap->dropped) return;
    const uint64_t now = count_change(heap, time); /* may widen the slices */
    add_block(heap, &block, (uint32_t)(now >> heap->table.shift));
}

void mpr_alloc_free_matrix_drop_heap(struct mpr_alloc_free_matrix *matrix, uint8_t heap)
{
    heap_of(matrix, heap)->dropped = true;
}

void mpr_alloc_free_matrix_finish(struct mpr_alloc_free_matrix *matrix)
{
    MPR_INDEX_ALL(entry, &matrix->live.number)
    {
        struct mpr_alloc_free_heap *heap = matrix->heap[(uint8_t)entry->key];
        if (!heap->dropped) add_block(heap, &matrix->live.at[entry->value - 1], MPR_NEVER_FREED);
    }
}
