/* Cells become bands, and slices are joined until there are few enough rows. */
#include "timeline_parts.h"

#include <stdlib.h>
#include <string.h>

#include "flows.h"

static int by_slice(const void *left, const void *right)
{
    const struct mpr_flow *a = left, *b = right;
    if (a->born != b->born) return a->born < b->born ? -1 : 1;
    if (a->gone != b->gone) return a->gone < b->gone ? -1 : 1;
    return a->whose < b->whose ? -1 : a->whose > b->whose;
}

static uint32_t life_of(const struct mpr_flow *flow)
{
    return flow->gone == MPR_FLOW_LIVES ? 0 : flow->gone - flow->born + 1;
}

static void copy(struct mpr_arena *arena, struct mpr_flow_table *table, struct mpr_heap_line *out)
{
    struct mpr_band_flow *flow = mpr_arena_alloc(arena, table->flows * sizeof *flow);
    uint64_t *time = mpr_arena_alloc(arena, table->slices * sizeof *time);
    if (table->flows) qsort(table->flow, table->flows, sizeof *table->flow, by_slice);
    for (uint32_t i = 0; i < table->flows; i++) {
        const struct mpr_flow *of = &table->flow[i];
        flow[i] = (struct mpr_band_flow){ of->born, life_of(of), of->whose, of->bytes, of->blocks };
    }
    if (table->slices) memcpy(time, table->time, table->slices * sizeof *time);
    out->flow = flow;
    out->flows = table->flows;
    out->slice_time = time;
    out->slices = table->slices;
    out->slice_changes = UINT64_C(1) << table->shift;
}

void mpr_band_flows_fill(struct mpr_timeline *timeline, const struct mpr_flow_heap *heap,
                         const uint32_t *band_of, struct mpr_heap_line *out)
{
    struct mpr_flow_table table = { 0 };
    if (heap->dropped) return;
    memcpy(table.time, heap->table.time, sizeof table.time);
    table.slices = heap->table.slices;
    table.shift = heap->table.shift;
    for (uint32_t i = 0; i < heap->table.flows; i++) {
        struct mpr_flow flow = heap->table.flow[i];
        flow.whose = band_of[flow.whose];
        mpr_flow_add(&table, &flow);
    }
    while (table.flows > timeline->options.flows && table.slices > 1) mpr_flow_widen(&table);
    copy(&timeline->arena, &table, out);
    mpr_flow_table_free(&table);
}
