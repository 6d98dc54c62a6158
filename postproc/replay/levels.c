#include "levels.h"

#include <stdlib.h>

#include "accounts.h"
#include "alloc.h"
#include "estimates.h"

/* ---- a series */

void mpr_series_free(struct mpr_series *s)
{
    free(s->bucket);
    free(s->change);
}

void mpr_series_bucket(struct mpr_series *s, const struct mpr_bucket *bucket)
{
    struct mpr_bucket *added = MPR_ADD(s->bucket, s->buckets, s->bucket_cap);
    *added = *bucket;
    added->end = s->changes;
}

void mpr_series_change(struct mpr_series *s, uint32_t group, uint64_t bytes)
{
    *MPR_ADD(s->change, s->changes, s->change_cap) = (struct mpr_signed_difference){ group, bytes };
}

/* For widening buckets in place: the place to write never overtakes the place to read. */
struct widening {
    struct mpr_series *s;
    size_t *place;
    size_t buckets, changes, taken; /* written; written; read */
};

/* Copies the changes up to `end`, of each group only the last one. */
static void copy_changes(struct widening *w, size_t end)
{
    struct mpr_series *s = w->s;
    const size_t first = w->changes;
    for (; w->taken < end; w->taken++) {
        const struct mpr_signed_difference c = s->change[w->taken];
        const size_t at = w->place[c.group];
        if (at >= first && at < w->changes && s->change[at].group == c.group) {
            s->change[at].bytes = c.bytes;
        } else {
            w->place[c.group] = w->changes;
            s->change[w->changes++] = c;
        }
    }
}

/* Writes a bucket that has the vector of an old one, with its changes up to `end`. */
static void emit(struct widening *w, const struct mpr_bucket *bucket, size_t end)
{
    struct mpr_series *s = w->s;
    copy_changes(w, end);
    s->bucket[w->buckets] = *bucket;
    s->bucket[w->buckets++].end = w->changes;
}

/* Returns a bucket in which nothing changes. */
static struct mpr_bucket quiet_bucket(uint64_t key, uint64_t time, uint64_t level)
{
    return (struct mpr_bucket){
        .key = key, .time = time, .max = level, .min = level, .close = level, .final = true
    };
}

void mpr_series_widen(struct mpr_series *s, unsigned by, uint64_t upto, size_t *place)
{
    struct widening w = { .s = s, .place = place };
    size_t next;
    s->shift += by;
    for (size_t i = 0; i < s->buckets; i = next) {
        struct mpr_bucket sum = s->bucket[i];
        sum.key >>= by;
        for (next = i + 1; next < s->buckets && s->bucket[next].key >> by == sum.key; next++) {
            const struct mpr_bucket *joined = &s->bucket[next];
            const bool higher = joined->max > sum.max;
            sum.final = higher && joined->final;
            if (higher) {
                sum.max = joined->max;
                sum.time = joined->time;
                sum.end = joined->end;
            }
            if (joined->min < sum.min) sum.min = joined->min;
            sum.close = joined->close;
            sum.allocs += joined->allocs;
            sum.frees += joined->frees;
        }
        const struct mpr_bucket last = s->bucket[next - 1];
        const uint64_t after = next < s->buckets ? s->bucket[next].key >> by : upto >> s->shift;
        const bool gap = after > sum.key + 1;
        emit(&w, &sum, sum.end);
        if (!gap || sum.final || !last.final) continue;
        const struct mpr_bucket quiet =
            quiet_bucket(sum.key + 1, (sum.key + 1) << s->shift, last.close);
        emit(&w, &quiet, last.end);
    }
    copy_changes(&w, s->changes); /* changes after the last maximum belong to the next bucket */
    s->buckets = w.buckets;
    s->changes = w.changes;
}

/* ---- all heaps */

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
    free(l->saved);
    free(l->stored);
    free(l->place);
    free(l);
}

/* Returns how many groups a cell has. */
static uint32_t count_groups(const struct mpr_levels *l)
{
    return l->options.estimates ? MPR_LEVELS_NUMBERS : 1;
}

static uint64_t number_of(const struct mpr_levels *l, const struct mpr_accounts *accounts,
                          uint32_t cell, uint32_t number)
{
    const struct mpr_estimates *e = l->options.estimates;
    if (number == MPR_LEVELS_BYTES) return accounts->cell[cell].bytes;
    return number == MPR_LEVELS_MORE ? mpr_estimates_bytes_now(e, cell)
                                     : mpr_estimates_variance_now(e, accounts, cell);
}

void mpr_levels_reserve(struct mpr_levels *l, uint32_t cell)
{
    size_t saved = l->groups, stored = saved;
    MPR_REACH(l->cell, cell, l->cells);
    const size_t last = l->cells * count_groups(l) - 1;
    MPR_REACH(l->saved, last, saved);
    MPR_REACH(l->stored, last, stored);
    MPR_REACH(l->place, last, l->groups);
}

/* Stores the open bucket with the vector at its maximum.  Cells that changed after the maximum stay
 * listed. */
static void store(struct mpr_levels *l, struct mpr_levels_heap *v,
                  const struct mpr_accounts *accounts)
{
    size_t left = 0;
    for (size_t i = 0; i < v->count; i++) {
        const uint32_t index = v->listed[i];
        struct mpr_levels_cell *cell = &l->cell[index];
        const bool changed = cell->epoch == v->epoch;
        for (uint32_t k = 0, group = index * count_groups(l); k < count_groups(l); k++, group++) {
            const uint64_t value = changed ? l->saved[group] : number_of(l, accounts, index, k);
            if (value != l->stored[group]) mpr_series_change(&v->series, group, value);
            l->stored[group] = value;
        }
        cell->listed = changed;
        if (changed) v->listed[left++] = index;
    }
    v->count = left;
    v->epoch++;
    mpr_series_bucket(&v->series, &v->open);
}

/* Stores a quiet bucket, whose vector is the current state of the accounts. */
static void store_quiet(struct mpr_levels *l, struct mpr_levels_heap *v,
                        const struct mpr_accounts *accounts, uint64_t level, uint64_t time)
{
    v->open = quiet_bucket(time >> v->series.shift, time, level);
    v->epoch++;
    store(l, v, accounts);
}

/* Ends the open bucket.  If nothing changes for longer than a bucket, a quiet one follows;
 * otherwise the chart would show the maximum of the open one until the next change. */
static void end(struct mpr_levels *l, struct mpr_levels_heap *v,
                const struct mpr_accounts *accounts, uint64_t level, uint64_t now)
{
    const unsigned shift = v->series.shift;
    const uint64_t next = v->open.key + 1;
    if (v->open.key == MPR_LEVELS_NONE) {
        if (l->options.from) store_quiet(l, v, accounts, level, l->options.from);
        return;
    }
    if (level < v->open.min) v->open.min = level;
    v->open.close = level;
    const bool final = v->open.final;
    store(l, v, accounts);
    if (!final && now >> shift > next) store_quiet(l, v, accounts, level, next << shift);
}

/* Events are about 1 us apart, so buckets of a smaller width would join none. */
static void widen(struct mpr_series *s, uint64_t now, size_t *place)
{
    enum { FIRST_SHIFT = 9 };
    mpr_series_widen(s, s->shift ? 1 : FIRST_SHIFT, now, place);
}

/* Begins the bucket of a change at `now`. */
static void begin(struct mpr_levels *l, struct mpr_levels_heap *v,
                  const struct mpr_accounts *accounts, uint64_t level, uint64_t now)
{
    struct mpr_series *s = &v->series;
    /* If the first change is at options.from, the state before it does not count. */
    if (v->open.key != MPR_LEVELS_NONE || now > l->options.from) end(l, v, accounts, level, now);
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
                        const struct mpr_accounts *accounts, uint64_t level)
{
    end(l, v, accounts, level, last_instant(l));
    v->open.key = MPR_LEVELS_NONE;
    v->until = 0;
    v->closed = true;
}

void mpr_levels_save(struct mpr_levels *l, const struct mpr_accounts *accounts, uint32_t index,
                     uint8_t heap, uint64_t level)
{
    struct mpr_levels_heap *v = &l->level[heap];
    const uint64_t now = *l->now;
    if (v->closed) return;
    if (now > l->options.to) {
        close_level(l, v, accounts, level);
        return;
    }
    if (now >= l->options.from && now >> v->series.shift != v->open.key)
        begin(l, v, accounts, level, now);
    if (now > v->last && level < v->open.min && v->open.allocs + v->open.frees) v->open.min = level;
    v->last = now;
    struct mpr_levels_cell *cell = &l->cell[index];
    if (cell->epoch == v->epoch) return;
    cell->epoch = v->epoch;
    for (uint32_t k = 0; k < count_groups(l); k++)
        l->saved[index * count_groups(l) + k] = number_of(l, accounts, index, k);
    if (cell->listed) return;
    cell->listed = true;
    *MPR_ADD(v->listed, v->count, v->cap) = index;
}

void mpr_levels_before_estimate(struct mpr_levels *l, const struct mpr_accounts *accounts,
                                uint32_t cell)
{
    const uint8_t heap = accounts->cell[cell].heap;
    if (!l->options.estimates) return;
    if (cell >= l->cells) mpr_levels_reserve(l, cell);
    mpr_levels_before(l, accounts, cell, heap, accounts->heap[heap].bytes);
}

void mpr_levels_finish(struct mpr_levels *l, const struct mpr_accounts *accounts)
{
    for (int i = 0; i < MPR_HEAPS; i++) {
        struct mpr_levels_heap *v = &l->level[i];
        if (!accounts->heap[i].used) continue;
        if (!v->closed) close_level(l, v, accounts, accounts->heap[i].bytes);
        mpr_series_widen(&v->series, 0, last_instant(l), l->place);
        while (v->series.buckets > 1 && v->series.buckets > l->options.buckets)
            widen(&v->series, last_instant(l), l->place);
    }
}
