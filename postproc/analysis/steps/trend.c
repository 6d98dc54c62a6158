#include "history.h"

#include <math.h>

#include "amount.h"

/* At an instant. */
struct mpr_level {
    double held;       /* live samples; or bytes, of a site without samples */
    double came, went; /* until then; of estimates without samples, as variances */
};

/* ---- samples that come steadily
 *
 * A leak keeps samples at a steady rate; a cache that fills up, or a phase of loading, does not.
 * The test uses the *envelope* of some consecutive instants: the least that the site held at an
 * instant or at any later one, so the samples that came and stayed. If hardly any sample went, five
 * that came are not chance: a site that keeps as many as it loses has them in less than one of a
 * hundred runs (test_trend.c). Their times decide, because those of a leak are spread evenly.
 *
 * - They are at four instants at least, span half of the time since the warm-up and reach into its
 *   last quarter, and the probability that none came after the last one is at least 5 %. So caches
 *   that are full after four fifths of the log do not count as growth. With the last third instead
 *   of the last quarter, one in ten of 5 samples would count, and more than one in four of 12, for
 *   six more of a hundred leaks of 5 to 7 samples and three of 9.
 * - Their mean is not earlier than that of even times is in 19 of 20 runs: Laplace's test of a
 *   trend (Cox and Lewis, The Statistical Analysis of Series of Events, 1966, chapter 3.3). A cache
 *   that fills up ever more slowly fails it. Fewer than a dozen samples must also pass it with the
 *   warm-up included, in which a cache got most of its content.
 *
 * Several samples between two instants count once in the tests of times, because they may be from
 * one request. */

static const double RARE = 0.05;         /* a one-sided probability, and */
static const double RARE_ERRORS = 1.645; /* the standard errors that it corresponds to */
enum {
    SAMPLES_MIN = 5,
    INSTANTS_MIN = 4,
    SAMPLES_ALONE = 12, /* fewer samples must also be even if the warm-up is included */
    KEPT_OF = 8
};

/* The times at which the envelope rose, as shares of the time from the first instant to the last.
 */
struct times {
    size_t instants;
    double first, last;
    double grown, mean; /* the amount, and its average time */
};

static struct times times_of(const struct mpr_level *level, size_t first, size_t last)
{
    struct times t = { .instants = 0 };
    double least = level[last].held;
    const double all = (double)(last - first);
    for (size_t i = last; i > first; i--) {
        const double before = fmin(least, level[i - 1].held), rose = least - before;
        least = before;
        if (rose == 0) continue;
        if (!t.instants++) t.last = (double)(i - first) / all;
        t.first = (double)(i - first - 1) / all;
        t.grown += rose;
        t.mean += rose * ((double)(i - first) - 0.5) / all;
    }
    if (t.grown > 0) t.mean /= t.grown;
    return t;
}

/* A uniformly distributed time has the mean 1/2 and the variance 1/12. */
static bool is_early(const struct times *t)
{
    return t->instants && t->mean < 0.5 - RARE_ERRORS / sqrt(12 * (double)t->instants);
}

/* Returns true if the time since the last one may be chance. */
static bool may_go_on(const struct times *t)
{
    return !is_early(t) && pow(t->last, (double)t->instants) >= RARE;
}

/* Returns true if a site that keeps its samples grows: if the times of those that stayed may be
 * even, also with the warm-up, in which the site got all that it held at the first instant. */
static bool grows_steadily(const struct mpr_level *level, size_t warm, size_t last)
{
    struct mpr_level all[MPR_HISTORY_MAX + 1] = { { .held = 0 } };
    const struct times t = times_of(level, warm, last);
    if (t.grown < SAMPLES_MIN || t.instants < INSTANTS_MIN || !may_go_on(&t)) return false;
    if (t.last - t.first < 1.0 / 2 || t.last <= 3.0 / 4) return false;
    if (t.grown >= SAMPLES_ALONE) return true;
    for (size_t i = 0; i <= last; i++) all[i + 1] = level[i];
    const struct times with_warm_up = times_of(all, 0, last + 1);
    return !is_early(&with_warm_up);
}

/* Returns true if at least seven of eight samples since the warm-up stayed. */
static bool keeps(const struct mpr_level *level, size_t warm, size_t last)
{
    double fell = 0;
    for (size_t i = warm + 1; i <= last; i++) fell += fmax(0, level[i - 1].held - level[i].held);
    return KEPT_OF * fell <= level[last].held - level[warm].held;
}

/* ---- growth */

static const double ERRORS = 2.5; /* standard errors by which an estimate must have grown */
enum {
    ESTIMATED_MIN = 4, /* joined intervals of an estimate */
    JOINED_MIN = 6,    /* joined intervals of an exact site */
    ENOUGH_SAMPLES = 4,
    FEW_MIN = 3,      /* samples by which a site that may grow has grown: many have one or two */
    ENOUGH_RISES = 3, /* in an interval, so that an interval without growth is not chance */
    ENOUGH_BLOCKS = 8 /* instants at which an exact site rose, so that its blocks can be tested */
};

/* The course of a site from the end of the warm-up to the last instant. */
struct course {
    const struct mpr_level *level;
    size_t warm, last;
    size_t rises;
    bool fell, sank; /* below the previous level; below that of the warm-up, not by chance */
    double grown, variance;
    double events;      /* number of rises, or of samples, that make up the growth */
    bool counted;       /* levels are numbers of samples */
    struct times times; /* of an estimate: when it rose to stay */
};

/* ---- the error of a difference */

/* The variance of all blocks that came or went. */
static double moved(const struct mpr_level *from, const struct mpr_level *to)
{
    return to->came - from->came + to->went - from->went;
}

/* The variance of the difference. Blocks that lived at both instants must not count. One sum
 * includes blocks that came and went in between, the other one blocks that lived at both: the
 * smaller sum is closer. */
static double variance(const struct mpr_level *from, const struct mpr_level *to)
{
    const double between = moved(from, to), both = from->came - from->went + to->came - to->went;
    return fmax(0, fmin(between, both));
}

static bool is_above_chance(double grown, double variance)
{
    return grown > 0 && grown * grown >= ERRORS * ERRORS * variance;
}

/* ---- levels */

/* A site's levels are the numbers of its samples, which do not depend on their sizes or on the
 * limit of estimates (mpr_within), or else its bytes. */
static struct course course_of(struct mpr_level *l, const struct mpr_history_value *v, size_t count)
{
    struct course c = { .level = l,
                        .warm = mpr_trend_warm(count),
                        .last = count - 1,
                        .counted = v[count - 1].samples > 0 };
    for (size_t i = 0; i < count; i++)
        l[i] = c.counted ? (struct mpr_level){ (double)v[i].live, (double)v[i].samples,
                                               (double)(v[i].samples - v[i].live) }
                         : (struct mpr_level){ (double)v[i].bytes, v[i].came, v[i].went };
    const struct mpr_level *warm = &l[c.warm], *last = &l[c.last];
    for (size_t i = c.warm + 1; i < count; i++) {
        c.rises += l[i].held > l[i - 1].held;
        c.fell |= l[i].held < l[i - 1].held;
        c.sank |= is_above_chance(warm->held - l[i].held, variance(warm, &l[i]));
    }
    c.grown = last->held - warm->held;
    c.variance = variance(warm, last);
    c.events = c.variance > 0 ? c.grown * c.grown / moved(warm, last) : (double)c.rises;
    if (c.variance > 0) c.times = times_of(l, c.warm, c.last);
    return c;
}

/* Returns true if the site grew in nine of ten of the newest intervals.  @width: of each, in
 * instants.
 */
static bool grew_often(const struct course *c, size_t width, size_t intervals)
{
    size_t grew = 0, at = c->last;
    const struct mpr_level *l = c->level;
    if (width > 1 && l[at].held <= l[at - width].held) return false;
    for (size_t i = 0; i < intervals; i++, at -= width) grew += l[at].held > l[at - width].held;
    return 10 * grew >= 9 * intervals;
}

/* Joins intervals as long as that makes sense.  It does not for an exact site that fell sometimes,
 * because each of its changes is known. */
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

/* Returns true if less than a quarter of the growth came in the second half.  A program that loads
 * data at its start, and a little more later, does not grow steadily. */
static bool is_loading(const struct course *c)
{
    enum { SHARE = 4 };
    const double middle = c->level[(c->warm + c->last) / 2].held;
    return c->variance == 0 && SHARE * (c->level[c->last].held - middle) < c->grown;
}

/* Tests the blocks of an exact site like samples, if there are enough. So a site that makes a block
 * now and then, such as an arena of Python, may free one, or pause. */
static bool comes_steadily(const struct course *c, const struct mpr_history_value *v)
{
    struct mpr_level blocks[MPR_HISTORY_MAX] = { { .held = 0 } };
    if (c->variance > 0 || c->rises < ENOUGH_BLOCKS) return false;
    for (size_t i = 0; i <= c->last; i++) blocks[i].held = (double)v[i].blocks;
    return keeps(blocks, c->warm, c->last) && grows_steadily(blocks, c->warm, c->last);
}

static bool is_growing(const struct course *c, const struct mpr_history_value *v)
{
    if (c->sank || is_loading(c)) return false;
    if (comes_steadily(c, v)) return true;
    if (c->counted && keeps(c->level, c->warm, c->last))
        return grows_steadily(c->level, c->warm, c->last);
    if (c->counted && !may_go_on(&c->times)) return false;
    return is_above_chance(c->grown, c->variance) && grew_in_intervals(c);
}

/* Returns true if the samples are too few to exclude growth. */
static bool has_few(const struct course *c)
{
    if (c->counted && c->grown < FEW_MIN) return false;
    const struct mpr_level *l = c->level;
    const size_t middle = (c->warm + c->last) / 2;
    return c->variance > 0 && !c->sank && may_go_on(&c->times) &&
           l[c->last].held > l[middle].held && l[middle].held >= l[c->warm].held &&
           c->events < (double)ESTIMATED_MIN * ENOUGH_SAMPLES;
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
    const struct mpr_level a = { .came = from->came, .went = from->went },
                           b = { .came = to->came, .went = to->went };
    return (struct mpr_trend){ .as = as,
                               .by = { .bytes = mpr_saturating_sub(to->bytes, from->bytes),
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
    return trend(has_few(&c) ? MPR_TREND_FEW : MPR_TREND_OTHER, warm, last);
}
