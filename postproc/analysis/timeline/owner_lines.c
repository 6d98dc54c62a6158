#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "amount.h"
#include "cell_totals.h"
#include "labels.h"
#include "naming.h"
#include "projection.h"
#include "timeline_parts.h"

/* The owners of the heap and their lines in one view. Numbers are the replay's. */
struct view {
    enum mpr_group by;
    struct mpr_holder *owner; /* by row, largest first */
    struct mpr_row *row;
    size_t rows;
    struct mpr_line *line;
    bool *open, *parts_open; /* by line */
    size_t lines, live;      /* live: how many lines have bytes at the peak; they are first */
    uint32_t *line_of;       /* by key: line + 1 */
};

struct mpr_owner_lines {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    const struct mpr_naming *naming;
    bool by_native; /* in AUTO, an owner without a range and Python stack is a native stack, not a
                       library */
    size_t keys;
    struct view view[MPR_LINE_VIEWS];
};

/* ---- owners */

static struct mpr_holder owner_of(const struct mpr_owner_lines *l, enum mpr_view view,
                                  const struct mpr_band *block)
{
    switch (view) {
    case MPR_VIEW_RANGE: return (struct mpr_holder){ .node = block->node };
    case MPR_VIEW_PYTHON: return (struct mpr_holder){ .python = block->python };
    case MPR_VIEW_STACK: return (struct mpr_holder){ .native = block->native };
    case MPR_VIEW_THREAD: return (struct mpr_holder){ .thread = block->thread };
    default: break;
    }
    if (block->node) return (struct mpr_holder){ .node = block->node };
    if (block->python) return (struct mpr_holder){ .python = block->python };
    if (l->by_native) return (struct mpr_holder){ .native = block->native };
    return (struct mpr_holder){ .library = block->library };
}

/* Returns the owner's index in `line_of`. Ranges and Python stacks are numbers of one tree;
 * after these come native stacks, libraries or threads, of which an owner has only one. */
static size_t key_of(const struct mpr_owner_lines *l, const struct mpr_holder *owner)
{
    const uint32_t other = owner->native | owner->library | owner->thread;
    return other ? l->reader->replay.ranges.nodes + other : owner->node | owner->python;
}

/* ---- rows */

/* Equal owners are in the order of the replay's numbers. */
MPR_COMPARE(by_bytes, struct mpr_holder,
            mpr_compare(b->bytes, a->bytes) ?: mpr_compare(a->node | a->python, b->node | b->python)
                                            ?: mpr_compare(a->library, b->library)
                                            ?: mpr_compare(a->thread, b->thread)
                                            ?: mpr_compare(a->native, b->native))

/* The heap's cells grouped as in the view, with the estimates of `peaks`. */
struct projected {
    struct mpr_projection projection;
    struct mpr_cell_totals *totals; /* by cell */
    bool *added;                    /* by cell, to its row */
    uint64_t samples;               /* at the peak */
};

/* Adds the totals of the cell's group to its row, once. A row is an estimate under the same
 * conditions as in peaks.c. */
static void add_projected(struct mpr_holder *row, struct projected *p, const struct mpr_replay *r,
                          uint32_t cell)
{
    const uint32_t to = p->projection.to[cell];
    const struct mpr_cell_totals *t = &p->totals[to];
    const struct mpr_cell *of = &r->accounts.cell[to];
    if (p->added[to]) return;
    p->added[to] = true;
    row->bytes += t->bytes;
    row->blocks += t->blocks;
    row->allocations += t->allocations;
    mpr_variance_add(&row->variance, &t->variance);
    row->error = mpr_variance_error(&row->variance);
    row->about |= of->heap == MPF_HEAP_PYTHON ||
                  mpr_counted_totals_is(&r->totals, &r->accounts, of) ||
                  (mpr_replay_extrapolates(r, of->heap) &&
                   (mpr_estimates_is_sampled(&r->estimates, to) ||
                    (mpr_replay_is_represented(r, of) && p->samples)));
}

/* Sums the cells of each owner. @projected: NULL if the heap has no samples. */
static void sum_cells(struct mpr_owner_lines *l, enum mpr_view view, uint8_t heap,
                      struct projected *projected)
{
    const struct mpr_replay *r = &l->reader->replay;
    const struct mpr_cell *cells = projected ? projected->projection.cell : r->accounts.cell;
    const uint32_t count = projected ? projected->projection.cells : r->accounts.cells;
    struct view *v = &l->view[view];
    uint32_t *row_of = mpr_alloc(l->keys, sizeof *row_of), cap = 0, rows = 0;
    struct mpr_holder *sum = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct mpr_cell *cell = &cells[i];
        if (cell->heap != heap) continue;
        const struct mpr_site site = mpr_sites_of(&r->sites, cell->site);
        const struct mpr_composite_key all = mpr_composite_key_unpack(cell->key);
        const struct mpr_band block = { .node = all.node,
                                        .thread = all.thread,
                                        .python = site.python,
                                        .native = site.stack,
                                        .library = mpr_sites_library(&r->sites, site.stack) };
        const struct mpr_holder owner = owner_of(l, view, &block);
        uint32_t *row = &row_of[key_of(l, &owner)];
        if (!*row) {
            MPR_GROW(sum, rows, cap);
            sum[rows] = owner;
            *row = ++rows;
        }
        struct mpr_holder *to = &sum[*row - 1];
        if (projected) {
            add_projected(to, projected, r, i);
            continue;
        }
        to->bytes += mpr_accounts_at_peak(&r->accounts, cell).bytes;
        to->blocks += mpr_accounts_at_peak(&r->accounts, cell).blocks;
        to->allocations += cell->allocations;
        to->about |= mpr_counted_totals_is(&r->totals, &r->accounts, cell);
    }
    v->rows = rows;
    v->owner = mpr_arena_alloc(l->arena, rows * sizeof *v->owner);
    if (rows) memcpy(v->owner, sum, rows * sizeof *v->owner);
    if (rows) qsort(v->owner, rows, sizeof *v->owner, by_bytes);
    free(sum);
    free(row_of);
}

/* Gives the owners their names, and joins them to lines. */
static void make_lines(struct mpr_owner_lines *l, struct view *v)
{
    const struct mpr_replay *r = &l->reader->replay;
    size_t all;
    v->row = mpr_arena_alloc(l->arena, v->rows * sizeof *v->row);
    for (size_t i = 0; i < v->rows; i++) {
        const struct mpr_holder *owner = &v->owner[i];
        struct mpr_row *row = &v->row[i];
        *row = (struct mpr_row){ .bytes = owner->bytes,
                                 .blocks = owner->blocks,
                                 .estimated = owner->about,
                                 .variance = owner->variance,
                                 .allocations = owner->allocations };
        if (owner->native) row->path = mpr_label_stack(l->arena, l->reader, owner->native);
        else if (v->by != MPR_GROUP_THREAD && !owner->library)
            row->path = mpr_label_node(l->arena, l->reader, owner->node | owner->python);
        else {
            const struct mpr_frame **name = mpr_arena_alloc(l->arena, sizeof *name);
            *name = owner->library ? mpr_label_library_frame(l->arena, r, owner->library)
                                   : mpr_label_owner_frame(l->arena, r, owner->thread);
            row->path = mpr_frame_alone(name);
        }
    }
    v->line = mpr_naming_lines(l->arena, l->naming, v->by, v->row, v->rows, &all, &v->live);
    v->lines =
        v->live + mpr_naming_group(l->arena, l->naming, v->by, v->line + v->live, all - v->live);
    v->open = mpr_arena_alloc(l->arena, v->lines * sizeof *v->open);
    v->parts_open = mpr_arena_alloc(l->arena, v->lines * sizeof *v->parts_open);
    v->line_of = mpr_arena_alloc(l->arena, l->keys * sizeof *v->line_of);
    for (size_t i = 0; i < v->lines; i++) {
        const struct mpr_row_link *first = v->line[i].link, *at = first;
        do v->line_of[key_of(l, &v->owner[at->row - v->row])] = (uint32_t)i + 1;
        while ((at = at->next) != first);
    }
}

struct mpr_owner_lines *mpr_owner_lines_make(struct mpr_timeline *t, struct mpr_reader *reader,
                                             uint8_t heap)
{
    static const enum mpr_group by[MPR_LINE_VIEWS] = { MPR_GROUP_AUTO, MPR_GROUP_RANGE,
                                                       MPR_GROUP_PYTHON, MPR_GROUP_STACK,
                                                       MPR_GROUP_THREAD };
    struct mpr_replay *r = &reader->replay;
    struct mpr_owner_lines *l = mpr_arena_alloc(&t->arena, sizeof *l);
    size_t others = (size_t)r->sites.libraries + 1;
    if (r->sites.stacks.nodes > others) others = r->sites.stacks.nodes;
    if (r->threads.count > others) others = r->threads.count;
    *l = (struct mpr_owner_lines){ .arena = &t->arena,
                                   .reader = reader,
                                   .naming = t->options.naming,
                                   .by_native = t->best.by == MPR_GROUP_STACK,
                                   .keys = r->ranges.nodes + others + 1 };
    const bool sampled = mpr_estimates_heap_is_sampled(&r->estimates, &r->accounts, heap);
    for (enum mpr_view i = 0; i < MPR_LINE_VIEWS; i++) {
        struct view *v = &l->view[i];
        struct projected p = { .samples = 0 };
        v->by = i == MPR_VIEW_AUTO && l->by_native ? MPR_GROUP_STACK : by[i];
        if (sampled) {
            mpr_projection_begin(&p.projection, r, v->by, NULL);
            p.totals = mpr_cell_totals_heap(r, heap);
            p.added = mpr_alloc(r->accounts.cells, sizeof *p.added);
            for (uint32_t k = 0; k < r->accounts.cells; k++) p.samples += p.totals[k].samples;
        }
        sum_cells(l, i, heap, sampled ? &p : NULL);
        if (sampled) mpr_projection_end(&p.projection, r);
        free(p.totals);
        free(p.added);
        make_lines(l, v);
    }
    return l;
}

uint32_t mpr_owner_lines_find(const struct mpr_owner_lines *l, enum mpr_view view,
                              const struct mpr_band *block)
{
    const struct mpr_holder owner = owner_of(l, view, block);
    return l->view[view].line_of[key_of(l, &owner)];
}

size_t mpr_owner_lines_rows(const struct mpr_owner_lines *l, enum mpr_view view, uint32_t number)
{
    return number ? l->view[view].line[number - 1].rows : 0;
}

void mpr_owner_lines_hide(struct mpr_owner_lines *l, enum mpr_view view, uint32_t number,
                          bool whole)
{
    if (!number) return;
    l->view[view].open[number - 1] |= whole;
    l->view[view].parts_open[number - 1] = true;
}

/* ---- the result */

void mpr_owner_lines_fill_holders(const struct mpr_owner_lines *l, struct mpr_numbering *n,
                                  struct mpr_heap_timeline *out)
{
    enum { LISTED = 400 };
    const struct view *v = &l->view[MPR_VIEW_AUTO];
    size_t holders = 0;
    while (holders < LISTED && holders < v->rows && v->owner[holders].bytes) holders++;
    out->holder = mpr_arena_alloc(l->arena, holders * sizeof *out->holder);
    for (; out->holders < holders; out->holders++) {
        struct mpr_holder *holder = &out->holder[out->holders];
        *holder = v->owner[out->holders];
        holder->node = mpr_numbering_node(n, holder->node);
        holder->python = mpr_numbering_python(n, holder->python);
        holder->native = mpr_numbering_native(n, holder->native);
    }
}

static struct mpr_short_path short_path(struct mpr_numbering *n, const struct mpr_line *line)
{
    struct mpr_short_path path = { .path = mpr_numbering_path(n, line->row.path) };
    if (*line->caller)
        path.caller =
            mpr_numbering_frame(n, mpr_frame_named(n->arena, MPR_FRAME_LABEL, line->caller)) + 1;
    return path;
}

static bool is_same(const struct mpr_line *a, const struct mpr_line *b)
{
    return mpr_row_by_path(&a->row, &b->row) == 0 && strcmp(a->caller, b->caller) == 0;
}

/* Fills the owners of a line that the result has. */
static void fill_parts(const struct mpr_owner_lines *l, const struct view *v,
                       const struct mpr_line *line, struct mpr_numbering *n,
                       struct mpr_view_line *out)
{
    const struct mpr_row_link *at = line->link;
    out->part = mpr_arena_alloc(l->arena, line->rows * sizeof *out->part);
    do {
        const struct mpr_holder *owner = &v->owner[at->row - v->row];
        struct mpr_line_part *part = &out->part[out->parts];
        if (v->by == MPR_GROUP_THREAD)
            *part = (struct mpr_line_part){ .kind = MPR_PART_THREAD, .number = owner->thread };
        else if (owner->node)
            *part = (struct mpr_line_part){ .kind = MPR_PART_NODE,
                                            .number = n->of_node[owner->node]
                                                          ? n->of_node[owner->node] - 1
                                                          : 0 };
        else if (owner->python)
            *part = (struct mpr_line_part){ .kind = MPR_PART_PYTHON,
                                            .number = n->of_python[owner->python] };
        else
            *part = (struct mpr_line_part){ .kind = MPR_PART_NATIVE,
                                            .number = n->of_native[owner->native] };
        if (v->by != MPR_GROUP_THREAD && !part->number) continue;
        const struct mpr_line whole = mpr_line_of(at->row),
                              own = mpr_naming_line(l->arena, l->naming, v->by, at->row);
        part->how = is_same(&own, line)     ? MPR_SHOWN_AS_LINE
                    : is_same(&own, &whole) ? MPR_SHOWN_WHOLE
                                            : MPR_SHOWN_ITSELF;
        if (part->how == MPR_SHOWN_ITSELF) part->shown = short_path(n, &own);
        out->parts++;
    } while ((at = at->next) != line->link);
}

static void fill_view(const struct mpr_owner_lines *l, const struct view *v,
                      struct mpr_numbering *n, struct mpr_heap_view *out)
{
    out->line = mpr_arena_alloc(l->arena, v->lines * sizeof *out->line);
    for (size_t i = 0; i < v->lines; i++) {
        const struct mpr_line *line = &v->line[i], whole = mpr_line_of(line->link->row);
        struct mpr_view_line *to = &out->line[out->lines];
        if (line->rows == 1 && is_same(line, &whole)) continue; /* the page can name it alone */
        *to = (struct mpr_view_line){ .rows = line->rows,
                                      .bytes = line->row.bytes,
                                      .blocks = line->row.blocks,
                                      .error = mpr_variance_error(&line->row.variance),
                                      .about = line->row.estimated,
                                      .sibling_least = line->sibling_least,
                                      .sibling_most = line->sibling_most,
                                      .open = v->open[i],
                                      .parts_open = v->parts_open[i] };
        fill_parts(l, v, line, n, to);
        if (!to->parts) continue;
        to->shown = short_path(n, line);
        out->lines++;
    }
}

void mpr_owner_lines_fill(const struct mpr_owner_lines *l, struct mpr_numbering *n,
                          struct mpr_heap_timeline *out)
{
    out->peak_line = l->view[MPR_VIEW_AUTO].line;
    out->peak_lines = l->view[MPR_VIEW_AUTO].live;
    for (enum mpr_view i = 0; i < MPR_LINE_VIEWS; i++) fill_view(l, &l->view[i], n, &out->view[i]);
}
