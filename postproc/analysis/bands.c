/* Bands are summed vectors: for each bucket, the bands whose cells changed get their new sum.  Cells that differ by their
 * native call stacks alone are one unit of their library; those without a range are told apart by their Python stack, too. */
#include "bands.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

struct unit { uint64_t bytes, largest; uint32_t cell, library, python, band; };

struct folding {
    struct mpr_arena *arena;
    const struct mpr_replay *r;
    struct mpr_heap_line *out;
    size_t limit;
    struct unit *unit, **rank;  /* of the heap; those that held anything */
    uint32_t units, ranks;
    uint32_t *unit_of;          /* by cell */
    uint32_t *slot, mask;       /* hash of (key, library, python): unit + 1 */
    uint64_t *cell_bytes, *band_bytes;
    size_t *touched;            /* by band: index of its change in the span being written, + 1 */
    struct mpr_series series;
};

static bool begin(struct folding *f)
{
    const size_t cells = f->r->books.cells + 1;
    for (f->mask = 1; f->mask < 2 * cells; f->mask = f->mask * 2 + 1) continue;
    f->slot = calloc((size_t)f->mask + 1, sizeof *f->slot);
    f->unit = calloc(cells, sizeof *f->unit);
    f->rank = calloc(cells, sizeof *f->rank);
    f->unit_of = calloc(cells, sizeof *f->unit_of);
    f->cell_bytes = calloc(cells, sizeof *f->cell_bytes);
    f->band_bytes = calloc(f->limit, sizeof *f->band_bytes);
    f->touched = calloc(f->limit, sizeof *f->touched);
    f->out->band = mpr_arena_alloc(f->arena, f->limit * sizeof *f->out->band);
    return f->slot && f->unit && f->rank && f->unit_of && f->cell_bytes && f->band_bytes && f->touched && f->out->band;
}

static void release(struct folding *f)
{
    free(f->slot);
    free(f->unit);
    free(f->rank);
    free(f->unit_of);
    free(f->cell_bytes);
    free(f->band_bytes);
    free(f->touched);
    mpr_series_free(&f->series);
}

/* ---- units */

static uint32_t unit_of(struct folding *f, uint32_t index)
{
    const struct mpr_cell *cell = &f->r->books.cell[index];
    const struct mpr_site site = mpr_sites_of(&f->r->gpu.sites, cell->site);
    const struct unit wanted = { .cell = index, .library = mpr_sites_library(&f->r->gpu.sites, site.stack),
                                 .python = mpr_all_of(cell->key).node ? 0 : site.python };
    uint32_t at = (uint32_t)mpr_hash(mpr_hash(cell->key) + ((uint64_t)wanted.python << 32 | wanted.library)) & f->mask;
    for (; f->slot[at]; at = (at + 1) & f->mask) {
        const struct unit *u = &f->unit[f->slot[at] - 1];
        if (f->r->books.cell[u->cell].key == cell->key && u->library == wanted.library && u->python == wanted.python)
            return f->slot[at] - 1;
    }
    f->unit[f->units] = wanted;
    f->slot[at] = ++f->units;
    return f->units - 1;
}

static void make_units(struct folding *f, uint8_t heap)
{
    for (uint32_t i = 0; i < f->r->books.cells; i++)
        if (f->r->books.cell[i].heap == heap) f->unit_of[i] = unit_of(f, i);
}

/* ---- which units have a band of their own */

static int by_largest(const void *left, const void *right)
{
    const struct unit *a = *(struct unit *const *)left, *b = *(struct unit *const *)right;
    if (a->largest != b->largest) return a->largest > b->largest ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

static void rank_units(struct folding *f, const struct mpr_series *s)
{
    for (size_t i = 0; i < s->changes; i++) {
        const struct mpr_change *c = &s->change[i];
        struct unit *u = &f->unit[f->unit_of[c->group]];
        u->bytes += c->bytes - f->cell_bytes[c->group];
        f->cell_bytes[c->group] = c->bytes;
        if (u->bytes > u->largest) u->largest = u->bytes;
    }
    for (uint32_t i = 0; i < f->units; i++)
        if (f->unit[i].largest) f->rank[f->ranks++] = &f->unit[i];
    qsort(f->rank, f->ranks, sizeof *f->rank, by_largest);
    memset(f->cell_bytes, 0, f->r->books.cells * sizeof *f->cell_bytes);
}

static uint32_t add_band(struct folding *f, enum mpr_band_kind kind, const struct unit *u)
{
    const struct mpr_cell *c = &f->r->books.cell[u->cell];
    const struct mpr_all all = f->r->options.by == MPR_BY_ALL ? mpr_all_of(c->key) : (struct mpr_all){ 0 };
    struct mpr_band *band = &f->out->band[f->out->bands];
    *band = (struct mpr_band){ .kind = kind, .node = all.node, .thread = all.thread, .class = all.class,
                               .library = u->library, .python = u->python };
    if (kind != MPR_BAND_OTHER) band->path = mpr_label_path(f->arena, f->r, c, &band->depth);
    return (uint32_t)f->out->bands++;
}

/* Many small units of a range (or Python stack) and library share one band; the last band is kept for what finds no room. */
static uint32_t small_band(struct folding *f, const struct unit *u)
{
    if (f->r->options.by != MPR_BY_ALL) return UINT32_MAX;
    const uint32_t node = mpr_all_of(f->r->books.cell[u->cell].key).node;
    for (uint32_t i = 0; i < f->out->bands; i++) {
        const struct mpr_band *band = &f->out->band[i];
        if (band->kind == MPR_BAND_SMALL && band->node == node && band->library == u->library && band->python == u->python)
            return i;
    }
    return f->out->bands < f->limit - 1 ? add_band(f, MPR_BAND_SMALL, u) : UINT32_MAX;
}

static void choose_bands(struct folding *f)
{
    const size_t alone = f->r->options.by == MPR_BY_ALL ? f->limit * 5 / 8 : f->limit - 1;
    uint32_t other = UINT32_MAX;
    for (size_t i = 0; i < f->ranks; i++) {
        struct unit *u = f->rank[i];
        u->band = i < alone ? add_band(f, MPR_BAND_ONE, u) : small_band(f, u);
        if (u->band == UINT32_MAX && other == UINT32_MAX) other = add_band(f, MPR_BAND_OTHER, u);
        if (u->band == UINT32_MAX) u->band = other;
    }
}

/* ---- the bands' vectors */

static bool change_band(struct folding *f, uint32_t cell, uint64_t bytes, size_t first)
{
    const uint32_t band = f->unit[f->unit_of[cell]].band;
    f->band_bytes[band] += bytes - f->cell_bytes[cell];
    f->cell_bytes[cell] = bytes;
    if (f->band_bytes[band] > f->out->band[band].largest) f->out->band[band].largest = f->band_bytes[band];
    if (f->touched[band] > first) return true;
    f->touched[band] = f->series.changes + 1;
    return mpr_series_change(&f->series, band, 0) == 0;
}

static bool fold(struct folding *f, const struct mpr_series *s)
{
    size_t at = 0;
    f->series.shift = s->shift;
    for (size_t i = 0; i < s->buckets; i++) {
        const size_t first = f->series.changes;
        for (; at < s->bucket[i].end; at++)
            if (!change_band(f, s->change[at].group, s->change[at].bytes, first)) return false;
        for (size_t k = first; k < f->series.changes; k++)
            f->series.change[k].bytes = f->band_bytes[f->series.change[k].group];
        if (mpr_series_bucket(&f->series, &s->bucket[i]) != 0) return false;
    }
    return true;
}

static void widen(struct folding *f, size_t changes)
{
    while (f->series.changes > changes && f->series.buckets > 1) mpr_series_widen(&f->series, 1, f->touched);
}

static bool copy(struct folding *f)
{
    const struct mpr_series *s = &f->series;
    struct mpr_heap_line *out = f->out;
    out->width_ns = UINT64_C(1) << s->shift;
    out->span = mpr_arena_alloc(f->arena, s->buckets * sizeof *out->span);
    out->change = mpr_arena_alloc(f->arena, s->changes * sizeof *out->change);
    if (!out->span || !out->change) return false;
    for (size_t i = 0; i < s->buckets; i++) {
        const struct mpr_bucket *b = &s->bucket[i];
        out->span[out->spans++] = (struct mpr_span){ b->key << s->shift, b->time, b->max, b->min, b->close,
                                                     b->allocs, b->frees, b->end };
    }
    for (size_t i = 0; i < s->changes; i++)
        out->change[out->changes++] = (struct mpr_band_change){ s->change[i].group, s->change[i].bytes };
    return true;
}

bool mpr_bands_fill(struct mpr_timeline *timeline, const struct mpr_replay *r, const struct mpr_levels *levels,
                    uint8_t heap, struct mpr_heap_line *out)
{
    struct folding f = { .arena = &timeline->arena, .r = r, .out = out, .limit = timeline->options.bands };
    const struct mpr_series *s = &levels->level[heap].series;
    bool good = begin(&f);
    if (good) {
        make_units(&f, heap);
        rank_units(&f, s);
        choose_bands(&f);
        good = fold(&f, s);
    }
    if (good) {
        widen(&f, timeline->options.changes);
        good = copy(&f);
    }
    release(&f);
    return good;
}
