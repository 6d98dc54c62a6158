#include "holders.h"

#include <stdlib.h>

static int by_bytes(const void *left, const void *right)
{
    const struct mpr_holder *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Sums the heap's cells by node; returns how many nodes held anything. */
static size_t sum_cells(const struct mpr_books *books, uint8_t heap, struct mpr_holder *by_node)
{
    size_t held = 0;
    for (uint32_t i = 0; i < books->cells; i++) {
        const struct mpr_cell *cell = &books->cell[i];
        if (cell->heap != heap) continue;
        struct mpr_holder *sum = &by_node[mpr_all_of(cell->key).node];
        const uint64_t bytes = mpr_books_bytes_at_peak(books, cell);
        held += bytes && !sum->bytes;
        sum->bytes += bytes;
        sum->blocks += mpr_books_blocks_at_peak(books, cell);
        sum->allocations += cell->allocations;
    }
    return held;
}

bool mpr_holders_fill(struct mpr_timeline *t, struct mpr_tree *tree, uint8_t heap, struct mpr_heap_line *out)
{
    const struct mpr_replay *r = tree->r;
    struct mpr_holder *by_node = calloc(r->ranges.nodes, sizeof *by_node);
    if (!by_node) return false;
    const size_t held = sum_cells(&r->books, heap, by_node);
    out->holder = mpr_arena_alloc(&t->arena, held * sizeof *out->holder);
    for (uint32_t i = 0; out->holder && i < r->ranges.nodes; i++) {
        if (!by_node[i].bytes) continue;
        out->holder[out->holders] = by_node[i];
        out->holder[out->holders++].node = mpr_tree_number(tree, i);
    }
    free(by_node);
    if (out->holders) qsort(out->holder, out->holders, sizeof *out->holder, by_bytes);
    return out->holder != NULL;
}
