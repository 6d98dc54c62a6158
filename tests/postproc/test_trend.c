/* Sites are judged by their growth. The tests use generated samples with known probabilities. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "history.h"

enum { INSTANTS = 46, WARM = 11, MEAN = 512 << 10, SITES = 1000 };

static struct mpr_history_value value[INSTANTS];

static int judged(void) { return (int)mpr_trend(value, INSTANTS).kind; }

/* ---- samples */

static uint64_t state_of_chance;

static double chance(void)
{
    state_of_chance = state_of_chance * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_of_chance >> 11) / 0x1p53;
}

/* Returns a random number of samples with this average. */
static unsigned samples(double average)
{
    unsigned count = 0;
    for (double p = chance(), limit = exp(-average); p > limit; p *= chance()) count++;
    return count;
}

/* ---- sites: each sample begins and ends at fractions of the time between the first and the last
 * instant; earlier samples exist at the first instant */

static void begin(void)
{
    for (size_t i = 0; i < INSTANTS; i++) value[i] = (struct mpr_history_value){ .bytes = 0 };
}

static size_t instant_of(double time)
{
    return time < 0 ? 0 : time < 1 ? (size_t)(time * INSTANTS) : INSTANTS;
}

static void sample(double born, double gone)
{
    const double each = (double)MEAN * MEAN;
    if (gone <= 0) return;
    for (size_t i = instant_of(born); i < INSTANTS; i++) {
        const bool is_gone = i >= instant_of(gone);
        value[i].samples++;
        value[i].live += !is_gone;
        value[i].bytes += is_gone ? 0 : MEAN;
        value[i].variance_added += each;
        value[i].variance_removed += is_gone ? each : 0;
    }
}

/* Adds samples that stay, allocated between two times. */
static void add_living(unsigned count, double from, double to)
{
    for (unsigned i = 0; i < count; i++) sample(from + (to - from) * chance(), 2);
}

static double exponential(double mean) { return -mean * log(1 - chance()); }

/* Adds samples that are freed, of which `living` exist at any time. */
static void add_passing(double living, double life)
{
    const double before = 6 * life;
    for (unsigned i = samples(living * (1 + before) / life); i > 0; i--) {
        const double born = chance() * (1 + before) - before;
        sample(born, born + exponential(life));
    }
}

/* Adds the samples of a cache with this number of entries and random hits, which fills more and
 * more slowly. */
static void fill_up(unsigned count, double time)
{
    for (unsigned i = 0; i < count; i++) sample(exponential(time), 2);
}

/* Makes a site from two numbers, whose meaning depends on the kind. */
typedef void make_site(double count, double time);

static void make_leak(double count, double passing)
{
    add_living(samples(count), 0, 1);
    if (passing > 0) add_passing(passing, 0.001);
}
/* Exactly `count` since the warm-up, and a third of that before. */
static void leak_of(double count, double time)
{
    add_living((unsigned)count, time, 1);
    add_living(samples(count * time / (1 - time)), 0, time);
}
static void leak_from(double count, double time) { add_living(samples(count), time, 1); }
static void leak_after_loading(double count, double make_loaded)
{
    add_living((unsigned)make_loaded, 0.01, 0.03);
    add_living(samples(count), 0, 1);
}
/* In one burst at each tenth of the time, as of a request. */
static void leak_in_bursts(double count, double time)
{
    (void)time;
    for (unsigned i = samples(count); i > 0; i--) sample(floor(10 * chance()) / 10 + 0.05, 2);
}
static void full_after(double count, double time) { add_living(samples(count), 0, time); }
static void filling(double count, double time) { fill_up(samples(count), time); }
static void steady(double living, double life) { add_passing(living, life); }
/* Loaded within a tenth of the time, starting at any time. */
static void make_loaded(double count, double time)
{
    const double from = 0.2 + 0.7 * chance();
    add_living(samples(count), from, from + time);
}

/* Returns how many of SITES such sites are judged in this way. */
static unsigned count_judged(int kind, make_site *make, double count, double time)
{
    unsigned sites = 0;
    state_of_chance = 42;
    for (size_t i = 0; i < SITES; i++) {
        begin();
        make(count, time);
        sites += judged() == kind;
    }
    return sites;
}

static unsigned leaks(make_site *make, double count, double time)
{
    return count_judged(MPR_TREND_GROWS, make, count, time);
}

#define PERCENT(n) ((n) * (SITES / 100))

static void a_leak_of_few_samples_grows(void **state)
{
    const double warm = (double)(WARM + 1) / INSTANTS;
    (void)state;
    assert_in_range(leaks(leak_of, 5, warm), PERCENT(65), SITES);
    assert_in_range(leaks(leak_of, 7, warm), PERCENT(80), SITES);
    assert_in_range(leaks(leak_of, 10, warm), PERCENT(90), SITES);
    assert_in_range(leaks(leak_of, 18, warm), PERCENT(93), SITES);
    assert_in_range(leaks(make_leak, 200, 0), PERCENT(98), SITES);
}

static void a_leak_among_temporary_blocks_grows(void **state)
{
    (void)state;
    assert_in_range(leaks(make_leak, 36, 1), PERCENT(60), SITES);
    assert_in_range(leaks(make_leak, 200, 1), PERCENT(95), SITES);
    assert_in_range(leaks(make_leak, 200, 4), PERCENT(85), SITES);
}

static void a_leak_need_not_begin_with_the_program(void **state)
{
    (void)state;
    assert_in_range(leaks(leak_from, 9, 0.3), PERCENT(85), SITES);
    assert_in_range(leaks(leak_from, 36, 0.5), PERCENT(95), SITES);
    assert_in_range(leaks(leak_after_loading, 36, 10), PERCENT(90), SITES);
}

static void a_leak_may_come_in_bursts(void **state)
{
    (void)state;
    assert_in_range(leaks(leak_in_bursts, 18, 0), PERCENT(90), SITES);
    assert_in_range(leaks(leak_in_bursts, 200, 0), PERCENT(98), SITES);
}

static void the_noise_of_samples_is_not_a_leak(void **state)
{
    static const double living[] = { 0.3, 1, 2, 4, 8, 16, 50 }, life[] = { 0.001, 0.03, 0.2, 1 };
    (void)state;
    for (size_t l = 0; l < sizeof life / sizeof *life; l++)
        for (size_t i = 0; i < sizeof living / sizeof *living; i++) {
            assert_in_range(leaks(steady, living[i], life[l]), 0, PERCENT(1));
            assert_in_range(count_judged(MPR_TREND_LEVELLED, steady, living[i], life[l]), 0,
                            PERCENT(1));
        }
}

static void a_sampled_cache_is_not_a_leak(void **state)
{
    static const double count[] = { 6, 9, 18, 36, 200 };
    (void)state;
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        assert_int_equal(leaks(full_after, count[i], 0.5), 0);
        assert_int_equal(leaks(full_after, count[i], 0.7), 0);
        assert_int_equal(leaks(full_after, count[i], 0.8), 0);
        for (double time = 0.05; time < 0.21; time += 0.05)
            assert_in_range(leaks(filling, count[i], time), 0, PERCENT(1));
        assert_in_range(leaks(make_loaded, count[i], 0.1), 0, PERCENT(1));
    }
    assert_in_range(count_judged(MPR_TREND_LEVELLED, full_after, 36, 0.5), PERCENT(95), SITES);
}

/* A few samples indicate neither a leak nor a cache. */
static void too_few_samples_give_no_judgement(void **state)
{
    (void)state;
    assert_in_range(leaks(leak_of, 4, 0.25), 0, 0);
    assert_in_range(count_judged(MPR_TREND_LEVELLED, make_leak, 4, 0), 0, PERCENT(2));
    assert_in_range(count_judged(MPR_TREND_FEW, leak_of, 4, 0.25), PERCENT(70), SITES);
    assert_in_range(count_judged(MPR_TREND_FEW, leak_of, 2, 0.25), 0, 0);
}

/* ---- the error */

static void blocks_that_live_at_both_instants_have_no_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < INSTANTS; i++) { /* 50 samples that stay, and one per instant */
        const double came = (double)(50 + i);
        value[i] = (struct mpr_history_value){ .bytes = (uint64_t)(50 + i) * MEAN,
                                               .variance_added = came * MEAN * MEAN };
    }
    const struct mpr_trend t = mpr_trend(value, INSTANTS);
    const double grown = INSTANTS - 1 - WARM;
    assert_int_equal(t.kind, MPR_TREND_GROWS);
    assert_int_equal(t.growth.bytes, (uint64_t)grown * MEAN);
    assert_true(fabs(t.error - sqrt(grown) * MEAN) < 1);
}

/* Blocks that were allocated and freed between two instants do not contribute to their error. */
static void blocks_that_live_at_neither_instant_have_no_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < INSTANTS; i++) {
        const double gone = 1000.0 * (double)i, each = (double)MEAN * MEAN;
        value[i] = (struct mpr_history_value){ .bytes = (uint64_t)i * 10 * MEAN,
                                               .variance_added = (gone + 10 * (double)i) * each,
                                               .variance_removed = gone * each };
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
/* Arenas of 1 MiB that are added one at a time, with a pause. One is released and added again. */
static uint64_t arenas(size_t i) { return i < 16 ? i / 3 : i < 22 ? 5 : 5 + (i - 20) / 2; }
static uint64_t arenas_with_one_less(size_t i) { return arenas(i) - (i == 29); }
static uint64_t arenas_to_and_fro(size_t i) { return arenas(i) - (i % 4 == 0); }
static uint64_t at_random(size_t i)
{
    state_of_chance = i;
    chance();
    return (uint64_t)(1000 * chance());
}

/* A small growth at each instant after the start. */
static uint64_t start_up(size_t i) { return i < 20 ? 100 * i : 2000 + i; }

static void exact_sites_are_judged_by_their_growth(void **state)
{
    static const struct {
        uint64_t (*bytes)(size_t);
        int kind;
    } cases[] = {
        { each_instant, MPR_TREND_GROWS },
        { each_fifth, MPR_TREND_GROWS },
        { each_fifth_until_three_quarters, MPR_TREND_OTHER },
        { until_nine_tenths, MPR_TREND_OTHER },
        { until_the_middle, MPR_TREND_LEVELLED },
        { now_and_then_less, MPR_TREND_OTHER },
        { arenas, MPR_TREND_GROWS },
        { arenas_with_one_less, MPR_TREND_GROWS },
        { arenas_to_and_fro, MPR_TREND_OTHER },
        { at_random, MPR_TREND_OTHER },
        { start_up, MPR_TREND_OTHER },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fill(cases[i].bytes);
        assert_int_equal(judged(), cases[i].kind);
    }
    fill(each_instant);
    assert_true(mpr_trend(value, INSTANTS).error == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leak_of_few_samples_grows),
        cmocka_unit_test(a_leak_among_temporary_blocks_grows),
        cmocka_unit_test(a_leak_need_not_begin_with_the_program),
        cmocka_unit_test(a_leak_may_come_in_bursts),
        cmocka_unit_test(the_noise_of_samples_is_not_a_leak),
        cmocka_unit_test(a_sampled_cache_is_not_a_leak),
        cmocka_unit_test(too_few_samples_give_no_judgement),
        cmocka_unit_test(blocks_that_live_at_both_instants_have_no_error),
        cmocka_unit_test(blocks_that_live_at_neither_instant_have_no_error),
        cmocka_unit_test(exact_sites_are_judged_by_their_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
