#include "step_noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"

/* The peaks of a run's steps, sorted. */
struct step_peaks {
    uint64_t *peak;
    size_t count;
};

/* Returns the distance between the quartiles.  A few steps that also validate do not change it. */
static uint64_t spread_of(const struct step_peaks *s)
{
    return s->peak[s->count * 3 / 4] - s->peak[s->count / 4];
}

static bool overlap(const struct step_peaks *a, const struct step_peaks *b)
{
    return a->peak[0] <= b->peak[b->count - 1] && b->peak[0] <= a->peak[a->count - 1];
}

/* Returns true if the steps of one run are larger than those of the other by more than chance:
 * three standard errors of the Mann-Whitney statistic. */
static bool is_shifted(const struct step_peaks *a, const struct step_peaks *b)
{
    double larger_pairs = 0; /* an equal pair counts as a half */
    size_t less = 0, upto = 0;
    for (size_t i = 0; i < a->count; i++) {
        while (less < b->count && b->peak[less] < a->peak[i]) less++;
        while (upto < b->count && b->peak[upto] <= a->peak[i]) upto++;
        larger_pairs += (double)(less + upto) / 2;
    }
    const double pairs = (double)a->count * (double)b->count,
                 error = sqrt(pairs * (double)(a->count + b->count + 1) / 12);
    return fabs(larger_pairs - pairs / 2) > 3 * error;
}

/* Takes the peaks of the complete training steps, without the first one, in which the optimizer
 * makes its state. */
static struct step_peaks steps_of(struct mpr_arena *arena, const struct mpr_breakdown *b,
                                  const struct mpr_breakdown_heap *h)
{
    const size_t complete = h->step_peaks < b->steps ? h->step_peaks : b->steps;
    struct step_peaks s = { NULL, complete ? complete - 1 : 0 };
    if (!s.count) return s;
    s.peak = mpr_arena_alloc(arena, s.count * sizeof *s.peak);
    memcpy(s.peak, h->step_peak + 1, s.count * sizeof *s.peak);
    qsort(s.peak, s.count, sizeof *s.peak, mpr_compare_numbers);
    return s;
}

bool mpr_step_noise(struct mpr_arena *arena, const struct mpr_breakdown *const *breakdown,
                    const struct mpr_breakdown_heap *const *heap, struct mpr_sides peak,
                    struct mpr_sides *spread)
{
    enum { LEAST = 4 };
    struct step_peaks of[2];
    for (size_t i = 0; i < 2; i++) {
        of[i] = steps_of(arena, breakdown[i], heap[i]);
        if (of[i].count < LEAST) return false;
    }
    *spread = (struct mpr_sides){ spread_of(&of[0]), spread_of(&of[1]) };
    return overlap(&of[0], &of[1]) && mpr_sides_distance(peak) <= mpr_sides_smaller(*spread) &&
           !is_shifted(&of[0], &of[1]);
}
