#include "history.h"

#include <math.h>

#include "amount.h"

/* A site at an instant. */
struct mpr_level {
    double held;           /* live samples; or bytes if the site has no samples */
    double added, removed; /* samples so far; or their variances, for estimates without samples */
};

/* ---- samples at a steady rate
 *
 * A leak keeps samples at a steady rate.  A cache that fills up, or a program that loads, does not.
 * The tests use the *envelope* of consecutive instants: at each instant the minimum that the site
 * held then or later, which counts only samples that stayed.
 *
 * If hardly any sample was freed, five new ones are not chance: a site that frees as many as it
 * allocates has five in less than 1 % of runs (test_trend.c).  Then the times of the samples
 * decide, because a leak spreads them evenly:
 *
 * - They are at four or more instants, span half of the time since the warm-up, and the last one is
 *   in its last quarter.  The probability that none followed the last one is at least 5 %.  So a
 *   cache that is full after four fifths of the log is not growth.  A limit of the last third
 *   instead of the last quarter would accept 10 % of caches with 5 samples and 25 % of those with
 *   12, to find 6 % more leaks of 5 to 7 samples.
 * - Their mean time is not unusually early (in 19 of 20 runs evenly spread times are later): this
 * is Laplace's test for a trend (Cox and Lewis, The Statistical Analysis of Series of Events, 1966,
 *   chapter 3.3).  A cache that fills up ever more slowly fails it.  Fewer than twelve samples must
 *   also pass it with the warm-up included, in which a cache gets most of its content.
 *
 * Several samples between two instants count once in the tests of times, because they may be from
 * one request. */

static const double RARE = 0.05;         /* a one-sided probability, and ... */
static const double RARE_ERRORS = 1.645; /* ... the number of standard errors with it */
enum {
    SAMPLES_MIN = 5,
    INSTANTS_MIN = 4,
    SAMPLES_ALONE = 12, /* fewer samples are also tested with the warm-up */
    KEPT_OF = 8
};

/* The rises of the envelope.  Times are shares of the time from the first instant to the last. */
struct rises {
    size_t instants;
    double first, last; /* times */
    double amount;
    double mean; /* average time, weighted by amount */
};

static struct rises rises_of(const struct mpr_level *level, size_t first, size_t last)
{
    struct rises r = { .instants = 0 };
    double envelope = level[last].held;
    const double all = (double)(last - first);
    for (size_t i = last; i > first; i--) {
        const double before = fmin(envelope, level[i - 1].held), rise = envelope - before;
        envelope = before;
        if (rise == 0) continue;
        if (!r.instants++) r.last = (double)(i - first) / all;
        r.first = (double)(i - first - 1) / all;
        r.amount += rise;
        r.mean += rise * ((double)(i - first) - 0.5) / all;
    }
    if (r.amount > 0) r.mean /= r.amount;
    return r;
}

/* A uniformly distributed time has the mean 1/2 and the variance 1/12. */
static bool are_early(const struct rises *r)
{
    return r->instants && r->mean < 0.5 - RARE_ERRORS / sqrt(12 * (double)r->instants);
}

/* Returns true if the time without a rise at the end may be chance. */
static bool may_continue(const struct rises *r)
{
    return !are_early(r) && pow(r->last, (double)r->instants) >= RARE;
}

/* Returns true if a site that frees hardly any samples grows at a steady rate.  The site got all
 * that it held at the first instant during the warm-up. */
static bool grows_steadily(const struct mpr_level *level, size_t warm, size_t last)
{
    struct mpr_level with_start[MPR_HISTORY_MAX + 1] = { { .held = 0 } };
    const struct rises r = rises_of(level, warm, last);
    if (r.amount < SAMPLES_MIN || r.instants < INSTANTS_MIN || !may_continue(&r)) return false;
    if (r.last - r.first < 1.0 / 2 || r.last <= 3.0 / 4) return false;
    if (r.amount >= SAMPLES_ALONE) return true;
    for (size_t i = 0; i <= last; i++) with_start[i + 1] = level[i];
    const struct rises with_warm_up = rises_of(with_start, 0, last + 1);
    return !are_early(&with_warm_up);
}

/* Returns true if at least seven of eight samples since the warm-up stayed. */
static bool keeps(const struct mpr_level *level, size_t warm, size_t last)
{
    double freed = 0;
    for (size_t i = warm + 1; i <= last; i++) freed += fmax(0, level[i - 1].held - level[i].held);
    return KEPT_OF * freed <= level[last].held - level[warm].held;
}

/* ---- growth */

static const double ERRORS = 2.5; /* standard errors by which an estimate must have grown */
enum {
    ESTIMATED_MIN = 4,  /* joined intervals of an estimate */
    JOINED_MIN = 6,     /* joined intervals of an exact site */
    FEW_MIN = 3,        /* samples by which a site that may grow has grown: many have one or two */
    ENOUGH_SAMPLES = 4, /* if an interval usually has this many samples, or ... */
    ENOUGH_RISES = 3,   /* ... this many rises, one without growth is not chance */
    ENOUGH_BLOCKS = 8   /* instants with rises from which the blocks of an exact site are tested */
};

/* The course of a site from the end of the warm-up to the last instant. */
struct course {
    const struct mpr_level *level;
    size_t warm, last;
    size_t rises;
    bool fell; /* it was below the previous level at some instant */
    bool sank; /* it was below the level at the end of the warm-up, not by chance */
    double grown, variance;
    double events;          /* rises, or samples, that make up the growth */
    bool counted;           /* levels are numbers of samples */
    struct rises estimated; /* rises of the envelope, for an estimate */
};

/* ---- the error of a difference */

/* The variance of all blocks that were allocated or freed between the instants. */
static double turnover(const struct mpr_level *from, const struct mpr_level *to)
{
    return to->added - from->added + to->removed - from->removed;
}

/* The variance of the difference.  Only blocks that lived at one of the instants should count. Both
 * sums are too large: one includes the blocks that were allocated and freed between the instants,
 * the other one those that lived at both.  So the smaller one is closer. */
static double variance(const struct mpr_level *from, const struct mpr_level *to)
{
    const double live = from->added - from->removed + to->added - to->removed;
    return fmax(0, fmin(turnover(from, to), live));
}

static bool is_above_chance(double grown, double variance)
{
    return grown > 0 && grown * grown >= ERRORS * ERRORS * variance;
}

/* ---- levels */

/* The levels are numbers of samples, which depend neither on their sizes nor on the limits of
 * estimates.  Without samples they are bytes. */
static struct course course_of(struct mpr_level *l, const struct mpr_history_value *v, size_t count)
{
    struct course c = { .level = l,
                        .warm = mpr_trend_warm(count),
                        .last = count - 1,
                        .counted = v[count - 1].samples > 0 };
    for (size_t i = 0; i < count; i++)
        l[i] = c.counted ? (struct mpr_level){ (double)v[i].live, (double)v[i].samples,
                                               (double)(v[i].samples - v[i].live) }
                         : (struct mpr_level){ (double)v[i].bytes, v[i].variance_added,
                                               v[i].variance_removed };
    const struct mpr_level *warm = &l[c.warm], *last = &l[c.last];
    for (size_t i = c.warm + 1; i < count; i++) {
        c.rises += l[i].held > l[i - 1].held;
        c.fell |= l[i].held < l[i - 1].held;
        c.sank |= is_above_chance(warm->held - l[i].held, variance(warm, &l[i]));
    }
    c.grown = last->held - warm->held;
    c.variance = variance(warm, last);
    c.events = c.variance > 0 ? c.grown * c.grown / turnover(warm, last) : (double)c.rises;
    if (c.variance > 0) c.estimated = rises_of(l, c.warm, c.last);
    return c;
}

/* Returns true if the site grew in nine of ten of the newest intervals.  @width: instants in each.
 */
static bool grew_often(const struct course *c, size_t width, size_t intervals)
{
    size_t grew = 0, at = c->last;
    const struct mpr_level *l = c->level;
    if (width > 1 && l[at].held <= l[at - width].held) return false;
    for (size_t i = 0; i < intervals; i++, at -= width) grew += l[at].held > l[at - width].held;
    return 10 * grew >= 9 * intervals;
}

/* Returns true if the site grew in most intervals.  Joins neighbouring intervals until they are so
 * long that growth would show in each.  An exact site that fell is not tested with joined
 * intervals, because all of its changes are known. */
static bool grew_in_intervals(const struct course *c)
{
    const bool estimated = c->variance > 0;
    const size_t all = c->last - c->warm, least = estimated ? ESTIMATED_MIN : JOINED_MIN;
    const double enough = estimated ? ENOUGH_SAMPLES : ENOUGH_RISES; /* events in an interval */
    if (grew_often(c, 1, all)) return true;
    if (!estimated && c->fell) return false;
    for (size_t width = 2; all / width >= least; width++) {
        const size_t intervals = all / (width - 1); /* of the width before */
        if (c->events >= (double)intervals * enough) return false;
        if (grew_often(c, width, all / width)) return true;
    }
    return false;
}

/* Returns true if less than a quarter of the growth is in the second half.  A program that loads
 * data at its start, and a little more later, does not grow steadily. */
static bool is_loading(const struct course *c)
{
    enum { SHARE = 4 };
    const double middle = c->level[(c->warm + c->last) / 2].held;
    return c->variance == 0 && SHARE * (c->level[c->last].held - middle) < c->grown;
}

static bool is_growing(const struct course *c, const struct mpr_history_value *v)
{
    if (c->sank || is_loading(c)) return false;
    if (c->variance == 0 && c->rises >= ENOUGH_BLOCKS) {
        /* The blocks of an exact site are tested like samples.  So a site that rarely allocates,
         * for example Python's arenas, may free a block, or pause. */
        struct mpr_level blocks[MPR_HISTORY_MAX] = { { .held = 0 } };
        for (size_t i = 0; i <= c->last; i++) blocks[i].held = (double)v[i].blocks;
        if (keeps(blocks, c->warm, c->last) && grows_steadily(blocks, c->warm, c->last))
            return true;
    }
    if (c->counted && keeps(c->level, c->warm, c->last))
        return grows_steadily(c->level, c->warm, c->last);
    if (c->counted && !may_continue(&c->estimated)) return false;
    return is_above_chance(c->grown, c->variance) && grew_in_intervals(c);
}

/* Returns true if the site may grow, but has too few samples to decide. */
static bool has_few_samples(const struct course *c)
{
    if (c->counted && c->grown < FEW_MIN) return false;
    const struct mpr_level *l = c->level;
    const size_t middle = (c->warm + c->last) / 2;
    return c->variance > 0 && !c->sank && may_continue(&c->estimated) &&
           l[c->last].held > l[middle].held && l[middle].held >= l[c->warm].held &&
           c->events < (double)ESTIMATED_MIN * ENOUGH_SAMPLES;
}

/* Returns true if the site grew at first, and did not change in the second half. */
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

static struct mpr_trend trend(enum mpr_trend_kind kind, const struct mpr_history_value *from,
                              const struct mpr_history_value *to)
{
    const struct mpr_level a = { .added = from->variance_added, .removed = from->variance_removed },
                           b = { .added = to->variance_added, .removed = to->variance_removed };
    return (struct mpr_trend){ .kind = kind,
                               .growth = { .bytes = mpr_saturating_sub(to->bytes, from->bytes),
                                           .blocks = mpr_saturating_sub(to->blocks, from->blocks),
                                           .live = mpr_saturating_sub(to->live, from->live) },
                               .error = sqrt(variance(&a, &b)) };
}

struct mpr_trend mpr_trend(const struct mpr_history_value *v, size_t count)
{
    struct mpr_level level[MPR_HISTORY_MAX] = { { .held = 0 } };
    const struct course c = course_of(level, v, count);
    const struct mpr_history_value *warm = &v[c.warm], *last = &v[c.last];
    if (is_growing(&c, v)) return trend(MPR_TREND_GROWS, warm, last);
    if (has_levelled(level, count)) return trend(MPR_TREND_LEVELLED, v, last);
    return trend(has_few_samples(&c) ? MPR_TREND_FEW : MPR_TREND_OTHER, warm, last);
}
