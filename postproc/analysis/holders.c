#include "timeline_parts.h"

#include <stdlib.h>

#include "alloc.h"
#include "maker.h"

/* Sums by place: a node's number, and behind all nodes a native stack's or a library's. */
struct sums {
    const struct mpr_replay *r;
    struct mpr_holder *at;
    size_t places, held;
    bool by_native;
};

static struct mpr_holder *place(const struct sums *s, const struct mpr_cell *cell)
{
    const struct mpr_sites *sites = &s->r->sites;
    const struct mpr_site site = mpr_sites_of(sites, cell->site);
    const uint32_t range = mpr_all_of(cell->key).node, node = range ? range : site.python;
    const uint32_t native = node || !s->by_native ? 0 : site.stack;
    const uint32_t library = node || s->by_native ? 0 : mpr_sites_library(sites, site.stack);
    struct mpr_holder *sum =
        &s->at[native | library ? s->r->ranges.nodes + (native | library) : node];
    sum->node = node;
    sum->library = library;
    sum->native = native;
    return sum;
}

static void sum_cells(struct sums *s, uint8_t heap)
{
    const struct mpr_books *books = &s->r->books;
    for (uint32_t i = 0; i < books->cells; i++) {
        const struct mpr_cell *cell = &books->cell[i];
        if (cell->heap != heap) continue;
        struct mpr_holder *sum = place(s, cell);
        const uint64_t bytes = mpr_books_bytes_at_peak(books, cell);
        s->held += bytes && !sum->bytes;
        sum->bytes += bytes;
        sum->blocks += mpr_books_blocks_at_peak(books, cell);
        sum->allocations += cell->allocations;
    }
}

/* By the numbers of replay, so that equal rows have one order. */
static int by_bytes(const void *left, const void *right)
{
    const struct mpr_holder *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    if (a->library != b->library) return a->library < b->library ? -1 : 1;
    return a->native < b->native ? -1 : a->native > b->native;
}

void mpr_holders_fill(struct mpr_timeline *t, struct mpr_tree *tree, struct mpr_callers *callers,
                      uint8_t heap, struct mpr_heap_line *out)
{
    const struct mpr_replay *r = &tree->reader->replay;
    struct sums s = { .r = r, .by_native = t->best.by == MPR_GROUP_STACK };
    s.places =
        (size_t)r->ranges.nodes + (s.by_native ? r->sites.stacks.nodes : r->sites.libraries) + 1;
    s.at = mpr_alloc(s.places, sizeof *s.at);
    sum_cells(&s, heap);
    out->holder = mpr_arena_alloc(&t->arena, s.held * sizeof *out->holder);
    for (size_t i = 0; i < s.places; i++)
        if (s.at[i].bytes) out->holder[out->holders++] = s.at[i];
    free(s.at);
    qsort(out->holder, out->holders, sizeof *out->holder, by_bytes);
    for (size_t i = 0; i < out->holders; i++) {
        out->holder[i].node = mpr_tree_number(tree, out->holder[i].node);
        out->holder[i].native = mpr_callers_native(callers, out->holder[i].native);
    }
}
