#include "steady.h"

#include <math.h>

#include "history.h"

static const double RARE = 0.05; /* one-sided, as are so many standard errors: */
static const double ERRORS = 1.645;
enum {
    LEAST = 5, /* samples */
    LEAST_INSTANTS = 4,
    LEAST_ALONE = 12, /* samples: of fewer the warm-up is asked, too */
    KEPT_OF = 8
};

/* Times at which the envelope rose, as shares of the time from the first instant to the last. */
struct times {
    size_t instants;
    double first, last;
    double grown, mean; /* by how much, and when on average */
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

/* An even time has the mean 1/2 and the variance 1/12. */
static bool is_early(const struct times *t)
{
    return t->instants && t->mean < 0.5 - ERRORS / sqrt(12 * (double)t->instants);
}

/* Everything that was there at the first instant came before it. */
static bool is_early_at_all(const struct mpr_level *level, size_t last)
{
    struct mpr_level all[MPR_HISTORY_MAX + 1] = { { .held = 0 } };
    for (size_t i = 0; i <= last; i++) all[i + 1] = level[i];
    const struct times t = times_of(all, 0, last + 1);
    return is_early(&t);
}

/* That the last one came so long ago is no rare chance. */
static bool may_go_on(const struct times *t)
{
    return !is_early(t) && pow(t->last, (double)t->instants) >= RARE;
}

bool mpr_steady_keeps(const struct mpr_level *level, size_t warm, size_t last)
{
    double fell = 0;
    for (size_t i = warm + 1; i <= last; i++) fell += fmax(0, level[i - 1].held - level[i].held);
    return KEPT_OF * fell <= level[last].held - level[warm].held;
}

bool mpr_steady_may(const struct mpr_level *level, size_t warm, size_t last)
{
    const struct times t = times_of(level, warm, last);
    return may_go_on(&t);
}

bool mpr_steady_grows(const struct mpr_level *level, size_t warm, size_t last)
{
    const struct times t = times_of(level, warm, last);
    if (t.grown < LEAST || t.instants < LEAST_INSTANTS || !may_go_on(&t)) return false;
    if (t.last - t.first < 1.0 / 2 || t.last <= 3.0 / 4) return false;
    return t.grown >= LEAST_ALONE || !is_early_at_all(level, last);
}
