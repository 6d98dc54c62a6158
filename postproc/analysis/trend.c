#include "trend.h"

#include <math.h>

#include "amount.h"

static const double ERRORS = 2.5; /* standard errors that an estimate must have grown by */
enum {
    LEAST_ESTIMATED = 4,
    LEAST_JOINED = 6, /* intervals in which an exact site grew, where neighbours are joined */
    ENOUGH_SAMPLES = 4,
    ENOUGH_RISES = 3 /* an interval: without growth it is no chance any more */
};

/* What the values of a site come to from the end of the warm-up to the last one. */
struct course {
    const struct mpr_history_value *value;
    size_t warm, last;
    size_t rises;
    bool fell, sank; /* below the value before; below that of the warm-up */
    double grown, variance;
    double events; /* that the growth is made of: rises, or as many samples */
};

/* ---- the error of a difference */

/* Of blocks that came and went, each once. */
static double moved(const struct mpr_history_value *from, const struct mpr_history_value *to)
{
    return to->came - from->came + to->went - from->went;
}

/* No block counts that lived at both.  Those that came and went in between do count above, and
 * those that lived at both below: the smaller one is nearer. */
static double variance(const struct mpr_history_value *from, const struct mpr_history_value *to)
{
    const double between = moved(from, to), both = from->came - from->went + to->came - to->went;
    return fmax(0, fmin(between, both));
}

/* ---- growth */

static bool is_above_chance(double grown, double variance)
{
    return grown > 0 && grown * grown >= ERRORS * ERRORS * variance;
}

static struct course course_of(const struct mpr_history_value *v, size_t count)
{
    struct course c = { .value = v, .warm = mpr_trend_warm(count), .last = count - 1 };
    for (size_t i = c.warm + 1; i < count; i++) {
        c.rises += v[i].bytes > v[i - 1].bytes;
        c.fell |= v[i].bytes < v[i - 1].bytes;
        c.sank |= v[i].bytes < v[c.warm].bytes;
    }
    c.grown = (double)mpr_change(v[c.warm].bytes, v[c.last].bytes);
    c.variance = variance(&v[c.warm], &v[c.last]);
    const double all = moved(&v[c.warm], &v[c.last]);
    c.events = c.variance > 0 ? c.grown * c.grown / all : (double)c.rises;
    return c;
}

/* In nine of ten of the newest intervals of so many instants each. */
static bool grew_often(const struct course *c, size_t width, size_t intervals)
{
    size_t grew = 0, at = c->last;
    const struct mpr_history_value *v = c->value;
    if (width > 1 && v[at].bytes <= v[at - width].bytes) return false;
    for (size_t i = 0; i < intervals; i++, at -= width) grew += v[at].bytes > v[at - width].bytes;
    return 10 * grew >= 9 * intervals;
}

/* May the intervals be made longer?  An exact site that fell now and then needs none: it is seen at
 * each instant. */
static bool may_join(const struct course *c, size_t intervals)
{
    const bool estimated = c->variance > 0;
    if (!estimated && c->fell) return false;
    return c->events < (double)intervals * (estimated ? ENOUGH_SAMPLES : ENOUGH_RISES);
}

static bool is_growing(const struct course *c)
{
    const size_t all = c->last - c->warm, least = c->variance > 0 ? LEAST_ESTIMATED : LEAST_JOINED;
    if (c->sank || !is_above_chance(c->grown, c->variance)) return false;
    if (grew_often(c, 1, all)) return true;
    for (size_t width = 2; all / width >= least && may_join(c, all / (width - 1)); width++)
        if (grew_often(c, width, all / width)) return true;
    return false;
}

/* It may grow, for all that the samples tell. */
static bool has_few(const struct course *c)
{
    const struct mpr_history_value *v = c->value;
    const size_t middle = (c->warm + c->last) / 2;
    return c->variance > 0 && !c->sank && v[c->last].bytes > v[middle].bytes &&
           v[middle].bytes >= v[c->warm].bytes &&
           c->events < (double)LEAST_ESTIMATED * ENOUGH_SAMPLES;
}

static bool has_levelled(const struct mpr_history_value *v, size_t count)
{
    const double grown = (double)mpr_change(v[0].bytes, v[count - 1].bytes);
    if (!is_above_chance(grown, variance(&v[0], &v[count - 1]))) return false;
    size_t newest = 0;
    for (size_t i = 1; i < count; i++)
        if (v[i].bytes != v[i - 1].bytes) newest = i;
    if (!newest || newest > count / 2) return false;
    return v[newest].bytes > v[newest - 1].bytes;
}

/* ---- the whole */

static struct mpr_trend trend(int as, const struct mpr_history_value *from,
                              const struct mpr_history_value *to)
{
    return (struct mpr_trend){ .as = as,
                               .by = { .bytes = mpr_less(to->bytes, from->bytes),
                                       .blocks = mpr_less(to->blocks, from->blocks) },
                               .error = sqrt(variance(from, to)) };
}

struct mpr_trend mpr_trend(const struct mpr_history_value *v, size_t count)
{
    const struct course c = course_of(v, count);
    const struct mpr_history_value *last = &v[c.last];
    if (is_growing(&c)) return trend(MPR_TREND_GROWS, &v[c.warm], last);
    if (has_levelled(v, count)) return trend(MPR_TREND_LEVELLED, v, last);
    return trend(has_few(&c) ? MPR_TREND_FEW : MPR_TREND_OTHER, &v[c.warm], last);
}
