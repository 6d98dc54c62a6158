/* Bands are summed vectors: for each bucket, the bands whose cells changed get their new sum. Cells
 * of one key and call stack are one unit.  A series of bands is one of cells whose groups are
 * bands. */
#include "timeline_parts.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "heap_lines.h"
#include "index.h"
#include "labels.h"
#include "maker.h"
#include "pieces.h"
#include "splice.h"

struct unit {
    uint64_t bytes, largest;
    uint32_t cell, library, native, python, band;
};

struct folding {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    const struct mpr_replay *r; /* its */
    struct mpr_heap_line *out;
    size_t limit;
    struct unit *unit, **rank; /* of the heap; those that held anything */
    uint32_t units, ranks;
    uint32_t *unit_of;       /* by cell */
    struct mpr_index number; /* of units by hash of (key, native, python): unit + 1 */
    uint64_t *cell_bytes, *band_bytes;
    size_t *touched;          /* by band: index of its change in the bucket being written, + 1 */
    struct mpr_series series; /* of bands */
    struct mpr_excerpt_series *excerpt; /* in order of `from` */
    size_t excerpts;
};

static void begin(struct folding *f)
{
    const size_t cells = f->r->books.cells;
    f->unit = mpr_alloc(cells, sizeof *f->unit);
    f->rank = mpr_alloc(cells, sizeof *f->rank);
    f->unit_of = mpr_alloc(cells, sizeof *f->unit_of);
    f->cell_bytes = mpr_alloc(cells, sizeof *f->cell_bytes);
    f->band_bytes = mpr_alloc(f->limit, sizeof *f->band_bytes);
    f->touched = mpr_alloc(f->limit, sizeof *f->touched);
    f->out->band = mpr_arena_alloc(f->arena, f->limit * sizeof *f->out->band);
}

static void release(struct folding *f)
{
    mpr_index_free(&f->number);
    free(f->unit);
    free(f->rank);
    free(f->unit_of);
    free(f->cell_bytes);
    free(f->band_bytes);
    free(f->touched);
    mpr_series_free(&f->series);
    for (size_t i = 0; i < f->excerpts; i++) mpr_series_free(&f->excerpt[i].series);
    free(f->excerpt);
}

/* ---- units */

static uint32_t unit_of(struct folding *f, uint32_t index)
{
    const struct mpr_cell *cell = &f->r->books.cell[index];
    const struct mpr_site site = mpr_sites_of(&f->r->sites, cell->site);
    const struct unit wanted = { .cell = index,
                                 .library = mpr_sites_library(&f->r->sites, site.stack),
                                 .native = site.stack,
                                 .python = site.python };
    const uint64_t hash = mpr_hash(cell->key) + ((uint64_t)wanted.python << 32 | wanted.native);
    uint32_t number;
    for (struct mpr_probe p = mpr_index_probe(&f->number, hash); (number = mpr_probe_next(&p));) {
        const struct unit *u = &f->unit[number - 1];
        if (f->r->books.cell[u->cell].key == cell->key && u->native == wanted.native &&
            u->python == wanted.python)
            return number - 1;
    }
    f->unit[f->units] = wanted;
    mpr_index_add(&f->number, hash, ++f->units);
    return f->units - 1;
}

static void make_units(struct folding *f, uint8_t heap)
{
    for (uint32_t i = 0; i < f->r->books.cells; i++)
        if (f->r->books.cell[i].heap == heap) f->unit_of[i] = unit_of(f, i);
}

/* ---- excerpts */

static int by_from(const void *left, const void *right)
{
    const struct mpr_excerpt_series *a = left, *b = right;
    return a->from < b->from ? -1 : a->from > b->from;
}

static void make_excerpts(struct folding *f, const struct mpr_excerpts *excerpts, uint8_t heap)
{
    const struct mpr_excerpt(*kept)[MPR_EXCERPTS_KEPT] = excerpts->heap[heap].kept;
    f->excerpt = mpr_alloc(MPR_EXCERPT_KINDS * MPR_EXCERPTS_KEPT, sizeof *f->excerpt);
    for (int k = 0; k < MPR_EXCERPT_KINDS; k++) {
        for (int i = 0; i < MPR_EXCERPTS_KEPT; i++) {
            if (!kept[k][i].change) continue;
            mpr_excerpt_replay(&kept[k][i], &f->r->books, heap, &f->excerpt[f->excerpts++]);
        }
    }
    qsort(f->excerpt, f->excerpts, sizeof *f->excerpt, by_from);
}

/* ---- which units have a band of their own */

static int by_largest(const void *left, const void *right)
{
    const struct unit *a = *(struct unit *const *)left, *b = *(struct unit *const *)right;
    if (a->largest != b->largest) return a->largest > b->largest ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

static void weigh_units(struct folding *f, const struct mpr_series *s)
{
    memset(f->cell_bytes, 0, f->r->books.cells * sizeof *f->cell_bytes);
    for (uint32_t i = 0; i < f->units; i++) f->unit[i].bytes = 0;
    for (size_t i = 0; i < s->changes; i++) {
        const struct mpr_change *c = &s->change[i];
        struct unit *u = &f->unit[f->unit_of[c->group]];
        u->bytes += c->bytes - f->cell_bytes[c->group];
        f->cell_bytes[c->group] = c->bytes;
        if (u->bytes > u->largest) u->largest = u->bytes;
    }
}

static void rank_units(struct folding *f, const struct mpr_series *s)
{
    weigh_units(f, s);
    for (size_t i = 0; i < f->excerpts; i++) weigh_units(f, &f->excerpt[i].series);
    for (uint32_t i = 0; i < f->units; i++)
        if (f->unit[i].largest) f->rank[f->ranks++] = &f->unit[i];
    if (f->ranks) qsort(f->rank, f->ranks, sizeof *f->rank, by_largest);
}

static struct mpr_band band_of(const struct folding *f, enum mpr_band_kind kind,
                               const struct unit *u)
{
    const struct mpr_cell *c = &f->r->books.cell[u->cell];
    const struct mpr_all all =
        f->r->options.by == MPR_GROUP_ALL ? mpr_all_of(c->key) : (struct mpr_all){ 0 };
    return (struct mpr_band){ .kind = kind,
                              .node = all.node,
                              .thread = all.thread,
                              .class = all.class,
                              .library = u->library,
                              .at_least = mpr_label_at_least(f->r, c) };
}

static uint32_t add_band(struct folding *f, enum mpr_band_kind kind, const struct unit *u)
{
    struct mpr_band *band = &f->out->band[f->out->bands];
    *band = band_of(f, kind, u);
    if (kind == MPR_BAND_ONE || kind == MPR_BAND_FOLD) band->native = u->native;
    if (kind == MPR_BAND_ONE || !band->node) band->python = u->python;
    if (kind != MPR_BAND_OTHER)
        band->path = mpr_label_path(f->arena, f->reader, &f->r->books.cell[u->cell]);
    return (uint32_t)f->out->bands++;
}

/* A unit as a block that is its. */
static struct mpr_band block_of(const struct folding *f, enum mpr_band_kind kind,
                                const struct unit *u)
{
    struct mpr_band of = band_of(f, kind, u);
    of.native = u->native;
    of.python = u->python;
    return of;
}

/* Many small units of a range (or Python stack) and library share one band. */
static uint32_t small_band(struct folding *f, const struct unit *u)
{
    const uint32_t node = mpr_all_of(f->r->books.cell[u->cell].key).node,
                   python = node ? 0 : u->python;
    for (uint32_t i = 0; i < f->out->bands; i++) {
        const struct mpr_band *band = &f->out->band[i];
        if (band->kind == MPR_BAND_SMALL && band->node == node && band->library == u->library &&
            band->python == python)
            return i;
    }
    return f->out->bands < f->limit * 7 / 8 ? add_band(f, MPR_BAND_SMALL, u) : UINT32_MAX;
}

static bool is_one_line(const struct folding *f, const struct mpr_band *a, const struct mpr_band *b)
{
    for (enum mpr_view v = MPR_VIEW_AUTO; v <= MPR_VIEW_RANGE; v++)
        if (mpr_heap_lines_find(f->out->lines, v, a) != mpr_heap_lines_find(f->out->lines, v, b))
            return false;
    return a->library == b->library;
}

/* Of a line of many rows those that find no room; the last band is kept for what is of none. */
static uint32_t fold_band(struct folding *f, const struct unit *u)
{
    const struct mpr_band of = block_of(f, MPR_BAND_FOLD, u);
    const uint32_t line = mpr_heap_lines_find(f->out->lines, MPR_VIEW_AUTO, &of);
    if (mpr_heap_lines_rows(f->out->lines, MPR_VIEW_AUTO, line) < 2) return UINT32_MAX;
    for (uint32_t i = 0; i < f->out->bands; i++)
        if (f->out->band[i].kind == MPR_BAND_FOLD && is_one_line(f, &f->out->band[i], &of))
            return i;
    return f->out->bands < f->limit - 1 ? add_band(f, MPR_BAND_FOLD, u) : UINT32_MAX;
}

static uint32_t shared_band(struct folding *f, const struct unit *u)
{
    if (f->r->options.by != MPR_GROUP_ALL) return UINT32_MAX;
    const uint32_t band = small_band(f, u);
    return band == UINT32_MAX ? fold_band(f, u) : band;
}

static void choose_bands(struct folding *f)
{
    const size_t alone = f->r->options.by == MPR_GROUP_ALL ? f->limit * 5 / 8 : f->limit - 1;
    uint32_t other = UINT32_MAX;
    for (size_t i = 0; i < f->ranks; i++) {
        struct unit *u = f->rank[i];
        u->band = i < alone ? add_band(f, MPR_BAND_ONE, u) : shared_band(f, u);
        if (u->band == UINT32_MAX && other == UINT32_MAX) other = add_band(f, MPR_BAND_OTHER, u);
        if (u->band == UINT32_MAX) u->band = other;
    }
}

/* Blocks that were never there when a heap was largest: no vector has them, but they came and went.
 */
static void house_brief_units(struct folding *f)
{
    uint32_t other = UINT32_MAX;
    for (uint32_t i = 0; i < f->out->bands; i++)
        if (f->out->band[i].kind == MPR_BAND_OTHER) other = i;
    for (uint32_t i = 0; i < f->units; i++) {
        struct unit *u = &f->unit[i];
        if (u->largest) continue;
        u->band = shared_band(f, u);
        if (u->band == UINT32_MAX && other == UINT32_MAX) other = add_band(f, MPR_BAND_OTHER, u);
        if (u->band == UINT32_MAX) u->band = other;
    }
}

/* Their bands are the flows'. */
static void fill_flows(struct folding *f, struct mpr_timeline *timeline, uint8_t heap)
{
    const struct mpr_flow_heap *flows = f->r->flows ? f->r->flows->heap[heap] : NULL;
    if (!flows) return;
    for (uint32_t i = 0; i < f->r->books.cells; i++)
        if (f->r->books.cell[i].heap == heap) f->unit_of[i] = f->unit[f->unit_of[i]].band;
    mpr_band_flows_fill(timeline, flows, f->unit_of, f->out);
}

/* Names that are in bands of their own and in others, too. */
static void tell_pieces(struct folding *f, enum mpr_group best)
{
    struct mpr_pieces pieces;
    if (f->r->options.by != MPR_GROUP_ALL) return;
    mpr_pieces_init(&pieces, f->arena, f->reader, best);
    for (size_t i = 0; i < f->ranks; i++) {
        const struct unit *u = f->rank[i];
        const struct mpr_band of = block_of(f, f->out->band[u->band].kind, u);
        if (of.kind != MPR_BAND_ONE) mpr_pieces_hide(&pieces, f->out->lines, &of);
    }
    for (size_t i = 0; i < f->out->bands; i++) mpr_pieces_tell(&pieces, &f->out->band[i]);
    mpr_pieces_free(&pieces);
}

/* ---- the bands' vectors */

static void change_band(struct folding *f, struct mpr_series *out, uint32_t cell, uint64_t bytes,
                        size_t first)
{
    const uint32_t band = f->unit[f->unit_of[cell]].band;
    f->band_bytes[band] += bytes - f->cell_bytes[cell];
    f->cell_bytes[cell] = bytes;
    if (f->band_bytes[band] > f->out->band[band].largest)
        f->out->band[band].largest = f->band_bytes[band];
    if (f->touched[band] > first) return;
    f->touched[band] = out->changes + 1;
    mpr_series_change(out, band, 0);
}

static void forget_vectors(struct folding *f)
{
    memset(f->cell_bytes, 0, f->r->books.cells * sizeof *f->cell_bytes);
    memset(f->band_bytes, 0, f->limit * sizeof *f->band_bytes);
    memset(f->touched, 0, f->limit * sizeof *f->touched);
}

/* A series of cells as one of bands. */
static void fold(struct folding *f, const struct mpr_series *s, struct mpr_series *out)
{
    size_t at = 0;
    forget_vectors(f);
    out->shift = s->shift;
    for (size_t i = 0; i < s->buckets; i++) {
        const size_t first = out->changes;
        for (; at < s->bucket[i].end; at++)
            change_band(f, out, s->change[at].group, s->change[at].bytes, first);
        for (size_t k = first; k < out->changes; k++)
            out->change[k].bytes = f->band_bytes[out->change[k].group];
        mpr_series_bucket(out, &s->bucket[i]);
    }
}

static void fold_excerpts(struct folding *f)
{
    for (size_t i = 0; i < f->excerpts; i++) {
        struct mpr_series bands = { 0 }, *cells = &f->excerpt[i].series;
        fold(f, cells, &bands);
        mpr_series_free(cells);
        *cells = bands;
    }
}

static void widen(struct folding *f, const struct mpr_timeline_options *o)
{
    const uint64_t upto = o->to < f->r->now ? o->to : f->r->now;
    while (f->series.changes > o->changes && f->series.buckets > 1)
        mpr_series_widen(&f->series, 1, upto, f->touched);
}

/* No more bands than there can be units, and one for the rest; of a page, whose small units share
 * bands, as many as it may have. */
static size_t most_bands(const struct mpr_timeline_options *o, const struct mpr_replay *r)
{
    const size_t all = (size_t)r->books.cells + 1;
    return o->by == MPR_GROUP_ALL || o->bands < all ? o->bands : all;
}

void mpr_bands_fill(struct mpr_timeline *timeline, const struct mpr_reader *reader,
                    const struct mpr_levels *levels, uint8_t heap, struct mpr_heap_line *out)
{
    const struct mpr_replay *r = &reader->replay;
    struct folding f = { .arena = &timeline->arena,
                         .reader = reader,
                         .r = r,
                         .out = out,
                         .limit = most_bands(&timeline->options, r) };
    const struct mpr_series *s = &levels->level[heap].series;
    /* where every change has a bucket, there is nothing that excerpts could add */
    const bool whole = !r->books.excerpts || (!s->shift && s->changes <= timeline->options.changes);
    begin(&f);
    if (!whole) make_excerpts(&f, r->books.excerpts, heap);
    make_units(&f, heap);
    rank_units(&f, s);
    choose_bands(&f);
    if (r->flows) house_brief_units(&f);
    tell_pieces(&f, timeline->best.by);
    fold(&f, s, &f.series);
    fold_excerpts(&f);
    widen(&f, &timeline->options);
    const struct mpr_splice splice = { &f.series, f.excerpt, f.excerpts, out->bands };
    mpr_splice_fill(&splice, f.arena, out);
    fill_flows(&f, timeline, heap);
    release(&f);
}
