/* Levels of detail have the same values as a simple model that keeps the state after every
 * event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "levels.h"
#include "replay.h"

#define H MPF_HEAP_HOST
enum { THREADS = 5, EVENTS = 6000 };

/* The heap's state from `time` on. */
struct state {
    uint64_t time, total, by_group[THREADS + 1], more[THREADS + 1], variance[THREADS + 1];
};

static struct mpr_replay replay;
static struct mpr_levels *levels;
static struct state *state;
static size_t states;
static bool sampled; /* some blocks have a call stack, and represent others */
static uint64_t seed;

static uint64_t dice(uint64_t sides)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (seed >> 33) % sides;
}

static void keep(uint64_t time)
{
    struct state now = { time, replay.accounts.heap[H].bytes, { 0 }, { 0 }, { 0 } };
    for (uint32_t i = 0; i < replay.accounts.cells; i++) {
        const uint64_t group = replay.accounts.cell[i].key;
        now.by_group[group] = replay.accounts.cell[i].bytes;
        now.more[group] = mpr_estimates_bytes_now(&replay.estimates, i);
        now.variance[group] = mpr_estimates_variance_now(&replay.estimates, &replay.accounts, i);
    }
    state[states++] = now;
}

static void apply(uint64_t time, uint32_t thread, unsigned op, uint64_t addr, uint64_t size)
{
    const struct mpf_event e = {
        .time = time, .addr = addr, .size = size, .thread = thread, .op = (uint8_t)op, .heap = H
    };
    if (sampled && thread < replay.threads.count && replay.threads.at[thread] && dice(2))
        replay.threads.at[thread]->at = (struct mpr_site){ .python = 1 };
    mpr_replay_batch(&replay, &e, 1);
}

static void event(uint64_t time, uint32_t thread, unsigned op, uint64_t addr, uint64_t size)
{
    apply(time, thread, op, addr, size);
    keep(time);
}

static void begin(const struct mpr_levels_options *options)
{
    const struct mpr_replay_options by = { .by = MPR_GROUP_THREAD,
                                           .at = MPR_INSTANT_PEAK,
                                           .sample_mean = sampled ? 65536 : 0,
                                           .sample_below = 80000 };
    struct mpr_levels_options all = *options;
    mpr_replay_init(&replay, &by);
    if (sampled) all.estimates = &replay.estimates;
    levels = mpr_levels_new(&all, &replay.now);
    assert_non_null(levels);
    replay.accounts.levels = levels;
    state = calloc(EVENTS + 10, sizeof *state);
    states = 0;
}

static void end(void) { mpr_levels_finish(levels, &replay.accounts); }

static void release(void)
{
    mpr_levels_free(levels);
    mpr_replay_free(&replay);
    free(state);
}

/* Bursts, pauses, growth and decline. Blocks change their size class by realloc. */
static void random_trace(uint64_t with_seed)
{
    enum { BLOCKS = 64 };
    uint8_t live[BLOCKS] = { 0 };
    uint64_t time = 1000000;
    seed = with_seed;
    while (states < EVENTS) {
        const uint64_t block = dice(BLOCKS), addr = (block + 1) << 16, size = 1 + dice(100000);
        const uint32_t thread = 1 + (uint32_t)dice(THREADS);
        time += dice(50) ? 30000 + dice(100000) : dice(400000000);
        if (!live[block]) event(time, thread, MPF_OP_ALLOC, addr, size);
        else if (dice(3)) event(time, thread, MPF_OP_FREE, addr, 0);
        else {
            apply(time, thread, MPF_OP_MOVE_BEGIN, addr, 0);
            event(time, thread, MPF_OP_MOVE_END, addr, size);
            continue;
        }
        live[block] ^= 1;
    }
}

static const struct state *state_at(uint64_t time)
{
    const struct state *found = NULL;
    for (size_t i = 0; i < states && state[i].time <= time; i++) found = &state[i];
    return found;
}

/* Returns the largest of the states that begin in [from, to). */
static const struct state *largest(uint64_t from, uint64_t to)
{
    const struct state *found = NULL;
    for (size_t i = 0; i < states; i++) {
        if (state[i].time >= from && state[i].time < to &&
            (!found || state[i].total > found->total))
            found = &state[i];
    }
    return found;
}

static const struct mpr_series *series(void) { return &levels->level[H].series; }

/* Calls check with every bucket's vector by thread, and with those of the estimates after it. */
static void each_bucket(void (*check)(const struct mpr_bucket *bucket, const uint64_t *by_group))
{
    uint64_t vector[MPR_LEVELS_NUMBERS][THREADS + 1] = { { 0 } };
    const uint32_t numbers = sampled ? MPR_LEVELS_NUMBERS : 1;
    size_t at = 0;
    for (size_t i = 0; i < series()->buckets; i++) {
        const struct mpr_bucket *bucket = &series()->bucket[i];
        for (; at < bucket->end; at++) {
            const struct mpr_signed_difference *c = &series()->change[at];
            vector[c->group % numbers][replay.accounts.cell[c->group / numbers].key] = c->bytes;
        }
        check(bucket, vector[0]);
    }
}

static void is_exact(const struct mpr_bucket *bucket, const uint64_t *by_group)
{
    const uint64_t from = bucket->key << series()->shift, to = (bucket->key + 1) << series()->shift;
    uint64_t sum = 0;
    for (int i = 0; i <= THREADS; i++) sum += by_group[i];
    assert_int_equal(sum, bucket->max);
    const struct state *top = state_at(bucket->time), *inside = largest(from, to);
    assert_true(bucket->time >= from && bucket->time < to);
    assert_int_equal(top->total, bucket->max);
    assert_true(!inside || inside->total <= bucket->max);
    assert_memory_equal(top->by_group, by_group, sizeof top->by_group);
    assert_memory_equal(top->more, by_group + THREADS + 1, sizeof top->more);
    assert_memory_equal(top->variance, by_group + 2 * (THREADS + 1), sizeof top->variance);
    assert_int_equal(state_at(to - 1)->total, bucket->close);
    assert_true(bucket->min <= bucket->max && bucket->min <= bucket->close);
}

static void every_vector_is_the_one_at_the_maximum(void **unused)
{
    (void)unused;
    for (uint64_t round = 1; round <= 20; round++) {
        sampled = round > 10;
        begin(&(struct mpr_levels_options){
            .to = UINT64_MAX, .buckets = 50 * round, .changes = 100000 });
        random_trace(round);
        end();
        assert_true(series()->buckets <= 50 * round);
        assert_true(series()->buckets >= 10 * round);
        assert_int_equal(replay.estimates.cells > 0, sampled);
        each_bucket(is_exact);
        release();
    }
    sampled = false;
}

/* The buckets are widened many times, until there are two. */
static void few_buckets_are_as_exact_as_many(void **unused)
{
    (void)unused;
    for (uint64_t buckets = 2; buckets <= 40; buckets++) {
        begin(&(struct mpr_levels_options){
            .to = UINT64_MAX, .buckets = buckets, .changes = 100000 });
        random_trace(100 + buckets);
        end();
        assert_in_range(series()->buckets, 1, buckets);
        for (size_t i = 1; i < series()->buckets; i++)
            assert_true(series()->bucket[i - 1].key < series()->bucket[i].key);
        each_bucket(is_exact);
        release();
    }
}

/* If nothing is stored, the newest vector applies. */
static void pauses_show_the_level_that_lasts(void **unused)
{
    (void)unused;
    begin(&(struct mpr_levels_options){ .to = UINT64_MAX, .buckets = 300, .changes = 100000 });
    random_trace(7);
    end();
    const struct mpr_series *s = series();
    size_t gaps = 0;
    for (size_t i = 0; i + 1 < s->buckets; i++) {
        if (s->bucket[i + 1].key == s->bucket[i].key + 1) continue;
        assert_int_equal(state_at((s->bucket[i + 1].key << s->shift) - 1)->total, s->bucket[i].max);
        gaps++;
    }
    assert_true(gaps > 10);
    release();
}

static void a_spike_of_one_event_survives(void **unused)
{
    (void)unused;
    begin(&(struct mpr_levels_options){ .to = UINT64_MAX, .buckets = 16, .changes = 100000 });
    for (uint64_t i = 0; i < 2000; i++)
        event(i * 1000000, 1, i % 2 ? MPF_OP_FREE : MPF_OP_ALLOC, 0x1000, 10);
    event(2000000000, 2, MPF_OP_ALLOC, 0x2000, 1 << 20);
    event(2000050000, 2, MPF_OP_FREE, 0x2000, 0);
    for (uint64_t i = 0; i < 2000; i++)
        event(2100000000 + i * 1000000, 1, i % 2 ? MPF_OP_FREE : MPF_OP_ALLOC, 0x1000, 10);
    end();
    uint64_t highest = 0;
    for (size_t i = 0; i < series()->buckets; i++)
        if (series()->bucket[i].max > highest) highest = series()->bucket[i].max;
    assert_int_equal(highest, 1 << 20);
    assert_int_equal(highest, replay.accounts.heap[H].peak_bytes);
    release();
}

static void all_changes_are_kept_if_they_are_few(void **unused)
{
    (void)unused;
    begin(&(struct mpr_levels_options){ .to = UINT64_MAX, .buckets = 40, .changes = 1000 });
    for (uint64_t i = 0; i < 40; i++) event(i * 777777, 1, MPF_OP_ALLOC, i << 12, 100 + i);
    end();
    assert_int_equal(series()->shift, 0);
    assert_int_equal(series()->buckets, 40);
    for (size_t i = 0; i < 40; i++) assert_int_equal(series()->bucket[i].time, i * 777777);
    release();
}

static void realloc_makes_no_minimum(void **unused)
{
    (void)unused;
    begin(&(struct mpr_levels_options){ .to = UINT64_MAX, .buckets = 4, .changes = 1000 });
    for (uint64_t i = 0; i < 20; i++) event(i * 100000, 1, MPF_OP_ALLOC, (i + 1) << 12, 100);
    apply(4000000, 1, MPF_OP_MOVE_BEGIN, 1 << 12, 0);
    event(4000000, 1, MPF_OP_MOVE_END, 1 << 12, 90);
    event(5000000, 1, MPF_OP_ALLOC, 0x700000, 100);
    end();
    const struct mpr_bucket *last = &series()->bucket[series()->buckets - 1];
    assert_int_equal(last->close, 2090);
    for (size_t i = 1; i < series()->buckets; i++) {
        if (series()->bucket[i].time >= 4000000) assert_true(series()->bucket[i].min >= 1990);
    }
    release();
}

/* A window begins with the state at its start, and ends. */
static void only_the_time_window_is_recorded(void **unused)
{
    (void)unused;
    begin(
        &(struct mpr_levels_options){ .from = 1000, .to = 2000, .buckets = 100, .changes = 1000 });
    event(500, 1, MPF_OP_ALLOC, 0x1000, 100);
    event(1500, 2, MPF_OP_ALLOC, 0x2000, 10);
    event(1900, 1, MPF_OP_FREE, 0x1000, 0);
    event(2500, 2, MPF_OP_ALLOC, 0x3000, 1000);
    end();
    const struct mpr_series *s = series();
    assert_int_equal(s->buckets, 3);
    assert_int_equal(s->bucket[0].time, 1000);
    assert_int_equal(s->bucket[0].max, 100);
    assert_int_equal(s->bucket[1].max, 110);
    assert_int_equal(s->bucket[2].close, 10);
    release();
}

static void a_group_changes_once_in_a_bucket(void **unused)
{
    (void)unused;
    begin(&(struct mpr_levels_options){ .to = UINT64_MAX, .buckets = 4, .changes = 1000 });
    random_trace(4);
    end();
    const struct mpr_series *s = series();
    for (size_t b = 0, from = 0; b < s->buckets; from = s->bucket[b++].end) {
        for (size_t i = from; i < s->bucket[b].end; i++)
            for (size_t k = from; k < i; k++)
                assert_int_not_equal(s->change[i].group, s->change[k].group);
    }
    release();
}

/* If more groups change than may be kept, buckets become wider instead of using more memory. */
static void memory_is_bounded(void **unused)
{
    (void)unused;
    begin(&(struct mpr_levels_options){ .to = UINT64_MAX, .buckets = 10000, .changes = 200 });
    random_trace(3);
    end();
    assert_true(series()->changes <= 200 + 2 * THREADS);
    each_bucket(is_exact);
    release();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_is_the_one_at_the_maximum),
        cmocka_unit_test(few_buckets_are_as_exact_as_many),
        cmocka_unit_test(pauses_show_the_level_that_lasts),
        cmocka_unit_test(a_spike_of_one_event_survives),
        cmocka_unit_test(all_changes_are_kept_if_they_are_few),
        cmocka_unit_test(realloc_makes_no_minimum),
        cmocka_unit_test(only_the_time_window_is_recorded),
        cmocka_unit_test(a_group_changes_once_in_a_bucket),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
