/* The owners of a heap are its cells; no two have the same key and call stacks. Each owner
 * belongs to a band. The series of a heap's cells becomes a series of its bands: each bucket has
 * the new bytes of those bands of which a cell changed.
 * In a heap with estimates there are three numbers instead of the bytes (levels.h). All cells of
 * a band have the same facts, so that the page can scale the estimates in each grouping. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "amount.h"
#include "index.h"
#include "labels.h"
#include "timeline_parts.h"

#define NO_BAND UINT32_MAX

struct owner {
    uint64_t largest; /* bytes, including those that its samples represent */
    uint32_t cell, library, native, python;
    uint32_t facts; /* as of a band */
};

struct band_maker {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    const struct mpr_replay *r; /* the reader's */
    struct mpr_heap_timeline *out;
    bool all;                              /* small owners share bands (by MPR_GROUP_ALL) */
    size_t limit;                          /* of bands, without the bands for all other owners */
    const struct mpr_estimates *estimates; /* or NULL */
    uint32_t numbers;                      /* per cell in a series (levels.h) */
    struct owner *owner, **sorted; /* by cell; sorted: owners with any bytes, largest first */
    uint32_t owners;
    uint32_t *band_of;                  /* by cell */
    uint64_t *cell_bytes, *band_bytes;  /* by group of the series: the newest numbers */
    size_t *touched;                    /* by group of bands: its newest change, as index + 1 */
    struct mpr_series series;           /* of bands */
    struct mpr_excerpt_series *excerpt; /* in order of `from` */
    size_t excerpts;
};

/* ---- owners */

MPR_COMPARE(by_from, struct mpr_excerpt_series, mpr_compare(a->from, b->from))

static void make_excerpts(struct band_maker *m, const struct mpr_excerpts *excerpts, uint8_t heap)
{
    const struct mpr_excerpt(*kept)[MPR_EXCERPTS_KEPT] = excerpts->heap[heap].kept;
    m->excerpt = mpr_alloc(MPR_EXCERPT_KINDS * MPR_EXCERPTS_KEPT, sizeof *m->excerpt);
    for (int k = 0; k < MPR_EXCERPT_KINDS; k++) {
        for (int i = 0; i < MPR_EXCERPTS_KEPT; i++) {
            if (!kept[k][i].change) continue;
            mpr_excerpt_replay(&kept[k][i], &m->r->accounts, m->estimates, heap,
                               &m->excerpt[m->excerpts++]);
        }
    }
    qsort(m->excerpt, m->excerpts, sizeof *m->excerpt, by_from);
}

static void clear_cells(struct band_maker *m)
{
    memset(m->cell_bytes, 0, m->r->accounts.cells * m->numbers * sizeof *m->cell_bytes);
}

/* Finds the maximum of each owner in the series. */
static void weigh_owners(struct band_maker *m, const struct mpr_series *s)
{
    clear_cells(m);
    for (size_t i = 0; i < s->changes; i++) {
        const uint32_t group = s->change[i].group, number = group % m->numbers;
        const uint64_t *of_cell = &m->cell_bytes[group - number];
        struct owner *owner = &m->owner[group / m->numbers];
        if (number == MPR_LEVELS_VARIANCE) continue;
        m->cell_bytes[group] = s->change[i].bytes;
        const uint64_t bytes = of_cell[0] + (m->numbers > 1 ? of_cell[MPR_LEVELS_MORE] : 0);
        if (bytes > owner->largest) owner->largest = bytes;
    }
}

MPR_COMPARE(by_largest, struct owner *,
            mpr_compare((*b)->largest, (*a)->largest) ?: mpr_compare((*a)->cell, (*b)->cell))

static void sort_owners(struct band_maker *m, const struct mpr_series *s, uint8_t heap)
{
    const struct mpr_replay *r = m->r;
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (cell->heap != heap) continue;
        const struct mpr_site site = mpr_sites_of(&r->sites, cell->site);
        const uint32_t library = mpr_sites_library(&r->sites, site.stack);
        uint32_t facts = (uint32_t)mpr_counted_totals_is(&r->totals, &r->accounts, cell)
                         << MPR_BAND_COUNTED;
        if (m->out->sample_mean)
            facts |= (uint32_t)(mpr_composite_key_unpack(cell->key).node != 0)
                         << MPR_BAND_IN_RANGE |
                     (uint32_t)(site.python != 0) << MPR_BAND_HAS_PYTHON |
                     (uint32_t)(site.stack != 0) << MPR_BAND_HAS_NATIVE |
                     (uint32_t)(library != 0) << MPR_BAND_HAS_LIBRARY |
                     (uint32_t)mpr_estimates_is_sampled(&r->estimates, i) << MPR_BAND_SAMPLED;
        m->owner[i] = (struct owner){ .cell = i,
                                      .library = library,
                                      .native = site.stack,
                                      .python = site.python,
                                      .facts = facts };
    }
    weigh_owners(m, s);
    for (size_t i = 0; i < m->excerpts; i++) weigh_owners(m, &m->excerpt[i].series);
    for (uint32_t i = 0; i < r->accounts.cells; i++)
        if (m->owner[i].largest) m->sorted[m->owners++] = &m->owner[i];
    if (m->owners) qsort(m->sorted, m->owners, sizeof *m->sorted, by_largest);
}

/* ---- bands */

/* Returns a band of that kind with all facts about the owner's blocks. */
static struct mpr_band block_of(const struct band_maker *m, enum mpr_band_kind kind,
                                const struct owner *owner)
{
    const struct mpr_cell *c = &m->r->accounts.cell[owner->cell];
    const struct mpr_composite_key all =
        m->all ? mpr_composite_key_unpack(c->key) : (struct mpr_composite_key){ 0 };
    return (struct mpr_band){ .kind = kind,
                              .node = all.node,
                              .thread = all.thread,
                              .class = all.class,
                              .library = owner->library,
                              .native = owner->native,
                              .python = owner->python,
                              .at_least = mpr_label_at_least(m->r, c),
                              .facts = owner->facts };
}

/* Owners that share a band have the same facts, except whether they are samples. */
static bool has_same_facts(const struct mpr_band *band, const struct owner *owner)
{
    return !((band->facts ^ owner->facts) & ~(UINT32_C(1) << MPR_BAND_SAMPLED));
}

static uint32_t add_band(struct band_maker *m, enum mpr_band_kind kind, const struct owner *owner)
{
    struct mpr_band *band = &m->out->band[m->out->bands];
    *band = block_of(m, kind, owner);
    if (kind != MPR_BAND_ONE && kind != MPR_BAND_FOLD) band->native = 0;
    if (kind != MPR_BAND_ONE && band->node) band->python = 0;
    if (kind != MPR_BAND_OTHER)
        band->path = mpr_label_path(m->arena, m->reader, &m->r->accounts.cell[owner->cell]);
    return (uint32_t)m->out->bands++;
}

/* Returns the band for small owners of the same range (or Python stack) and library, or NO_BAND. */
static uint32_t small_band(struct band_maker *m, const struct owner *owner)
{
    const uint32_t node = mpr_composite_key_unpack(m->r->accounts.cell[owner->cell].key).node,
                   python = node ? 0 : owner->python;
    for (uint32_t i = 0; i < m->out->bands; i++) {
        const struct mpr_band *band = &m->out->band[i];
        if (band->kind == MPR_BAND_SMALL && band->node == node && band->library == owner->library &&
            band->python == python && has_same_facts(band, owner))
            return i;
    }
    return m->out->bands < m->limit * 7 / 8 ? add_band(m, MPR_BAND_SMALL, owner) : NO_BAND;
}

/* Returns the band for owners of the same line, or NO_BAND. The last band is left for all other
 * owners. */
static uint32_t line_band(struct band_maker *m, const struct owner *owner)
{
    const struct mpr_owner_lines *lines = m->out->lines;
    const struct mpr_band block = block_of(m, MPR_BAND_FOLD, owner);
    const uint32_t by_auto = mpr_owner_lines_find(lines, MPR_VIEW_AUTO, &block),
                   by_range = mpr_owner_lines_find(lines, MPR_VIEW_RANGE, &block);
    if (mpr_owner_lines_rows(lines, MPR_VIEW_AUTO, by_auto) < 2) return NO_BAND;
    for (uint32_t i = 0; i < m->out->bands; i++) {
        const struct mpr_band *band = &m->out->band[i];
        if (band->kind == MPR_BAND_FOLD && band->library == block.library &&
            has_same_facts(band, owner) &&
            mpr_owner_lines_find(lines, MPR_VIEW_AUTO, band) == by_auto &&
            mpr_owner_lines_find(lines, MPR_VIEW_RANGE, band) == by_range)
            return i;
    }
    return m->out->bands < m->limit - 1 ? add_band(m, MPR_BAND_FOLD, owner) : NO_BAND;
}

/* Puts the owner into a shared band: that of small owners, else of its line, else of all other
 * owners with the same facts. */
static void share_band(struct band_maker *m, const struct owner *owner)
{
    uint32_t band = m->all ? small_band(m, owner) : NO_BAND;
    if (band == NO_BAND && m->all) band = line_band(m, owner);
    for (uint32_t i = (uint32_t)m->out->bands; band == NO_BAND && i-- > 0;)
        if (m->out->band[i].kind == MPR_BAND_OTHER && has_same_facts(&m->out->band[i], owner))
            band = i;
    if (band == NO_BAND) band = add_band(m, MPR_BAND_OTHER, owner);
    m->out->band[band].facts |= owner->facts;
    m->band_of[owner->cell] = band;
}

static void choose_bands(struct band_maker *m, uint8_t heap)
{
    const size_t alone = m->all ? m->limit * 5 / 8 : m->limit - 1;
    for (size_t i = 0; i < m->owners; i++) {
        if (i < alone) m->band_of[m->sorted[i]->cell] = add_band(m, MPR_BAND_ONE, m->sorted[i]);
        else share_band(m, m->sorted[i]);
    }
    /* flows also need owners that had no bytes at the maximum of any bucket */
    for (uint32_t i = 0; m->r->alloc_free && i < m->r->accounts.cells; i++)
        if (m->r->accounts.cell[i].heap == heap && !m->owner[i].largest)
            share_band(m, &m->owner[i]);
}

/* ---- pieces: bytes with a label may be in a band that does not show the label. Then bands with
 * that label are only a piece of it. The page cuts paths and compares their texts, so the set
 * has the hashes of each hidden path and of all its beginnings. */

enum entry { SEEN, BEGINNING, WHOLE };

static bool has(const struct mpr_index *set, enum entry what, uint64_t hash)
{
    return mpr_index_get(set, mpr_hash(hash + (uint64_t)what));
}

/* Returns false if it was there already. */
static bool insert(struct mpr_index *set, enum entry what, uint64_t hash)
{
    if (has(set, what, hash)) return false;
    mpr_index_add(set, mpr_hash(hash + (uint64_t)what), 1);
    return true;
}

static uint64_t append(uint64_t hash, const char *text)
{
    for (; *text; text++) hash = mpr_hash(hash + (uint8_t)*text);
    return mpr_hash(hash + 256);
}

/* Returns the view of AUTO: the one with the best name of the block. @best: the grouping for
 * AUTO. */
static enum mpr_view best_view(const struct mpr_band *b, enum mpr_group best)
{
    if (b->node || b->python) return b->node ? MPR_VIEW_RANGE : MPR_VIEW_PYTHON;
    return best == MPR_GROUP_STACK ? MPR_VIEW_STACK : MPR_VIEW_LIBRARY;
}

static uint32_t number_in(const struct mpr_band *b, enum mpr_view view)
{
    switch (view) {
    case MPR_VIEW_RANGE: return b->node;
    case MPR_VIEW_PYTHON: return b->python;
    case MPR_VIEW_STACK: return b->native;
    case MPR_VIEW_THREAD: return b->thread;
    case MPR_VIEW_SIZE: return b->class;
    default: return b->library;
    }
}

static struct mpr_path path_in(const struct band_maker *m, const struct mpr_band *b,
                               enum mpr_view view)
{
    if (view == MPR_VIEW_RANGE || view == MPR_VIEW_PYTHON)
        return mpr_label_node(m->arena, m->reader, number_in(b, view));
    if (view == MPR_VIEW_STACK) return mpr_label_stack(m->arena, m->reader, b->native);
    const char *name = view == MPR_VIEW_THREAD ? mpr_label_thread(m->arena, m->r, b->thread)
                       : view == MPR_VIEW_SIZE ? mpr_label_size(m->arena, b->class)
                                               : mpr_sites_library_name(&m->r->sites, b->library);
    return mpr_frame_labels(m->arena, &name, 1);
}

/* Returns true if a band of the block's kind does not show the block's label in the view. */
static bool hides(const struct mpr_band *block, enum mpr_view view, enum mpr_group best)
{
    if (block->kind == MPR_BAND_FOLD) return view != MPR_VIEW_LIBRARY;
    if (block->kind != MPR_BAND_SMALL) return block->kind == MPR_BAND_OTHER;
    if (view == MPR_VIEW_AUTO) return best_view(block, best) == MPR_VIEW_STACK;
    if (view == MPR_VIEW_PYTHON) return block->node != 0;
    return view == MPR_VIEW_STACK || view == MPR_VIEW_THREAD || view == MPR_VIEW_SIZE;
}

/* Adds the labels of a block that its band does not show. A band of several owners of a line
 * does not show the owner, but shows the line. */
static void hide_labels(const struct band_maker *m, struct mpr_index *set, enum mpr_group best,
                        const struct mpr_band *block)
{
    for (enum mpr_view v = 0; v < MPR_VIEWS; v++) {
        const enum mpr_view named = v == MPR_VIEW_AUTO ? best_view(block, best) : v;
        const uint64_t number = (uint64_t)v << 40 | (uint64_t)named << 36 | number_in(block, named);
        uint64_t hash = mpr_hash(v);
        if (!hides(block, v, best)) continue;
        if (v < MPR_LINE_VIEWS)
            mpr_owner_lines_hide(m->out->lines, v, mpr_owner_lines_find(m->out->lines, v, block),
                                 block->kind != MPR_BAND_FOLD || v > MPR_VIEW_RANGE);
        if (!insert(set, SEEN, mpr_hash(number))) continue;
        const struct mpr_path path = path_in(m, block, named);
        for (size_t i = 0; i < path.depth; i++)
            insert(set, BEGINNING, hash = append(hash, path.frame[i]->text));
        insert(set, WHOLE, hash);
    }
}

static void fill_pieces(const struct band_maker *m, enum mpr_group best)
{
    struct mpr_index set = { 0 };
    for (size_t i = 0; i < m->owners; i++) {
        const struct owner *owner = m->sorted[i];
        const struct mpr_band block =
            block_of(m, m->out->band[m->band_of[owner->cell]].kind, owner);
        if (block.kind != MPR_BAND_ONE) hide_labels(m, &set, best, &block);
    }
    for (size_t i = 0; set.count && i < m->out->bands; i++) {
        struct mpr_band *band = &m->out->band[i];
        for (enum mpr_view v = 0; band->kind != MPR_BAND_OTHER && v < MPR_VIEWS; v++) {
            const enum mpr_view named = v == MPR_VIEW_AUTO ? best_view(band, best) : v;
            const struct mpr_path path = path_in(m, band, named);
            size_t shared = 0;
            uint64_t hash = mpr_hash(v);
            for (size_t k = 0; k < path.depth; k++)
                if (has(&set, BEGINNING, hash = append(hash, path.frame[k]->text))) shared = k + 1;
            band->piece[v] = (uint32_t)shared << 1 | has(&set, WHOLE, hash);
        }
    }
    mpr_index_free(&set);
}

/* ---- places at the peak */

MPR_COMPARE(by_place, struct mpr_peak_place,
            mpr_compare(a->node, b->node) ?: mpr_compare(a->python, b->python)
                                          ?: mpr_compare(a->native, b->native))
MPR_COMPARE(by_size, struct mpr_peak_place,
            mpr_compare(b->bytes + b->more, a->bytes + a->more) ?: by_place(a, b))

static void add_place(struct mpr_peak_place *to, const struct mpr_peak_place *more)
{
    to->facts |= more->facts;
    to->bytes += more->bytes;
    to->more += more->more;
    to->variance += more->variance;
}

/* A place is the sum of owners that differ only in thread and size. */
static void fill_places(struct band_maker *m, uint8_t heap, size_t limit)
{
    const struct mpr_accounts *accounts = &m->r->accounts;
    const struct mpr_estimates *e = m->estimates;
    struct mpr_heap_timeline *out = m->out;
    struct mpr_peak_place *all = mpr_alloc(accounts->cells, sizeof *all);
    size_t cells = 0, places = 0;
    for (uint32_t i = 0; i < accounts->cells; i++) {
        const struct mpr_cell *cell = &accounts->cell[i];
        if (cell->heap != heap) continue;
        const struct owner *owner = &m->owner[i];
        struct mpr_peak_place *place = &all[cells++];
        *place = (struct mpr_peak_place){ .node = mpr_composite_key_unpack(cell->key).node,
                                          .python = owner->python,
                                          .native = owner->python ? 0 : owner->native,
                                          .facts = owner->facts,
                                          .bytes = mpr_accounts_at_peak(accounts, cell).bytes };
        if (!out->sample_mean) continue;
        const struct mpr_estimate_state more = mpr_estimates_at_peak(e, accounts, i);
        place->more = (uint64_t)more.bytes;
        place->variance = mpr_estimates_units(e, heap, more.variance);
    }
    if (cells) qsort(all, cells, sizeof *all, by_place);
    for (size_t i = 0; i < cells; i++) {
        if (!all[i].bytes) continue;
        if (places && by_place(&all[places - 1], &all[i]) == 0)
            add_place(&all[places - 1], &all[i]);
        else all[places++] = all[i];
    }
    if (places) qsort(all, places, sizeof *all, by_size);
    out->place = mpr_arena_alloc(m->arena, (limit + 1) * sizeof *out->place);
    for (size_t i = 0; i < places; i++) {
        if (i <= limit) out->place[out->places++] = all[i];
        else add_place(&out->place[limit], &all[i]);
    }
    if (places > limit) out->place[limit].kind = MPR_BAND_OTHER;
    free(all);
}

void mpr_places_number(struct mpr_numbering *n, struct mpr_heap_timeline *out)
{
    for (size_t i = 0; i < out->places; i++) {
        struct mpr_peak_place *p = &out->place[i];
        if (p->kind == MPR_BAND_OTHER || (p->node && !n->of_node[p->node])) {
            p->kind = MPR_BAND_OTHER;
            p->node = p->python = p->native = 0;
        }
        p->node = mpr_numbering_node(n, p->node);
        p->python = mpr_numbering_python(n, p->python);
        p->native = mpr_numbering_native(n, p->native);
    }
}

/* ---- the bands' vectors */

static void sum_series(struct band_maker *m, const struct mpr_series *s, struct mpr_series *out)
{
    const size_t bands = m->out->bands, groups = bands * m->numbers;
    size_t at = 0;
    clear_cells(m);
    memset(m->band_bytes, 0, groups * sizeof *m->band_bytes);
    memset(m->touched, 0, groups * sizeof *m->touched);
    out->shift = s->shift;
    for (size_t i = 0; i < s->buckets; i++) {
        const size_t first = out->changes;
        for (; at < s->bucket[i].end; at++) {
            const uint32_t from = s->change[at].group, number = from % m->numbers,
                           band = m->band_of[from / m->numbers],
                           group = band + number * (uint32_t)bands;
            struct mpr_band *of = &m->out->band[band];
            m->band_bytes[group] += s->change[at].bytes - m->cell_bytes[from];
            m->cell_bytes[from] = s->change[at].bytes;
            if (!number && m->band_bytes[band] > of->largest) of->largest = m->band_bytes[band];
            if (m->touched[group] > first) continue;
            m->touched[group] = out->changes + 1;
            mpr_series_change(out, group, 0);
        }
        for (size_t k = first; k < out->changes; k++)
            out->change[k].bytes = m->band_bytes[out->change[k].group];
        mpr_series_bucket(out, &s->bucket[i]);
    }
}

static void fill_spans(struct band_maker *m, const struct mpr_series *s,
                       const struct mpr_timeline_options *o)
{
    const uint64_t to = o->to < m->r->now ? o->to : m->r->now;
    sum_series(m, s, &m->series);
    for (size_t i = 0; i < m->excerpts; i++) {
        struct mpr_series bands = { 0 }, *cells = &m->excerpt[i].series;
        sum_series(m, cells, &bands);
        mpr_series_free(cells);
        *cells = bands;
    }
    while (m->series.buckets > 1) {
        /* count only the changes of bytes; estimates seldom change without these */
        size_t own = m->numbers == 1 ? m->series.changes : 0;
        for (size_t i = 0; m->numbers > 1 && i < m->series.changes; i++)
            own += m->series.change[i].group < m->out->bands;
        if (own <= o->changes) break;
        mpr_series_widen(&m->series, 1, to, m->touched);
    }
    const struct mpr_band_series series = { &m->series, m->excerpt, m->excerpts, m->out->bands,
                                            m->numbers };
    mpr_spans_fill(&series, m->arena, m->out);
}

void mpr_bands_fill(struct mpr_timeline *t, const struct mpr_reader *reader,
                    const struct mpr_levels *levels, uint8_t heap, struct mpr_heap_timeline *out)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_timeline_options *o = &t->options;
    const struct mpr_series *s = &levels->level[heap].series;
    const size_t cells = r->accounts.cells;
    const bool all = r->options.by == MPR_GROUP_ALL;
    struct band_maker m = { .arena = &t->arena,
                            .reader = reader,
                            .r = r,
                            .out = out,
                            .all = all,
                            .limit = o->bands,
                            .estimates = levels->options.estimates,
                            .numbers = levels->options.estimates ? MPR_LEVELS_NUMBERS : 1 };
    if (m.estimates && mpr_estimates_heap_is_sampled(m.estimates, &r->accounts, heap))
        out->sample_mean = (uint64_t)mpr_estimates_sampling(m.estimates, heap)->mean;
    /* each owner may have its band, and there is one more for the others */
    if (!all && cells + 1 < m.limit) m.limit = cells + 1;
    m.owner = mpr_alloc(cells, sizeof *m.owner);
    m.sorted = mpr_alloc(cells, sizeof *m.sorted);
    m.band_of = mpr_alloc(cells, sizeof *m.band_of);
    m.cell_bytes = mpr_alloc(cells * m.numbers, sizeof *m.cell_bytes);
    out->band = mpr_arena_alloc(&t->arena, (m.limit + (1 << MPR_BAND_SAMPLED)) * sizeof *out->band);
    /* excerpts are useless if every change has its own bucket */
    if (r->accounts.excerpts && (s->shift || s->changes > o->changes))
        make_excerpts(&m, r->accounts.excerpts, heap);
    sort_owners(&m, s, heap);
    choose_bands(&m, heap);
    m.band_bytes = mpr_alloc(out->bands * m.numbers, sizeof *m.band_bytes);
    m.touched = mpr_alloc(out->bands * m.numbers, sizeof *m.touched);
    if (all) fill_pieces(&m, t->best.by);
    if (all && o->places) fill_places(&m, heap, o->places);
    fill_spans(&m, s, o);
    if (r->alloc_free && r->alloc_free->heap[heap])
        mpr_band_flows_fill(t, r->alloc_free->heap[heap], m.band_of, out);
    free(m.owner);
    free(m.sorted);
    free(m.band_of);
    free(m.cell_bytes);
    free(m.band_bytes);
    free(m.touched);
    mpr_series_free(&m.series);
    for (size_t i = 0; i < m.excerpts; i++) mpr_series_free(&m.excerpt[i].series);
    free(m.excerpt);
}
