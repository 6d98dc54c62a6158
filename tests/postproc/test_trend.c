/* What a site did, told from values that are made here: of samples, with the chance that they have.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "trend.h"

enum { INSTANTS = 46, WARM = 11, MEAN = 512 << 10, SITES = 1000 };

static struct mpr_history_value value[INSTANTS];

static int judged(void) { return (int)mpr_trend(value, INSTANTS).as; }

/* ---- samples */

static uint64_t state_of_chance;

static double chance(void)
{
    state_of_chance = state_of_chance * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_of_chance >> 11) / 0x1p53;
}

/* How many samples are seen of blocks that have so many on average. */
static unsigned samples(double average)
{
    unsigned count = 0;
    for (double p = chance(), least = exp(-average); p > least; p *= chance()) count++;
    return count;
}

/* A site that keeps blocks of so many samples, from instant to instant, until the last one; beside
 * blocks of so many that live from one instant to the next. */
struct site {
    double kept, passing;
    size_t until;
};

static void make(const struct site *site)
{
    unsigned all = 0, came = 0, went = 0, passing = 0;
    for (size_t i = 0; i < INSTANTS; i++) {
        const unsigned more = i < site->until ? samples(site->kept / INSTANTS) : 0;
        went += passing;
        passing = samples(site->passing);
        all += more;
        came += more + passing;
        const double each = (double)MEAN * MEAN;
        value[i] = (struct mpr_history_value){ .bytes = (uint64_t)(all + passing) * MEAN,
                                               .blocks = all + passing,
                                               .came = came * each,
                                               .went = went * each };
    }
}

/* How many of SITES such sites are judged so. */
static unsigned that_are(int as, double kept, double passing, size_t until)
{
    unsigned count = 0;
    state_of_chance = 42;
    for (size_t i = 0; i < SITES; i++) {
        make(&(struct site){ kept, passing, until });
        count += judged() == as;
    }
    return count;
}

static void a_leak_that_few_instants_see_grows(void **state)
{
    (void)state;
    assert_true(that_are(MPR_TREND_GROWS, 18, 0, INSTANTS) > SITES * 8 / 10);
    assert_true(that_are(MPR_TREND_GROWS, 36, 0, INSTANTS) > SITES * 95 / 100);
    assert_true(that_are(MPR_TREND_GROWS, 200, 0, INSTANTS) > SITES * 99 / 100);
    assert_true(that_are(MPR_TREND_GROWS, 200, 4, INSTANTS) > SITES * 8 / 10);
}

static void the_noise_of_samples_is_no_leak(void **state)
{
    static const double passing[] = { 0.3, 1, 2, 4, 8, 16, 50 };
    unsigned leaks = 0, caches = 0;
    (void)state;
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        leaks += that_are(MPR_TREND_GROWS, 0, passing[i], 0);
        caches += that_are(MPR_TREND_LEVELLED, 0, passing[i], 0);
    }
    assert_true(leaks <= 7); /* of 7,000 sites */
    assert_int_equal(caches, 0);
}

static void a_cache_of_samples_is_no_leak(void **state)
{
    static const double kept[] = { 9, 18, 36, 200 };
    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_int_equal(that_are(MPR_TREND_GROWS, kept[i], 0, INSTANTS / 2), 0);
        assert_int_equal(that_are(MPR_TREND_GROWS, kept[i], 0, INSTANTS * 7 / 10), 0);
    }
    assert_true(that_are(MPR_TREND_LEVELLED, 36, 0, INSTANTS / 2) > SITES * 95 / 100);
}

/* A handful of samples is neither a leak nor a cache. */
static void too_few_samples_do_not_tell(void **state)
{
    (void)state;
    assert_true(that_are(MPR_TREND_GROWS, 4, 0, INSTANTS) < SITES / 50);
    assert_true(that_are(MPR_TREND_LEVELLED, 4, 0, INSTANTS) < SITES / 50);
    assert_true(that_are(MPR_TREND_FEW, 6, 0, INSTANTS) > SITES * 7 / 10);
}

/* ---- the error */

static void blocks_that_live_at_both_instants_have_no_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < INSTANTS; i++) { /* 50 samples that stay, and one an instant */
        const double came = (double)(50 + i);
        value[i] = (struct mpr_history_value){ .bytes = (uint64_t)(50 + i) * MEAN,
                                               .came = came * MEAN * MEAN };
    }
    const struct mpr_trend t = mpr_trend(value, INSTANTS);
    const double grown = INSTANTS - 1 - WARM;
    assert_int_equal(t.as, MPR_TREND_GROWS);
    assert_int_equal(t.by.bytes, (uint64_t)grown * MEAN);
    assert_true(fabs(t.error - sqrt(grown) * MEAN) < 1);
}

/* However much came and went between the two, what lives at neither is no error of theirs. */
static void blocks_that_live_at_neither_instant_have_no_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < INSTANTS; i++) {
        const double gone = 1000.0 * (double)i, each = (double)MEAN * MEAN;
        value[i] = (struct mpr_history_value){ .bytes = (uint64_t)i * 10 * MEAN,
                                               .came = (gone + 10 * (double)i) * each,
                                               .went = gone * each };
    }
    const struct mpr_trend t = mpr_trend(value, INSTANTS);
    assert_true(fabs(t.error - sqrt(10 * (INSTANTS - 1) + 10 * WARM) * MEAN) < 1);
}

/* ---- exact values */

static void fill(uint64_t (*bytes)(size_t instant))
{
    for (size_t i = 0; i < INSTANTS; i++)
        value[i] = (struct mpr_history_value){ .bytes = bytes(i), .blocks = bytes(i) };
}

static uint64_t each_instant(size_t i) { return 10 * i; }
static uint64_t each_fifth(size_t i) { return i / 5; }
static uint64_t each_fifth_until_three_quarters(size_t i) { return (i < 34 ? i : 34) / 5; }
static uint64_t until_nine_tenths(size_t i) { return i < 41 ? i : 41; }
static uint64_t until_the_middle(size_t i) { return i < 23 ? i : 23; }
static uint64_t now_and_then_less(size_t i) { return 10 * i - (i % 3 ? 0 : 15); }
static uint64_t at_random(size_t i)
{
    state_of_chance = i;
    chance();
    return (uint64_t)(1000 * chance());
}

static void exact_sites_are_told_apart(void **state)
{
    static const struct {
        uint64_t (*bytes)(size_t);
        int as;
    } of[] = {
        { each_instant, MPR_TREND_GROWS },
        { each_fifth, MPR_TREND_GROWS },
        { each_fifth_until_three_quarters, MPR_TREND_OTHER },
        { until_nine_tenths, MPR_TREND_OTHER },
        { until_the_middle, MPR_TREND_LEVELLED },
        { now_and_then_less, MPR_TREND_OTHER },
        { at_random, MPR_TREND_OTHER },
    };
    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        fill(of[i].bytes);
        assert_int_equal(judged(), of[i].as);
    }
    fill(each_instant);
    assert_true(mpr_trend(value, INSTANTS).error == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leak_that_few_instants_see_grows),
        cmocka_unit_test(the_noise_of_samples_is_no_leak),
        cmocka_unit_test(a_cache_of_samples_is_no_leak),
        cmocka_unit_test(too_few_samples_do_not_tell),
        cmocka_unit_test(blocks_that_live_at_both_instants_have_no_error),
        cmocka_unit_test(blocks_that_live_at_neither_instant_have_no_error),
        cmocka_unit_test(exact_sites_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
