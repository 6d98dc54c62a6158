#include "trend.h"

#include <math.h>

#include "amount.h"
#include "steady.h"

static const double ERRORS = 2.5; /* standard errors that an estimate must have grown by */
enum {
    LEAST_ESTIMATED = 4,
    LEAST_JOINED = 6, /* intervals in which an exact site grew, where neighbours are joined */
    ENOUGH_SAMPLES = 4,
    LEAST_TOLD = 3,   /* samples that a site has grown by which may grow: one or two many have */
    ENOUGH_RISES = 3, /* an interval: without growth it is no chance any more */
    ENOUGH_BLOCKS = 8 /* instants at which an exact site rose, to judge it by its blocks */
};

/* What the levels of a site come to from the end of the warm-up to the last one. */
struct course {
    const struct mpr_level *level;
    size_t warm, last;
    size_t rises;
    bool fell, sank; /* below the one before; below that of the warm-up */
    double grown, variance;
    double events; /* that the growth is made of: rises, or as many samples */
};

/* ---- the error of a difference */

/* Of blocks that came and went, each once. */
static double moved(const struct mpr_level *from, const struct mpr_level *to)
{
    return to->came - from->came + to->went - from->went;
}

/* No block counts that lived at both.  Those that came and went in between do count above, and
 * those that lived at both below: the smaller one is nearer. */
static double variance(const struct mpr_level *from, const struct mpr_level *to)
{
    const double between = moved(from, to), both = from->came - from->went + to->came - to->went;
    return fmax(0, fmin(between, both));
}

/* Of bytes. */
static double error(const struct mpr_history_value *from, const struct mpr_history_value *to)
{
    const struct mpr_level a = { .came = from->came, .went = from->went },
                           b = { .came = to->came, .went = to->went };
    return sqrt(variance(&a, &b));
}

/* ---- levels */

/* What a site holds: of samples their number, which neither their sizes nor what they are held to
 * (mpr_within) moves; else bytes. */
static void fill_levels(struct mpr_level *level, const struct mpr_history_value *v, size_t count)
{
    const bool counted = v[count - 1].samples > 0;
    for (size_t i = 0; i < count; i++)
        level[i] = counted ? (struct mpr_level){ (double)v[i].live, (double)v[i].samples,
                                                 (double)(v[i].samples - v[i].live) }
                           : (struct mpr_level){ (double)v[i].bytes, v[i].came, v[i].went };
}

/* ---- growth */

static bool is_above_chance(double grown, double variance)
{
    return grown > 0 && grown * grown >= ERRORS * ERRORS * variance;
}

static struct course course_of(const struct mpr_level *l, size_t count)
{
    struct course c = { .level = l, .warm = mpr_trend_warm(count), .last = count - 1 };
    for (size_t i = c.warm + 1; i < count; i++) {
        c.rises += l[i].held > l[i - 1].held;
        c.fell |= l[i].held < l[i - 1].held;
        c.sank |= l[i].held < l[c.warm].held;
    }
    c.grown = l[c.last].held - l[c.warm].held;
    c.variance = variance(&l[c.warm], &l[c.last]);
    const double all = moved(&l[c.warm], &l[c.last]);
    c.events = c.variance > 0 ? c.grown * c.grown / all : (double)c.rises;
    return c;
}

/* In nine of ten of the newest intervals of so many instants each. */
static bool grew_often(const struct course *c, size_t width, size_t intervals)
{
    size_t grew = 0, at = c->last;
    const struct mpr_level *l = c->level;
    if (width > 1 && l[at].held <= l[at - width].held) return false;
    for (size_t i = 0; i < intervals; i++, at -= width) grew += l[at].held > l[at - width].held;
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

static bool grew_in_intervals(const struct course *c)
{
    const size_t all = c->last - c->warm, least = c->variance > 0 ? LEAST_ESTIMATED : LEAST_JOINED;
    if (grew_often(c, 1, all)) return true;
    for (size_t width = 2; all / width >= least && may_join(c, all / (width - 1)); width++)
        if (grew_often(c, width, all / width)) return true;
    return false;
}

/* Returns true if less than a quarter of the growth came in the second half.  A program that loads
 * data at its start, and a little more later, does not grow steadily. */
static bool is_loading(const struct course *c)
{
    enum { SHARE = 4 };
    const double middle = c->level[(c->warm + c->last) / 2].held;
    return c->variance == 0 && SHARE * (c->level[c->last].held - middle) < c->grown;
}

/* A site that makes a block now and then, an arena of Python's, say, and gave one back, or paused:
 * its blocks are judged as samples are, where there are enough of them. */
static bool comes_steadily(const struct course *c, const struct mpr_history_value *v)
{
    struct mpr_level blocks[MPR_HISTORY_MAX] = { { .held = 0 } };
    if (c->variance > 0 || c->sank || is_loading(c) || c->rises < ENOUGH_BLOCKS) return false;
    for (size_t i = 0; i <= c->last; i++) blocks[i].held = (double)v[i].blocks;
    return mpr_steady_keeps(blocks, c->warm, c->last) && mpr_steady_grows(blocks, c->warm, c->last);
}

static bool is_growing(const struct course *c, bool counted)
{
    if (c->sank || is_loading(c)) return false;
    if (counted && mpr_steady_keeps(c->level, c->warm, c->last))
        return mpr_steady_grows(c->level, c->warm, c->last);
    if (counted && !mpr_steady_may(c->level, c->warm, c->last)) return false;
    return is_above_chance(c->grown, c->variance) && grew_in_intervals(c);
}

/* It may grow, for all that the samples tell. */
static bool has_few(const struct course *c, bool counted)
{
    if (counted && c->grown < LEAST_TOLD) return false;
    const struct mpr_level *l = c->level;
    const size_t middle = (c->warm + c->last) / 2;
    return c->variance > 0 && !c->sank && mpr_steady_may(l, c->warm, c->last) &&
           l[c->last].held > l[middle].held && l[middle].held >= l[c->warm].held &&
           c->events < (double)LEAST_ESTIMATED * ENOUGH_SAMPLES;
}

static bool has_levelled(const struct mpr_level *l, size_t count)
{
    const double grown = l[count - 1].held - l[0].held;
    if (!is_above_chance(grown, variance(&l[0], &l[count - 1]))) return false;
    size_t newest = 0;
    for (size_t i = 1; i < count; i++)
        if (l[i].held != l[i - 1].held) newest = i;
    if (!newest || newest > count / 2) return false;
    return l[newest].held > l[newest - 1].held;
}

/* ---- the whole */

static struct mpr_trend trend(enum mpr_trend_as as, const struct mpr_history_value *from,
                              const struct mpr_history_value *to)
{
    return (struct mpr_trend){ .as = as,
                               .by = { .bytes = mpr_less(to->bytes, from->bytes),
                                       .blocks = mpr_less(to->blocks, from->blocks) },
                               .error = error(from, to) };
}

struct mpr_trend mpr_trend(const struct mpr_history_value *v, size_t count)
{
    struct mpr_level level[MPR_HISTORY_MAX];
    fill_levels(level, v, count);
    const struct course c = course_of(level, count);
    const struct mpr_history_value *last = &v[c.last];
    if (is_growing(&c, last->samples > 0) || comes_steadily(&c, v))
        return trend(MPR_TREND_GROWS, &v[c.warm], last);
    if (has_levelled(level, count)) return trend(MPR_TREND_LEVELLED, v, last);
    return trend(has_few(&c, last->samples > 0) ? MPR_TREND_FEW : MPR_TREND_OTHER, &v[c.warm],
                 last);
}
