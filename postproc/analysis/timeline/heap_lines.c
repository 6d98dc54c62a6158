#include "heap_lines.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "labels.h"
#include "maker.h"
#include "naming.h"

/* One way to stack the heap. */
struct view {
    enum mpr_group by;
    struct mpr_holder *who; /* by row; largest first */
    struct mpr_row *row;
    size_t rows;
    bool estimated; /* the log has samples of the blocks only */
    struct mpr_line *line;
    bool *open, *parts_open; /* by line */
    size_t lines, live;      /* live: of these hold bytes at the peak */
    uint32_t *line_of;       /* by place: line + 1 */
};

struct mpr_heap_lines {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    const struct mpr_naming *naming;
    bool by_native; /* AUTO's last resort; else libraries */
    size_t places;
    struct view view[MPR_TOLD_VIEWS];
};

/* ---- who: what a block counts to */

static struct mpr_holder who(const struct mpr_heap_lines *l, enum mpr_view view,
                             const struct mpr_band *of)
{
    switch (view) {
    case MPR_VIEW_RANGE: return (struct mpr_holder){ .node = of->node };
    case MPR_VIEW_PYTHON: return (struct mpr_holder){ .python = of->python };
    case MPR_VIEW_STACK: return (struct mpr_holder){ .native = of->native };
    case MPR_VIEW_THREAD: return (struct mpr_holder){ .thread = of->thread };
    default: break;
    }
    if (of->node) return (struct mpr_holder){ .node = of->node };
    if (of->python) return (struct mpr_holder){ .python = of->python };
    if (l->by_native) return (struct mpr_holder){ .native = of->native };
    return (struct mpr_holder){ .library = of->library };
}

/* Ranges and Python stacks have numbers of one tree; behind these native stacks, libraries or
 * threads. */
static size_t place_of(const struct mpr_heap_lines *l, const struct mpr_holder *w)
{
    const uint32_t behind = w->native | w->library | w->thread;
    return behind ? l->reader->replay.ranges.nodes + behind : w->node | w->python;
}

static struct mpr_band block_of(const struct mpr_replay *r, const struct mpr_cell *cell)
{
    const struct mpr_site site = mpr_sites_of(&r->sites, cell->site);
    const struct mpr_all all = mpr_all_of(cell->key);
    return (struct mpr_band){ .node = all.node,
                              .thread = all.thread,
                              .python = site.python,
                              .native = site.stack,
                              .library = mpr_sites_library(&r->sites, site.stack) };
}

/* ---- rows */

/* In the order of replay's numbers, so that equal rows have one order. */
static int by_bytes(const void *left, const void *right)
{
    const struct mpr_holder *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if ((a->node | a->python) != (b->node | b->python))
        return (a->node | a->python) < (b->node | b->python) ? -1 : 1;
    if (a->library != b->library) return a->library < b->library ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return a->native < b->native ? -1 : a->native > b->native;
}

static void add_cell(const struct mpr_books *books, const struct mpr_cell *cell,
                     struct mpr_holder *sum)
{
    sum->bytes += mpr_books_bytes_at_peak(books, cell);
    sum->blocks += mpr_books_blocks_at_peak(books, cell);
    sum->allocations += cell->allocations;
}

/* Blocks that samples stand for, where nothing but samples is in the log. */
struct more {
    double blocks, allocations;
};

static void add_more(const struct mpr_replay *r, uint32_t cell, struct more *sum)
{
    uint64_t samples;
    if (cell >= r->estimates.cells) return;
    sum->blocks += mpr_estimates_at_peak(&r->estimates, &r->books, cell, &samples).blocks;
    sum->allocations += r->estimates.cell[cell].allocations;
}

/* In whole blocks as peaks has them, whose rows come in this order, too (held.c). */
static void count_more(struct mpr_holder *who, const struct more *more, uint32_t rows)
{
    struct more lack = { 0 };
    for (uint32_t i = 0; i < rows; i++) {
        who[i].blocks += mpr_estimates_whole(more[i].blocks, &lack.blocks);
        who[i].allocations += mpr_estimates_whole(more[i].allocations, &lack.allocations);
    }
}

/* Ranges have all of their blocks, but where others are not recorded at all. */
static bool is_at_least(const struct mpr_replay *r, const struct mpr_cell *cell,
                        const struct mpr_holder *w)
{
    const bool calls = !w->node && (w->python || w->native || w->library);
    return mpr_label_is_sampled(r, cell) && (calls || mpr_replay_samples_host(r));
}

static void sum_cells(struct mpr_heap_lines *l, enum mpr_view view, uint8_t heap)
{
    const struct mpr_replay *r = &l->reader->replay;
    struct view *v = &l->view[view];
    uint32_t *row_of = mpr_alloc(l->places, sizeof *row_of), cap = 0, rows = 0;
    struct mpr_holder *sum = NULL;
    struct more *more = NULL;
    uint32_t mores = 0;
    for (uint32_t i = 0; i < r->books.cells; i++) {
        const struct mpr_cell *cell = &r->books.cell[i];
        if (cell->heap != heap) continue;
        const struct mpr_band of = block_of(r, cell);
        const struct mpr_holder w = who(l, view, &of);
        uint32_t *row = &row_of[place_of(l, &w)];
        if (!*row) {
            MPR_GROW(sum, rows, cap);
            sum[rows] = w;
            *row = ++rows;
        }
        add_cell(&r->books, cell, &sum[*row - 1]);
        sum[*row - 1].at_least |= is_at_least(r, cell, &w);
        MPR_REACH(more, *row - 1, mores);
        if (heap == MPF_HEAP_PYTHON) add_more(r, i, &more[*row - 1]);
    }
    count_more(sum, more, rows);
    v->estimated = heap == MPF_HEAP_PYTHON;
    v->rows = rows;
    v->who = mpr_arena_alloc(l->arena, rows * sizeof *v->who);
    if (rows) memcpy(v->who, sum, rows * sizeof *v->who);
    if (rows) qsort(v->who, rows, sizeof *v->who, by_bytes);
    free(sum);
    free(more);
    free(row_of);
}

static struct mpr_path path_of(const struct mpr_heap_lines *l, enum mpr_group by,
                               const struct mpr_holder *w)
{
    const struct mpr_replay *r = &l->reader->replay;
    if (w->native) return mpr_label_stack(l->arena, l->reader, w->native);
    if (by != MPR_GROUP_THREAD && !w->library)
        return mpr_label_node(l->arena, l->reader, w->node | w->python);
    const struct mpr_frame **name = mpr_arena_alloc(l->arena, sizeof *name);
    *name = w->library ? mpr_label_library_frame(l->arena, r, w->library)
                       : mpr_label_maker_frame(l->arena, r, w->thread);
    return (struct mpr_path){ name, 1 };
}

static void name_rows(struct mpr_heap_lines *l, struct view *v)
{
    v->row = mpr_arena_alloc(l->arena, v->rows * sizeof *v->row);
    for (size_t i = 0; i < v->rows; i++) {
        struct mpr_row *row = &v->row[i];
        *row = (struct mpr_row){ .bytes = v->who[i].bytes,
                                 .blocks = v->who[i].blocks,
                                 .estimated = v->estimated,
                                 .at_least = v->who[i].at_least,
                                 .allocations = v->who[i].allocations };
        row->path = path_of(l, v->by, &v->who[i]);
    }
}

/* ---- lines */

static void number_rows(struct mpr_heap_lines *l, struct view *v, uint32_t number)
{
    const struct mpr_row_link *first = v->line[number - 1].link, *at = first;
    do v->line_of[place_of(l, &v->who[at->row - v->row])] = number;
    while ((at = at->next) != first);
}

static void make_lines(struct mpr_heap_lines *l, struct view *v)
{
    size_t all;
    v->line = mpr_naming_lines(l->arena, l->naming, v->by, v->row, v->rows, &all, &v->live);
    v->lines =
        v->live + mpr_naming_fold(l->arena, l->naming, v->by, v->line + v->live, all - v->live);
    v->open = mpr_arena_alloc(l->arena, v->lines * sizeof *v->open);
    v->parts_open = mpr_arena_alloc(l->arena, v->lines * sizeof *v->parts_open);
    v->line_of = mpr_arena_alloc(l->arena, l->places * sizeof *v->line_of);
    for (size_t i = 0; i < v->lines; i++) number_rows(l, v, (uint32_t)i + 1);
}

static enum mpr_group group_of(const struct mpr_heap_lines *l, enum mpr_view view)
{
    static const enum mpr_group by[MPR_TOLD_VIEWS] = { MPR_GROUP_AUTO, MPR_GROUP_RANGE,
                                                       MPR_GROUP_PYTHON, MPR_GROUP_STACK,
                                                       MPR_GROUP_THREAD };
    return view == MPR_VIEW_AUTO && l->by_native ? MPR_GROUP_STACK : by[view];
}

static size_t most_behind(const struct mpr_replay *r)
{
    size_t most = (size_t)r->sites.libraries + 1;
    if (r->sites.stacks.nodes > most) most = r->sites.stacks.nodes;
    return r->threads.count > most ? r->threads.count : most;
}

struct mpr_heap_lines *mpr_heap_lines_make(struct mpr_timeline *t, const struct mpr_reader *reader,
                                           uint8_t heap)
{
    const struct mpr_replay *r = &reader->replay;
    struct mpr_heap_lines *l = mpr_arena_alloc(&t->arena, sizeof *l);
    *l = (struct mpr_heap_lines){ .arena = &t->arena,
                                  .reader = reader,
                                  .naming = t->options.naming,
                                  .by_native = t->best.by == MPR_GROUP_STACK };
    l->places = r->ranges.nodes + most_behind(r) + 1;
    for (enum mpr_view i = 0; i < MPR_TOLD_VIEWS; i++) {
        struct view *v = &l->view[i];
        v->by = group_of(l, i);
        sum_cells(l, i, heap);
        name_rows(l, v);
        make_lines(l, v);
    }
    return l;
}

uint32_t mpr_heap_lines_find(const struct mpr_heap_lines *l, enum mpr_view view,
                             const struct mpr_band *of)
{
    const struct mpr_holder w = who(l, view, of);
    return l->view[view].line_of[place_of(l, &w)];
}

size_t mpr_heap_lines_rows(const struct mpr_heap_lines *l, enum mpr_view view, uint32_t number)
{
    return number ? l->view[view].line[number - 1].rows : 0;
}

void mpr_heap_lines_hide(struct mpr_heap_lines *l, enum mpr_view view, uint32_t number, bool whole)
{
    if (!number) return;
    l->view[view].open[number - 1] |= whole;
    l->view[view].parts_open[number - 1] = true;
}

const struct mpr_holder *mpr_heap_lines_holders(const struct mpr_heap_lines *l, size_t *holders)
{
    const struct view *v = &l->view[MPR_VIEW_AUTO];
    for (*holders = 0; *holders < v->rows && v->who[*holders].bytes;) ++*holders;
    return v->who;
}

/* ---- the result */

static struct mpr_told_path told_of(struct mpr_callers *callers, const struct mpr_line *line)
{
    struct mpr_told_path told = { .path = mpr_callers_path(callers, line->row.path) };
    if (*line->caller)
        told.caller = mpr_callers_frame(
                          callers, mpr_frame_named(callers->arena, MPR_FRAME_LABEL, line->caller)) +
                      1;
    return told;
}

static bool is_same(const struct mpr_line *a, const struct mpr_line *b)
{
    return mpr_row_by_path(&a->row, &b->row) == 0 && strcmp(a->caller, b->caller) == 0;
}

/* False: the result does not speak of it. */
static bool number_part(enum mpr_group by, const struct mpr_holder *w, const struct mpr_tree *tree,
                        const struct mpr_callers *callers, struct mpr_line_part *part)
{
    part->kind = by == MPR_GROUP_THREAD ? MPR_PART_THREAD
                 : w->node              ? MPR_PART_NODE
                 : w->python            ? MPR_PART_PYTHON
                                        : MPR_PART_NATIVE;
    part->number = w->thread;
    if (by == MPR_GROUP_THREAD) return true;
    if (w->node) part->number = tree->number[w->node] ? tree->number[w->node] - 1 : 0;
    else if (w->python) part->number = callers->of_python[w->python];
    else part->number = w->native ? callers->of_native[w->native] : 0;
    return part->number != 0;
}

static void tell_part(const struct mpr_heap_lines *l, const struct view *v,
                      const struct mpr_line *line, const struct mpr_row *row,
                      struct mpr_callers *callers, struct mpr_line_part *part)
{
    const struct mpr_line whole = mpr_line_of(row),
                          own = mpr_naming_line(l->arena, l->naming, v->by, row);
    part->how = is_same(&own, line)     ? MPR_TOLD_AS_LINE
                : is_same(&own, &whole) ? MPR_TOLD_WHOLE
                                        : MPR_TOLD_ITSELF;
    if (part->how == MPR_TOLD_ITSELF) part->told = told_of(callers, &own);
}

static void fill_parts(const struct mpr_heap_lines *l, const struct view *v,
                       const struct mpr_line *line, const struct mpr_tree *tree,
                       struct mpr_callers *callers, struct mpr_heap_line_of_view *out)
{
    const struct mpr_row_link *at = line->link;
    out->part = mpr_arena_alloc(l->arena, line->rows * sizeof *out->part);
    do {
        struct mpr_line_part *part = &out->part[out->parts];
        if (!number_part(v->by, &v->who[at->row - v->row], tree, callers, part)) continue;
        tell_part(l, v, line, at->row, callers, part);
        out->parts++;
    } while ((at = at->next) != line->link);
}

/* What is one row by its whole path the page can tell itself. */
static bool is_plain(const struct mpr_line *line)
{
    const struct mpr_line whole = mpr_line_of(line->link->row);
    return line->rows == 1 && is_same(line, &whole);
}

static void fill_line(const struct mpr_heap_lines *l, const struct view *v, size_t i,
                      const struct mpr_tree *tree, struct mpr_callers *callers,
                      struct mpr_heap_view *out)
{
    const struct mpr_line *line = &v->line[i];
    struct mpr_heap_line_of_view *to = &out->line[out->lines];
    *to = (struct mpr_heap_line_of_view){ .rows = line->rows,
                                          .bytes = line->row.bytes,
                                          .blocks = line->row.blocks,
                                          .allocations = line->row.allocations,
                                          .sibling_least = line->sibling_least,
                                          .sibling_most = line->sibling_most,
                                          .open = v->open[i],
                                          .parts_open = v->parts_open[i] };
    fill_parts(l, v, line, tree, callers, to);
    if (!to->parts) return;
    to->told = told_of(callers, line);
    out->lines++;
}

void mpr_heap_lines_fill(const struct mpr_heap_lines *l, const struct mpr_tree *tree,
                         struct mpr_callers *callers, struct mpr_heap_line *out)
{
    out->held = l->view[MPR_VIEW_AUTO].line;
    out->helds = l->view[MPR_VIEW_AUTO].live;
    for (enum mpr_view i = 0; i < MPR_TOLD_VIEWS; i++) {
        const struct view *v = &l->view[i];
        out->view[i].line = mpr_arena_alloc(l->arena, v->lines * sizeof *out->view[i].line);
        for (size_t k = 0; k < v->lines; k++)
            if (!is_plain(&v->line[k])) fill_line(l, v, k, tree, callers, &out->view[i]);
    }
}
