/* Excerpts have the same states as a simple model that keeps the state after every event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "excerpts.h"
#include "levels.h"
#include "replay.h"

#define H MPF_HEAP_HOST
enum { THREADS = 5, EVENTS = 6000, HALF = 64 };

/* The heap's state from `time` on. */
struct state {
    uint64_t time, total, by_group[THREADS + 1], more[THREADS + 1];
};

static struct mpr_replay replay;
static struct mpr_excerpts *excerpts;
static struct state state[EVENTS];
static size_t states;
static uint64_t seed, now;
static bool sampled; /* some blocks have a call stack, and represent others */

static uint64_t dice(uint64_t sides)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (seed >> 33) % sides;
}

static void event(uint32_t thread, unsigned op, uint64_t addr, uint64_t size)
{
    const struct mpf_event e = {
        .time = now, .addr = addr, .size = size, .thread = thread, .op = (uint8_t)op, .heap = H
    };
    if (sampled && thread < replay.threads.count && replay.threads.at[thread] && dice(2))
        replay.threads.at[thread]->at = (struct mpr_site){ .python = 1 };
    mpr_replay_batch(&replay, &e, 1);
    struct state *s = &state[states++];
    *s = (struct state){ now, replay.accounts.heap[H].bytes, { 0 }, { 0 } };
    for (uint32_t i = 0; i < replay.accounts.cells; i++) {
        s->by_group[replay.accounts.cell[i].key] = replay.accounts.cell[i].bytes;
        s->more[replay.accounts.cell[i].key] = mpr_estimates_bytes_now(&replay.estimates, i);
    }
}

static int begin(void **unused)
{
    (void)unused;
    const struct mpr_replay_options by = { .by = MPR_GROUP_THREAD,
                                           .at = MPR_INSTANT_PEAK,
                                           .sample_mean = sampled ? 65536 : 0,
                                           .sample_below = 80000 };
    mpr_replay_init(&replay, &by);
    excerpts = mpr_excerpts_new(HALF, &replay.now);
    assert_non_null(excerpts);
    if (sampled) excerpts->estimates = &replay.estimates;
    replay.accounts.excerpts = excerpts;
    states = 0;
    now = 1000000;
    return 0;
}

static int begin_sampled(void **unused)
{
    sampled = true;
    return begin(unused);
}

static int end(void **unused)
{
    (void)unused;
    mpr_excerpts_free(excerpts);
    mpr_replay_free(&replay);
    return 0;
}

static int end_sampled(void **unused)
{
    sampled = false;
    return end(unused);
}

/* Allocates and frees blocks. Several changes may have the same time. */
static void churn(size_t events)
{
    enum { BLOCKS = 64 };
    static uint8_t live[BLOCKS];
    if (!states) memset(live, 0, sizeof live);
    for (size_t i = 0; i < events; i++) {
        const uint64_t block = dice(BLOCKS), addr = (block + 1) << 16;
        now += dice(3) ? dice(100000) : 0;
        event(1 + (uint32_t)dice(THREADS), live[block] ? MPF_OP_FREE : MPF_OP_ALLOC, addr,
              live[block] ? 0 : 1 + dice(100000));
        live[block] ^= 1;
    }
}

static struct mpr_excerpt_series replayed(enum mpr_excerpt_kind kind, size_t index)
{
    struct mpr_excerpt_series out;
    assert_non_null(excerpts->heap[H].kept[kind][index].change);
    mpr_excerpt_replay(&excerpts->heap[H].kept[kind][index], &replay.accounts,
                       sampled ? &replay.estimates : NULL, H, &out);
    return out;
}

/* Returns the largest state of an instant. */
static const struct state *largest_at(uint64_t time)
{
    const struct state *found = NULL;
    for (size_t i = 0; i < states; i++)
        if (state[i].time == time && (!found || state[i].total > found->total)) found = &state[i];
    return found;
}

static const struct state *state_at(uint64_t time)
{
    const struct state *found = NULL;
    for (size_t i = 0; i < states && state[i].time <= time; i++) found = &state[i];
    return found;
}

static size_t instants(uint64_t from, uint64_t to)
{
    size_t count = 0;
    for (size_t i = 0; i < states; i++)
        count += state[i].time >= from && state[i].time < to &&
                 (!i || state[i].time != state[i - 1].time);
    return count;
}

/* Checks that every instant from the first to the last has a bucket with the exact vector, and that
 * the others are states that last. */
static void check(const struct mpr_excerpt_series *e)
{
    const uint32_t numbers = sampled ? MPR_LEVELS_NUMBERS : 1;
    uint64_t vector[MPR_LEVELS_NUMBERS][THREADS + 1] = { { 0 } }, allocs = e->allocs,
                                                  frees = e->frees;
    size_t at = 0, found = 0;
    assert_int_equal(e->series.shift, 0);
    for (size_t i = 0; i < e->series.buckets; i++) {
        const struct mpr_bucket *b = &e->series.bucket[i];
        for (; at < b->end; at++) {
            const struct mpr_signed_difference *c = &e->series.change[at];
            vector[c->group % numbers][replay.accounts.cell[c->group / numbers].key] = c->bytes;
        }
        const struct state *top = b->allocs + b->frees ? largest_at(b->time) : state_at(b->time);
        found += b->allocs + b->frees > 0;
        assert_true(b->time >= e->from && b->time < e->to);
        assert_int_equal(b->max, top->total);
        assert_memory_equal(vector[MPR_LEVELS_BYTES], top->by_group, sizeof top->by_group);
        assert_memory_equal(vector[MPR_LEVELS_MORE], top->more, sizeof top->more);
        allocs += b->allocs;
        frees += b->frees;
    }
    assert_int_equal(found, instants(e->from, e->to));
    assert_true(allocs + frees <= states);
}

static void around_the_peak_every_change_is_kept(void **unused)
{
    (void)unused;
    for (uint64_t round = 1; round <= 20; round++) {
        end(NULL);
        begin(NULL);
        seed = round;
        churn(EVENTS);
        mpr_excerpts_finish(excerpts, &replay.accounts);
        struct mpr_excerpt_series e = replayed(MPR_EXCERPT_PEAK, 0);
        const uint64_t peak = replay.accounts.heap[H].peak_time;
        assert_true(e.from <= peak && peak < e.to);
        uint64_t max = 0;
        for (size_t i = 0; i < e.series.buckets; i++)
            if (e.series.bucket[i].max > max) max = e.series.bucket[i].max;
        assert_int_equal(max, replay.accounts.heap[H].peak_bytes);
        assert_true(instants(e.from, e.to) > HALF);
        check(&e);
        mpr_series_free(&e.series);
    }
}

static void the_peak_of_the_first_change_has_an_excerpt(void **unused)
{
    (void)unused;
    event(1, MPF_OP_ALLOC, 0x10000, 1000);
    now += 1000;
    event(1, MPF_OP_FREE, 0x10000, 0);
    for (uint64_t i = 0; i < 4 * HALF; i++) {
        now += 1000;
        event(1, i % 2 ? MPF_OP_FREE : MPF_OP_ALLOC, 0x20000, i % 2 ? 0 : 10);
    }
    mpr_excerpts_finish(excerpts, &replay.accounts);
    struct mpr_excerpt_series e = replayed(MPR_EXCERPT_PEAK, 0);
    assert_int_equal(replay.accounts.heap[H].peak_time, 1000000);
    assert_true(e.from <= 1000000 && e.to > 1000000);
    check(&e);
    mpr_series_free(&e.series);
}

/* The excerpt of a failure has the states before and after it, whatever happens later. */
static void around_a_failure_every_change_is_kept(void **unused)
{
    (void)unused;
    seed = 3;
    churn(1000);
    const uint64_t failed = now;
    mpr_excerpts_mark(excerpts, &replay.accounts, H, MPR_EXCERPT_FAILURE);
    churn(4000);
    mpr_excerpts_finish(excerpts, &replay.accounts);
    struct mpr_excerpt_series e = replayed(MPR_EXCERPT_FAILURE, 0);
    assert_true(e.from < failed && failed < e.to);
    check(&e);
    mpr_series_free(&e.series);
}

static void the_newest_of_many_failures_are_kept(void **unused)
{
    (void)unused;
    uint64_t last = 0;
    seed = 5;
    for (int i = 0; i < 2 * MPR_EXCERPTS_KEPT; i++) {
        churn(4 * HALF);
        last = now;
        mpr_excerpts_mark(excerpts, &replay.accounts, (uint8_t)mpf_heap_gpu(MPF_HEAP_TORCH, 0),
                          MPR_EXCERPT_FAILURE); /* of the other side */
        mpr_excerpts_mark(excerpts, &replay.accounts, MPF_HEAP_MMAP, MPR_EXCERPT_FAILURE);
    }
    mpr_excerpts_finish(excerpts, &replay.accounts);
    assert_int_equal(excerpts->heap[H].copied[MPR_EXCERPT_FAILURE], 2 * MPR_EXCERPTS_KEPT);
    assert_int_equal(excerpts->heap[H].copied[MPR_EXCERPT_GRAPH], 0);
    uint64_t newest = 0;
    for (size_t i = 0; i < MPR_EXCERPTS_KEPT; i++) {
        struct mpr_excerpt_series e = replayed(MPR_EXCERPT_FAILURE, i);
        if (e.to == UINT64_MAX) newest = e.from;
        check(&e);
        mpr_series_free(&e.series);
    }
    assert_true(newest && newest < last);
}

static void a_short_log_is_kept_from_end_to_end(void **unused)
{
    (void)unused;
    seed = 9;
    churn(HALF);
    mpr_excerpts_finish(excerpts, &replay.accounts);
    struct mpr_excerpt_series e = replayed(MPR_EXCERPT_PEAK, 0);
    assert_int_equal(e.from, 0);
    assert_true(e.to == UINT64_MAX);
    assert_int_equal(e.allocs + e.frees, 0);
    check(&e);
    mpr_series_free(&e.series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(around_the_peak_every_change_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(the_peak_of_the_first_change_has_an_excerpt, begin, end),
        cmocka_unit_test_setup_teardown(around_a_failure_every_change_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(the_newest_of_many_failures_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(a_short_log_is_kept_from_end_to_end, begin, end),
        { "estimates_are_known_around_the_peak", around_the_peak_every_change_is_kept,
          begin_sampled, end_sampled, NULL },
        { "estimates_are_known_around_failures", the_newest_of_many_failures_are_kept,
          begin_sampled, end_sampled, NULL },
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
