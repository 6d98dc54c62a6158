#include "flows.h"

#include <stdlib.h>

#include "alloc.h"
#include "blocks.h"
#include "mpf/event.h"

struct mpr_flows *mpr_flows_new(void) { return mpr_alloc(1, sizeof(struct mpr_flows)); }

void mpr_flow_table_free(struct mpr_flow_table *table)
{
    free(table->flow);
    mpr_index_free(&table->number);
}

void mpr_flows_free(struct mpr_flows *flows)
{
    if (!flows) return;
    for (int i = 0; i < 256; i++) {
        if (flows->heap[i]) mpr_flow_table_free(&flows->heap[i]->table);
        free(flows->heap[i]);
    }
    mpr_births_free(&flows->live);
    free(flows);
}

/* ---- a table */

void mpr_flow_add(struct mpr_flow_table *table, const struct mpr_flow *flow)
{
    const uint64_t hash = mpr_hash(((uint64_t)flow->born << 32 | flow->gone)) + flow->whose;
    uint32_t number;
    for (struct mpr_probe p = mpr_index_probe(&table->number, hash);
         (number = mpr_probe_next(&p));) {
        struct mpr_flow *known = &table->flow[number - 1];
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
void mpr_flow_widen(struct mpr_flow_table *table)
{
    const uint32_t flows = table->flows;
    mpr_index_free(&table->number);
    table->number = (struct mpr_index){ 0 };
    table->flows = 0;
    for (uint32_t i = 0; i < flows; i++) {
        struct mpr_flow flow = table->flow[i];
        flow.born /= 2;
        if (flow.gone != MPR_FLOW_LIVES) flow.gone /= 2;
        mpr_flow_add(table, &flow);
    }
    for (uint32_t i = 0; i < table->slices; i += 2) table->time[i / 2] = table->time[i];
    table->slices = (table->slices + 1) / 2;
    table->shift++;
}

/* ---- changes of a heap */

static struct mpr_flow_heap *heap_of(struct mpr_flows *flows, uint8_t code)
{
    struct mpr_flow_heap **heap = &flows->heap[code];
    if (!*heap) *heap = mpr_alloc(1, sizeof **heap);
    return *heap;
}

/* Counts a change and returns its number. */
static uint64_t count_change(struct mpr_flow_heap *heap, uint64_t time)
{
    struct mpr_flow_table *table = &heap->table;
    const uint64_t number = heap->changes++;
    while (number >> table->shift >= MPR_FLOW_SLICES ||
           (table->flows >= MPR_FLOW_ROWS && table->slices > 1))
        mpr_flow_widen(table);
    if (number >> table->shift >= table->slices) table->time[table->slices++] = time;
    return number;
}

/* @gone: slice. */
static void add_block(struct mpr_flow_heap *heap, const struct mpr_birth *birth, uint32_t gone)
{
    const struct mpr_flow flow = { .whose = birth->cell,
                                   .born = (uint32_t)(birth->time >> heap->table.shift),
                                   .gone = gone,
                                   .bytes = birth->size,
                                   .blocks = 1 };
    mpr_flow_add(&heap->table, &flow);
}

void mpr_flows_born(struct mpr_flows *flows, uint64_t key, uint64_t size, uint32_t cell,
                    uint64_t time)
{
    struct mpr_flow_heap *heap;
    if ((uint8_t)key == MPF_HEAP_PYTHON) return; /* its bytes are estimates */
    heap = heap_of(flows, (uint8_t)key);
    heap->dropped |= ++heap->births > MPR_FLOWS_BIRTHS;
    if (heap->dropped) return;
    const struct mpr_birth birth = { .time = count_change(heap, time), .size = size, .cell = cell };
    mpr_live_index_add(&flows->live, key, &birth);
}

void mpr_flows_gone(struct mpr_flows *flows, uint64_t key, uint64_t time)
{
    struct mpr_birth birth;
    if (!mpr_live_index_take(&flows->live, key, &birth)) return;
    struct mpr_flow_heap *heap = flows->heap[(uint8_t)key];
    if (heap->dropped) return;
    const uint64_t now = count_change(heap, time); /* may widen the slices */
    add_block(heap, &birth, (uint32_t)(now >> heap->table.shift));
}

static void add_live(void *arg, uint64_t key, const struct mpr_birth *birth)
{
    const struct mpr_flows *flows = arg;
    struct mpr_flow_heap *heap = flows->heap[(uint8_t)key];
    if (!heap->dropped) add_block(heap, birth, MPR_FLOW_LIVES);
}

void mpr_flows_leave_out(struct mpr_flows *flows, uint8_t heap)
{
    heap_of(flows, heap)->dropped = true;
}

void mpr_flows_end(struct mpr_flows *flows) { mpr_live_index_each(&flows->live, add_live, flows); }
