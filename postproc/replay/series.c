#include "series.h"

#include <stdlib.h>

#include "alloc.h"

void mpr_series_free(struct mpr_series *s)
{
    free(s->bucket);
    free(s->change);
}

void mpr_series_bucket(struct mpr_series *s, const struct mpr_bucket *bucket)
{
    MPR_GROW(s->bucket, s->buckets, s->bucket_cap);
    s->bucket[s->buckets] = *bucket;
    s->bucket[s->buckets++].end = s->changes;
}

void mpr_series_change(struct mpr_series *s, uint32_t group, uint64_t bytes)
{
    MPR_GROW(s->change, s->changes, s->change_cap);
    s->change[s->changes++] = (struct mpr_change){ group, bytes };
}

/* ---- widening, in place: what is written never overtakes what is read */

struct widening {
    struct mpr_series *s;
    size_t *place;
    size_t buckets, changes, taken;
};

/* Takes changes up to `end`: of a group's, the last one counts. */
static void take(struct widening *w, size_t end)
{
    struct mpr_series *s = w->s;
    const size_t first = w->changes;
    for (; w->taken < end; w->taken++) {
        const struct mpr_change c = s->change[w->taken];
        const size_t at = w->place[c.group];
        if (at >= first && at < w->changes && s->change[at].group == c.group) {
            s->change[at].bytes = c.bytes;
        } else {
            w->place[c.group] = w->changes;
            s->change[w->changes++] = c;
        }
    }
}

/* Writes a bucket whose vector is that of the old one which ended at `end`. */
static void emit(struct widening *w, const struct mpr_bucket *bucket, size_t end)
{
    struct mpr_series *s = w->s;
    take(w, end);
    s->bucket[w->buckets] = *bucket;
    s->bucket[w->buckets++].end = w->changes;
}

static void absorb(struct mpr_bucket *sum, const struct mpr_bucket *next)
{
    if (next->max > sum->max) {
        sum->max = next->max;
        sum->time = next->time;
        sum->end = next->end;
        sum->final = next->final;
    } else {
        sum->final = false;
    }
    if (next->min < sum->min) sum->min = next->min;
    sum->close = next->close;
    sum->allocs += next->allocs;
    sum->frees += next->frees;
}

static struct mpr_bucket quiet_after(const struct mpr_bucket *last, uint64_t key, unsigned shift)
{
    const uint64_t level = last->close;
    return (struct mpr_bucket){
        .key = key, .time = key << shift, .max = level, .min = level, .close = level, .final = true
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
        for (next = i + 1; next < s->buckets && s->bucket[next].key >> by == sum.key; next++)
            absorb(&sum, &s->bucket[next]);
        const struct mpr_bucket last = s->bucket[next - 1];
        const uint64_t after = next < s->buckets ? s->bucket[next].key >> by : upto >> s->shift;
        const bool gap = after > sum.key + 1;
        emit(&w, &sum, sum.end);
        if (!gap || sum.final || !last.final) continue;
        const struct mpr_bucket quiet = quiet_after(&last, sum.key + 1, s->shift);
        emit(&w, &quiet, last.end);
    }
    take(&w, s->changes); /* what came behind the last maximum is the next bucket's */
    s->buckets = w.buckets;
    s->changes = w.changes;
}
