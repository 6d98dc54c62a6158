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
    free(table->flow);
    mpr_index_free(&table->number);
}

void mpr_alloc_free_matrix_free(struct mpr_alloc_free_matrix *flows)
{
    if (!flows) return;
    for (int i = 0; i < 256; i++) {
        if (flows->heap[i]) mpr_alloc_free_table_free(&flows->heap[i]->table);
        free(flows->heap[i]);
    }
    mpr_live_index_free(&flows->live);
    free(flows);
}

/* ---- a table */

void mpr_alloc_free_table_add(struct mpr_alloc_free_table *table,
                              const struct mpr_alloc_free_entry *flow)
{
    const uint64_t hash = mpr_hash(((uint64_t)flow->born << 32 | flow->gone)) + flow->whose;
    MPR_INDEX_EACH(number, &table->number, hash) {
        struct mpr_alloc_free_entry *known = &table->flow[number - 1];
        if (known->whose != flow->whose || known->born != flow->born || known->gone != flow->gone)
            continue;
        known->bytes += flow->bytes;
        known->blocks += flow->blocks;
        return;
    }
    MPR_GROW(table->flow, table->flows, table->cap);
    table->flow[table->flows++] = *flow;
    mpr_index_add(&table->number, hash, table->flows);
}

/* Works in place: an entry never moves to a later place. */
void mpr_alloc_free_table_widen(struct mpr_alloc_free_table *table)
{
    const uint32_t flows = table->flows;
    mpr_index_free(&table->number);
    table->number = (struct mpr_index){ 0 };
    table->flows = 0;
    for (uint32_t i = 0; i < flows; i++) {
        struct mpr_alloc_free_entry flow = table->flow[i];
        flow.born /= 2;
        if (flow.gone != MPR_NEVER_FREED) flow.gone /= 2;
        mpr_alloc_free_table_add(table, &flow);
    }
    for (uint32_t i = 0; i < table->slices; i += 2) table->time[i / 2] = table->time[i];
    table->slices = (table->slices + 1) / 2;
    table->shift++;
}

/* ---- changes of a heap */

static struct mpr_alloc_free_heap *heap_of(struct mpr_alloc_free_matrix *flows, uint8_t code)
{
    struct mpr_alloc_free_heap **heap = &flows->heap[code];
    if (!*heap) *heap = mpr_alloc(1, sizeof **heap);
    return *heap;
}

/* Counts a change and returns its number. */
static uint64_t count_change(struct mpr_alloc_free_heap *heap, uint64_t time)
{
    struct mpr_alloc_free_table *table = &heap->table;
    const uint64_t number = heap->changes++;
    while (number >> table->shift >= MPR_MATRIX_SLICES ||
           (table->flows >= MPR_MATRIX_ENTRIES && table->slices > 1))
        mpr_alloc_free_table_widen(table);
    if (number >> table->shift >= table->slices) table->time[table->slices++] = time;
    return number;
}

/* @gone: slice. */
static void add_block(struct mpr_alloc_free_heap *heap, const struct mpr_live_block *birth,
                      uint32_t gone)
{
    const struct mpr_alloc_free_entry flow = { .whose = birth->cell,
                                               .born = (uint32_t)(birth->time >> heap->table.shift),
                                               .gone = gone,
                                               .bytes = birth->size,
                                               .blocks = 1 };
    mpr_alloc_free_table_add(&heap->table, &flow);
}

void mpr_alloc_free_matrix_add(struct mpr_alloc_free_matrix *flows, uint64_t key, uint64_t size,
                               uint32_t cell, uint64_t time)
{
    struct mpr_alloc_free_heap *heap;
    if ((uint8_t)key == MPF_HEAP_PYTHON) return; /* its bytes are estimates */
    heap = heap_of(flows, (uint8_t)key);
    heap->dropped |= ++heap->births > MPR_MATRIX_BLOCKS;
    if (heap->dropped) return;
    const struct mpr_live_block birth = { .time = count_change(heap, time),
                                          .size = size,
                                          .cell = cell };
    mpr_live_index_add(&flows->live, key, &birth);
}

void mpr_alloc_free_matrix_remove(struct mpr_alloc_free_matrix *flows, uint64_t key, uint64_t time)
{
    struct mpr_live_block birth;
    if (!mpr_live_index_take(&flows->live, key, &birth)) return;
    struct mpr_alloc_free_heap *heap = flows->heap[(uint8_t)key];
    if (heap->dropped) return;
    const uint64_t now = count_change(heap, time); /* may widen the slices */
    add_block(heap, &birth, (uint32_t)(now >> heap->table.shift));
}

static void add_live(void *arg, uint64_t key, const struct mpr_live_block *birth)
{
    const struct mpr_alloc_free_matrix *flows = arg;
    struct mpr_alloc_free_heap *heap = flows->heap[(uint8_t)key];
    if (!heap->dropped) add_block(heap, birth, MPR_NEVER_FREED);
}

void mpr_alloc_free_matrix_drop_heap(struct mpr_alloc_free_matrix *flows, uint8_t heap)
{
    heap_of(flows, heap)->dropped = true;
}

void mpr_alloc_free_matrix_finish(struct mpr_alloc_free_matrix *flows)
{
    mpr_live_index_each(&flows->live, add_live, flows);
}
