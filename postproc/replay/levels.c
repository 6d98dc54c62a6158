#include "levels.h"

#include <stdlib.h>

#include "alloc.h"
#include "books.h"

struct mpr_levels *mpr_levels_new(const struct mpr_levels_options *options, const uint64_t *now)
{
    struct mpr_levels *l = mpr_alloc(1, sizeof *l);
    l->options = *options;
    l->now = now;
    for (int i = 0; i < 256; i++) {
        l->level[i].epoch = 1;
        l->level[i].open.key = MPR_LEVELS_NONE;
    }
    return l;
}

void mpr_levels_free(struct mpr_levels *l)
{
    if (!l) return;
    for (int i = 0; i < 256; i++) {
        mpr_series_free(&l->level[i].series);
        free(l->level[i].listed);
    }
    free(l->cell);
    free(l->place);
    free(l);
}

void mpr_levels_room(struct mpr_levels *l, uint32_t cell)
{
    size_t places = l->cells;
    MPR_REACH(l->cell, cell, l->cells);
    MPR_REACH(l->place, cell, places);
}

static void save(struct mpr_levels *l, struct mpr_levels_heap *v, const struct mpr_books *books,
                 uint32_t index)
{
    struct mpr_levels_cell *cell = &l->cell[index];
    if (cell->epoch == v->epoch) return;
    cell->epoch = v->epoch;
    cell->saved = books->cell[index].bytes;
    if (cell->listed) return;
    cell->listed = true;
    MPR_GROW(v->listed, v->count, v->cap);
    v->listed[v->count++] = index;
}

/* Ends the open bucket with the vector at its maximum; cells that have changed since stay listed.
 */
static void store(struct mpr_levels *l, struct mpr_levels_heap *v, const struct mpr_books *books)
{
    size_t left = 0;
    for (size_t i = 0; i < v->count; i++) {
        const uint32_t index = v->listed[i];
        struct mpr_levels_cell *cell = &l->cell[index];
        const bool changed = cell->epoch == v->epoch;
        const uint64_t bytes = changed ? cell->saved : books->cell[index].bytes;
        if (bytes != cell->stored) mpr_series_change(&v->series, index, bytes);
        cell->stored = bytes;
        cell->listed = changed;
        if (changed) v->listed[left++] = index;
    }
    v->count = left;
    v->epoch++;
    mpr_series_bucket(&v->series, &v->open);
}

/* A bucket in which nothing changes: its vector is what the books say now. */
static void store_quiet(struct mpr_levels *l, struct mpr_levels_heap *v,
                        const struct mpr_books *books, uint64_t level, uint64_t time)
{
    v->open = (struct mpr_bucket){ .key = time >> v->series.shift,
                                   .time = time,
                                   .max = level,
                                   .min = level,
                                   .close = level,
                                   .final = true };
    v->epoch++;
    store(l, v, books);
}

/* The open bucket ends; where nothing changes for longer than a bucket, the level that lasts must
 * not look so high. */
static void end(struct mpr_levels *l, struct mpr_levels_heap *v, const struct mpr_books *books,
                uint64_t level, uint64_t now)
{
    const unsigned shift = v->series.shift;
    const uint64_t next = v->open.key + 1;
    if (v->open.key == MPR_LEVELS_NONE) {
        if (l->options.from) store_quiet(l, v, books, level, l->options.from);
        return;
    }
    if (level < v->open.min) v->open.min = level;
    v->open.close = level;
    const bool final = v->open.final;
    store(l, v, books);
    if (!final && now >> shift > next) store_quiet(l, v, books, level, next << shift);
}

/* Instants of a log are about 1 us apart: no less than the first shift joins any. */
static void widen(struct mpr_series *s, uint64_t now, size_t *place)
{
    enum { FIRST_SHIFT = 9 };
    mpr_series_widen(s, s->shift ? 1 : FIRST_SHIFT, now, place);
}

static void roll(struct mpr_levels *l, struct mpr_levels_heap *v, const struct mpr_books *books,
                 uint64_t level, uint64_t now)
{
    struct mpr_series *s = &v->series;
    /* what was before does not count where the first change is at options.from */
    if (v->open.key != MPR_LEVELS_NONE || now > l->options.from) end(l, v, books, level, now);
    while (s->buckets > 1 && (s->buckets >= l->options.buckets || s->changes > l->options.changes))
        widen(s, now, l->place);
    v->open = (struct mpr_bucket){ .key = now >> s->shift, .min = UINT64_MAX };
    const uint64_t next = (v->open.key + 1) << s->shift;
    v->until = next < l->options.to ? next : l->options.to;
}

static uint64_t last_instant(const struct mpr_levels *l)
{
    return l->options.to < *l->now ? l->options.to : *l->now;
}

static void close_level(struct mpr_levels *l, struct mpr_levels_heap *v,
                        const struct mpr_books *books, uint64_t level)
{
    end(l, v, books, level, last_instant(l));
    v->open.key = MPR_LEVELS_NONE;
    v->until = 0;
    v->closed = true;
}

void mpr_levels_note(struct mpr_levels *l, const struct mpr_books *books, uint32_t index,
                     uint8_t heap, uint64_t level)
{
    struct mpr_levels_heap *v = &l->level[heap];
    const uint64_t now = *l->now;
    if (v->closed) return;
    if (now > l->options.to) {
        close_level(l, v, books, level);
        return;
    }
    if (now >= l->options.from && now >> v->series.shift != v->open.key)
        roll(l, v, books, level, now);
    if (now > v->last && level < v->open.min && v->open.allocs + v->open.frees) v->open.min = level;
    v->last = now;
    save(l, v, books, index);
}

void mpr_levels_finish(struct mpr_levels *l, const struct mpr_books *books)
{
    for (int i = 0; i < MPR_HEAPS; i++) {
        struct mpr_levels_heap *v = &l->level[i];
        if (!books->heap[i].used) continue;
        if (!v->closed) close_level(l, v, books, books->heap[i].bytes);
        mpr_series_widen(&v->series, 0, last_instant(l), l->place);
        while (v->series.buckets > 1 && v->series.buckets > l->options.buckets)
            widen(&v->series, last_instant(l), l->place);
    }
}
