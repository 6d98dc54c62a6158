#include "timeline_parts.h"

#include <stdlib.h>

#include "alloc.h"
#include "maker.h"
#include "segments.h"

struct gathering {
    struct mpr_large_block *block;
    size_t count, cap;
};

static void gather(void *arg, const struct mpr_large_block *block)
{
    struct gathering *g = arg;
    MPR_GROW(g->block, g->count, g->cap);
    g->block[g->count++] = *block;
}

/* Live ones come in the order of a table, which is another one in each run. */
static int by_birth(const void *left, const void *right)
{
    const struct mpr_large_block *a = left, *b = right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    if (a->addr != b->addr) return a->addr < b->addr ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static int by_from(const void *left, const void *right)
{
    const struct mpr_lifetime *a = left, *b = right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void keep(struct mpr_tree *tree, struct mpr_callers *callers,
                 const struct mpr_large_block *b, struct mpr_heap_line *out)
{
    const struct mpr_replay *r = &tree->reader->replay;
    const struct mpr_cell *cell = &r->books.cell[b->cell];
    const struct mpr_all all = mpr_all_of(cell->key);
    const struct mpr_site site = mpr_sites_of(&r->sites, cell->site);
    const uint32_t library = mpr_sites_library(&r->sites, site.stack);
    out->lifetime[out->lifetimes++] =
        (struct mpr_lifetime){ .addr = b->addr,
                               .size = b->size,
                               .from = b->from,
                               .to = b->to == UINT64_MAX ? r->now : b->to,
                               .live_at_end = b->to == UINT64_MAX,
                               .capture = b->capture,
                               .segment = b->segment,
                               .mapped = b->mapped && mpr_segment_expands(&r->sites, library),
                               .node = mpr_tree_number(tree, all.node),
                               .thread = all.thread,
                               .library = library,
                               .freer =
                                   b->to == UINT64_MAX || b->freer == MPR_NOBODY ? 0 : b->freer + 1,
                               .native = mpr_callers_native(callers, site.stack),
                               .python = mpr_callers_python(callers, site.python) };
}

void mpr_lifetimes_fill(struct mpr_timeline *t, struct mpr_tree *tree, struct mpr_callers *callers,
                        const struct mpr_large *large, uint8_t heap, struct mpr_heap_line *out)
{
    struct gathering g = { .block = NULL };
    mpr_large_each(large, heap, gather, &g);
    if (g.count) qsort(g.block, g.count, sizeof *g.block, by_birth);
    const size_t kept = g.count < t->options.lifetimes ? g.count : t->options.lifetimes;
    mpr_notable_keep(g.block, g.count, kept, out->peak_time, tree->reader->replay.now);
    out->lifetime = mpr_arena_alloc(&t->arena, kept * sizeof *out->lifetime);
    for (size_t i = 0; i < kept; i++) keep(tree, callers, &g.block[i], out);
    qsort(out->lifetime, out->lifetimes, sizeof *out->lifetime, by_from);
    free(g.block);
}
