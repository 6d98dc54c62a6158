/* The values of cells at consecutive instants agree with a model that keeps all values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "history.h"
#include "mpf/event.h"
#include "mpf/sample.h"

#define H MPF_HEAP_HOST
enum { STACK = 0x51, FRAME = 0x1100, SAMPLED = 4096, STANDS_FOR = 67605 };

static struct mpr_replay replay;
static struct mpr_history history;

static void begin(const struct mpr_replay_options *options, uint64_t every, uint64_t until)
{
    mpr_replay_init(&replay, options);
    mpr_history_begin(&history, &replay, every, until);
}

static void begin_threads(uint64_t every, uint64_t until)
{
    begin(&(struct mpr_replay_options){ .by = MPR_GROUP_THREAD, .at = MPR_INSTANT_PEAK }, every,
          until);
}

static void end(void)
{
    mpr_history_free(&history);
    mpr_replay_free(&replay);
}

static void event(uint64_t time, uint32_t thread, unsigned op, uint64_t addr, uint64_t size)
{
    const struct mpf_event e = {
        .time = time, .addr = addr, .size = size, .thread = thread, .op = (uint8_t)op, .heap = H
    };
    mpr_replay_batch(&replay, &e, 1);
}

static uint32_t cell_of(uint64_t key)
{
    for (uint32_t i = 0; i < replay.accounts.cells; i++)
        if (replay.accounts.cell[i].key == key) return i;
    return UINT32_MAX;
}

static void values(uint32_t cell, struct mpr_history_value *value)
{
    struct mpr_history_view view;
    mpr_history_view(&view, &history, NULL);
    mpr_history_values(&view, &cell, 1, value);
    mpr_history_view_free(&view);
}

/* Returns the value of a thread's cell at an instant. */
static struct mpr_history_value value_at(uint64_t key, size_t instant)
{
    struct mpr_history_value value[MPR_HISTORY_MAX];
    values(cell_of(key), value);
    return value[instant];
}

static bool is_estimate(uint32_t cell)
{
    struct mpr_history_view view;
    mpr_history_view(&view, &history, NULL);
    const bool estimate = mpr_history_is_estimate(&view, cell);
    mpr_history_view_free(&view);
    return estimate;
}

/* ---- values */

static void an_instant_has_the_values_of_its_time(void **state)
{
    (void)state;
    begin_threads(0, UINT64_MAX);
    event(1, 1, MPF_OP_ALLOC, 0x1000, 100);
    mpr_history_take(&history, 10);
    /* Freed before the next instant, so it does not appear. */
    event(11, 1, MPF_OP_ALLOC, 0x2000, 50);
    event(12, 1, MPF_OP_FREE, 0x2000, 0);
    event(13, 2, MPF_OP_ALLOC, 0x3000, 7); /* a cell that appeared later has no earlier values */
    mpr_history_take(&history, 20);
    mpr_history_take(&history, 30);       /* nothing happened */
    event(31, 2, MPF_OP_FREE, 0x1000, 0); /* counts for the allocating thread */
    mpr_history_take(&history, 40);
    assert_int_equal(history.count, 4);
    static const uint64_t expected[][4] = { { 100, 100, 100, 0 }, { 0, 7, 7, 7 } };
    for (uint64_t thread = 1; thread <= 2; thread++)
        for (size_t i = 0; i < 4; i++) {
            const uint64_t bytes = expected[thread - 1][i];
            assert_int_equal(value_at(thread, i).bytes, bytes);
            assert_int_equal(value_at(thread, i).blocks, bytes != 0);
            assert_int_equal(history.at[i].time, 10 * (i + 1));
            assert_int_equal(history.at[i].number, i + 1);
        }
    end();
}

static void an_unknown_cell_has_no_bytes(void **state)
{
    struct mpr_history_value value[MPR_HISTORY_MAX];
    (void)state;
    begin_threads(0, UINT64_MAX);
    mpr_history_take(&history, 10);
    event(11, 1, MPF_OP_ALLOC, 0x1000, 100);
    values(cell_of(1), value);
    assert_int_equal(value[0].bytes, 0);
    end();
}

/* ---- too many instants */

/* Thread 1 allocates a block before each instant, thread 2 before every third one. */
static void instants_that_are_kept_are_unchanged(void **state)
{
    enum { INSTANTS = 1000 };
    (void)state;
    begin_threads(0, UINT64_MAX);
    for (uint64_t i = 1; i <= INSTANTS; i++) {
        event(i * 10, 1, MPF_OP_ALLOC, i << 12, 3);
        if (i % 3 == 0) event(i * 10, 2, MPF_OP_ALLOC, i << 12 | 1, 5);
        mpr_history_take(&history, i * 10);
        assert_true(history.count <= MPR_HISTORY_MAX);
    }
    assert_int_equal(history.instants, INSTANTS);
    assert_true(history.count >= MPR_HISTORY_MAX / 2 - 1);
    for (size_t i = 0; i < history.count; i++) {
        const uint64_t number = history.at[i].number;
        assert_int_equal(number, (i + 1) * history.keep_each);
        assert_int_equal(history.at[i].time, number * 10);
        assert_int_equal(value_at(1, i).bytes, number * 3);
        assert_int_equal(value_at(2, i).blocks, number / 3);
    }
    end();
}

/* ---- by the clock */

static void a_tick_has_the_state_before_it(void **state)
{
    (void)state;
    begin_threads(100, UINT64_MAX);
    event(1, 1, MPF_OP_ALLOC, 0x1000, 10);
    event(99, 1, MPF_OP_ALLOC, 0x2000, 10);
    event(100, 1, MPF_OP_ALLOC, 0x3000, 10); /* at the tick, so it belongs to the next instant */
    event(199, 1, MPF_OP_ALLOC, 0x4000, 10);
    event(450, 1, MPF_OP_ALLOC, 0x5000, 10); /* ticks without a change are also instants */
    event(500, 1, MPF_OP_FREE, 0x5000, 0);
    static const uint64_t bytes[] = { 20, 40, 40, 40, 50 };
    assert_int_equal(history.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(history.at[i].time, 100 * (i + 1));
        assert_int_equal(value_at(1, i).bytes, bytes[i]);
    }
    end();
}

/* A process lives on after the last change. Other events in the log show until when. */
static void ticks_continue_until_the_log_ends(void **state)
{
    (void)state;
    begin_threads(100, 350);
    event(150, 1, MPF_OP_ALLOC, 0x1000, 10);
    event(1000, 0, MPF_OP_SAMPLE_RSS, 0, 0);
    mpr_history_end(&history);
    mpr_history_end(&history); /* is already over */
    assert_int_equal(history.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(history.at[i].time, 100 * (i + 1));
        assert_int_equal(value_at(1, i).bytes, i ? 10 : 0);
    }
    end();
}

/* The beginning of a log may be thinned. */
static void ticks_may_start_later(void **state)
{
    static const uint64_t from[] = { 350, 400 };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        begin_threads(100, UINT64_MAX);
        history.from = &from[i];
        event(50, 1, MPF_OP_ALLOC, 0x1000, 10);
        event(650, 1, MPF_OP_ALLOC, 0x2000, 10);
        assert_int_equal(history.count, 3);
        assert_int_equal(history.at[0].time, 400);
        end();
    }
}

/* A whole day at 1 ns has the same result as if each tick had been taken, and takes little time. */
static void a_short_interval_is_thinned_at_once(void **state)
{
    const uint64_t day = UINT64_C(86400000000000), stopped = 1000;
    (void)state;
    begin_threads(1, UINT64_MAX);
    event(0, 1, MPF_OP_ALLOC, 0x1000, 10);
    event(stopped, 1, MPF_OP_ALLOC, 0x2000, 10);
    event(day, 1, MPF_OP_ALLOC, 0x3000, 10);
    assert_int_equal(history.instants, day);
    assert_true(history.count >= MPR_HISTORY_MAX / 2 && history.count <= MPR_HISTORY_MAX);
    for (size_t i = 0; i < history.count; i++) {
        assert_int_equal(history.at[i].number, (i + 1) * history.keep_each);
        assert_int_equal(history.at[i].time, history.at[i].number);
        assert_int_equal(value_at(1, i).bytes, 20);
    }
    end();
}

/* Events after `until` are unknown at an instant before it. */
static void ticks_end_at_a_given_time(void **state)
{
    static const uint64_t until[] = { 250, 700, 99 };
    static const size_t count[] = { 2, 7, 0 };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        begin_threads(100, until[i]);
        event(1, 1, MPF_OP_ALLOC, 0x1000, 10);
        event(150, 1, MPF_OP_ALLOC, 0x2000, 10);
        event(750, 1, MPF_OP_ALLOC, 0x3000, 10);
        event(1000, 1, MPF_OP_ALLOC, 0x4000, 10);
        assert_int_equal(history.count, count[i]);
        for (size_t k = 0; k < history.count; k++) assert_true(history.at[k].time <= until[i]);
        if (history.count) assert_int_equal(value_at(1, 1).bytes, 20);
        end();
    }
}

/* ---- estimates */

/* A block with a sampled native or Python stack. */
static void sampled_block(uint64_t time, unsigned op, uint8_t heap, uint64_t addr)
{
    static const uint64_t frame[] = { FRAME };
    const struct mpf_event stack = { .addr = STACK,
                                     .size = sizeof frame,
                                     .thread = 1,
                                     .op = MPF_OP_STACK,
                                     .data = (const uint8_t *)frame };
    const struct mpf_event block = {
        .time = time, .addr = addr, .size = SAMPLED, .thread = 1, .op = MPF_OP_ALLOC, .heap = heap
    };
    mpr_replay_batch(&replay, &stack, 1);
    event(time, 1, op, STACK, 0);
    mpr_replay_batch(&replay, &block, 1);
}

static void begin_samples(enum mpr_group by)
{
    begin(&(struct mpr_replay_options){ .by = by,
                                        .at = MPR_INSTANT_PEAK,
                                        .sample_mean = 65536,
                                        .python_sample_mean = 65536,
                                        .sample_below = 1 << 20 },
          0, UINT64_MAX);
}

/* Estimates are subtracted from the blocks without a stack, so the sum is that of the heap. */
static void estimates_sum_to_the_heap(void **state)
{
    (void)state;
    begin_samples(MPR_GROUP_STACK);
    enum { OTHERS = 400 }; /* too many to be represented by one sample */
    for (uint64_t i = 1; i <= OTHERS; i++) event(1, 1, MPF_OP_ALLOC, i << 13, SAMPLED);
    mpr_history_take(&history, 10);
    sampled_block(11, MPF_OP_AT, H, 0xa00000);
    mpr_history_take(&history, 20);
    event(21, 1, MPF_OP_FREE, 0xa00000, 0);
    mpr_history_take(&history, 30);
    const uint64_t site = mpr_sites_stack(&replay.sites, STACK);
    static const uint64_t of_site[] = { 0, STANDS_FOR, 0 };
    for (size_t i = 0; i < 3; i++) {
        const uint64_t total = OTHERS * SAMPLED + (i == 1 ? SAMPLED : 0);
        assert_int_equal(value_at(site, i).bytes, of_site[i]);
        assert_int_equal(value_at(0, i).bytes + value_at(site, i).bytes, total);
        assert_int_equal(history.at[i].heap[H].bytes, total);
    }
    assert_int_equal(value_at(site, 1).blocks, 17); /* 16.5, rounded */
    assert_true(is_estimate(cell_of(site)));
    assert_true(is_estimate(cell_of(0)));
    end();
}

/* By chance, samples may represent more than was counted, or less. */
static void estimates_are_scaled_to_the_counted_sum(void **state)
{
    (void)state;
    begin_samples(MPR_GROUP_STACK);
    event(1, 1, MPF_OP_ALLOC, 0x10000, SAMPLED);
    event(1, 1, MPF_OP_ALLOC, 0x20000, SAMPLED);
    sampled_block(2, MPF_OP_AT, H, 0xa00000);
    mpr_history_take(&history, 10);
    for (uint64_t i = 3; i <= 40; i++) event(11, 1, MPF_OP_ALLOC, i << 16, SAMPLED);
    mpr_history_take(&history, 20);
    const uint64_t site = mpr_sites_stack(&replay.sites, STACK);
    static const struct mpr_history_value of_site[] = { { .bytes = 3 * SAMPLED, .blocks = 3 },
                                                        { .bytes = 41 * SAMPLED, .blocks = 41 } };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(value_at(site, i).bytes, of_site[i].bytes);
        assert_int_equal(value_at(site, i).blocks, of_site[i].blocks);
        assert_int_equal(value_at(0, i).bytes, history.at[i].heap[H].bytes - of_site[i].bytes);
    }
    end();
}

/* When grouped by Python stack, a block with a native stack is in the group without stacks, and its
 * estimate belongs to that group. */
static void samples_without_a_name_represent_blocks_without_a_name(void **state)
{
    (void)state;
    begin_samples(MPR_GROUP_PYTHON);
    for (uint64_t i = 1; i <= 40; i++) event(1, 1, MPF_OP_ALLOC, i << 16, SAMPLED);
    sampled_block(2, MPF_OP_AT, H, 0xa00000);
    mpr_history_take(&history, 10);
    assert_int_equal(value_at(0, 0).bytes, 41 * SAMPLED);
    assert_int_equal(value_at(0, 0).blocks, 41);
    end();
}

/* Changes at a tick belong to the next instant, also for the number of samples and the ages. */
static void count_marked(void *arg, const struct mpr_live_block *birth)
{
    (void)birth;
    ++*(unsigned *)arg;
}

static void a_tick_precedes_a_change_at_its_time(void **state)
{
    unsigned marked = 0;
    (void)state;
    begin_samples(MPR_GROUP_STACK);
    mpr_history_free(&history);
    mpr_history_begin(&history, &replay, 100, UINT64_MAX);
    sampled_block(1, MPF_OP_AT, H, 0xa00000);
    sampled_block(100, MPF_OP_AT, H, 0xb00000);
    event(200, 1, MPF_OP_FREE, 0xa00000, 0);
    mpr_lifetime_histogram_each_marked(&history.lifetimes, count_marked, &marked);
    event(300, 1, MPF_OP_FREE, 0xb00000, 0);
    static const uint64_t samples[] = { 1, 2, 2 }, live[] = { 1, 2, 1 };
    const uint64_t site = mpr_sites_stack(&replay.sites, STACK);
    assert_int_equal(history.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(value_at(site, i).samples, samples[i]);
        assert_int_equal(value_at(site, i).live, live[i]);
    }
    assert_int_equal(marked, 2);
    end();
}

/* The number of samples does not determine a site that also has other blocks. */
static void samples_among_other_blocks_do_not_count(void **state)
{
    (void)state;
    begin_samples(MPR_GROUP_STACK);
    sampled_block(1, MPF_OP_AT, H, 0xa00000);
    mpr_history_take(&history, 10);
    const uint64_t site = mpr_sites_stack(&replay.sites, STACK);
    assert_int_equal(value_at(site, 0).samples, 1);
    event(11, 1, MPF_OP_AT, STACK, 0);
    event(11, 1, MPF_OP_ALLOC, 0x4000000, 4 << 20);
    mpr_history_take(&history, 20);
    assert_int_equal(value_at(site, 0).samples, 0);
    assert_int_equal(value_at(site, 1).live, 0);
    end();
}

/* Every block counts by ranges or threads. */
static void exactly_counted_cells_are_not_estimates(void **state)
{
    (void)state;
    begin_samples(MPR_GROUP_THREAD);
    event(1, 1, MPF_OP_ALLOC, 0x1000, SAMPLED);
    sampled_block(2, MPF_OP_AT, H, 0xa00000);
    mpr_history_take(&history, 10);
    assert_int_equal(value_at(1, 0).bytes, 2 * SAMPLED);
    assert_false(is_estimate(cell_of(1)));
    end();
}

/* Python's samples represent the same blocks in every grouping. */
static void python_is_estimated_by_every_grouping(void **state)
{
    static const enum mpr_group by[] = { MPR_GROUP_THREAD, MPR_GROUP_STACK, MPR_GROUP_PYTHON };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        begin_samples(by[i]);
        sampled_block(1, MPF_OP_AT, MPF_HEAP_PYTHON, 0xa00000);
        mpr_history_take(&history, 10);
        assert_int_equal(replay.accounts.cells, 1);
        struct mpr_history_value value[MPR_HISTORY_MAX];
        values(0, value);
        assert_int_equal(value[0].bytes, STANDS_FOR);
        assert_int_equal(value[0].blocks, 17); /* 16.5, rounded */
        assert_int_equal(history.at[0].heap[MPF_HEAP_PYTHON].blocks, 17);
        assert_true(is_estimate(0));
        end();
    }
}

static void totals(uint64_t time, uint64_t bytes, uint64_t blocks)
{
    const uint64_t value[MPF_HOST_COUNT] = {
        [MPF_HOST_MADE_BYTES] = bytes, [MPF_HOST_MADE_BLOCKS] = blocks
    };
    const struct mpf_event e = {
        .time = time, .size = sizeof value, .op = MPF_OP_SAMPLE_HOST, .data = (const uint8_t *)value
    };
    mpr_replay_batch(&replay, &e, 1);
}

/* Estimates of blocks since the last total, some of which were freed. */
static void blocks_since_the_last_total_count(void **state)
{
    (void)state;
    begin_threads(10, UINT64_MAX);
    totals(1, 1000, 10);
    const struct mpr_weight sampled = { .bytes = 1000000, .blocks = 1000, .variance = 1 },
                            went = { .bytes = 400000, .blocks = 400, .variance = 1 };
    mpr_counted_totals_sampled(&replay, 1, 7, &sampled);
    mpr_counted_totals_sampled(&replay, -1, 7, &went);
    mpr_replay_finish(&replay);
    assert_int_equal(replay.accounts.heap[H].allocations, 10 + 1000);
    assert_int_equal(replay.accounts.heap[H].frees, 400);
    assert_int_equal(replay.accounts.heap[H].bytes, 1000 + 600000);
    end();
}

/* Counted blocks arrive in large numbers at a time. */
static void a_tick_has_bytes_and_blocks_of_one_instant(void **state)
{
    (void)state;
    begin_threads(10, UINT64_MAX);
    totals(1, 300, 3);
    totals(15, 700, 70);
    totals(25, 650, 90);
    totals(35, 0, 0);
    static const uint64_t expected[][2] = { { 300, 3 }, { 700, 70 }, { 650, 90 } };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(history.at[i].heap[H].bytes, expected[i][0]);
        assert_int_equal(history.at[i].heap[H].blocks, expected[i][1]);
    }
    end();
}

static void sample(uint64_t time, unsigned op, uint64_t addr)
{
    const struct mpf_event e = { .time = time,
                                 .addr = addr,
                                 .size = op == MPF_OP_ALLOC ? SAMPLED : 0,
                                 .thread = 1,
                                 .op = (uint8_t)op,
                                 .heap = MPF_HEAP_PART };
    mpr_replay_batch(&replay, &e, 1);
}

static void begin_sampled(bool sums_estimated)
{
    begin(&(struct mpr_replay_options){ .by = MPR_GROUP_STACK,
                                        .at = MPR_INSTANT_PEAK,
                                        .host_sample_mean = 65536,
                                        .host_sample_below = 1 << 20,
                                        .host_sums_estimated = sums_estimated },
          0, UINT64_MAX);
}

/* The totals of sampled blocks are older than the samples. Changes that the samples show since then
 * count if they are larger than chance, until the next totals. */
static void samples_are_newer_than_totals(void **state)
{
    enum { FEW = 30, MANY = 60, COUNTED = 1000000 };
    const struct mpr_heap *heap = &replay.accounts.heap[H];
    (void)state;
    begin_sampled(false);
    totals(1, COUNTED, 250);
    for (uint64_t i = 1; i <= FEW; i++) sample(2, MPF_OP_ALLOC, i << 16);
    assert_int_equal(heap->bytes, COUNTED + FEW * SAMPLED);
    for (uint64_t i = FEW + 1; i <= MANY; i++) sample(3, MPF_OP_ALLOC, i << 16);
    assert_int_equal(heap->bytes, COUNTED + MANY * STANDS_FOR);
    assert_int_equal(heap->peak_bytes, COUNTED + MANY * STANDS_FOR);
    assert_int_equal(heap->blocks, 250 + 990); /* 16.5 times 60 */
    for (uint64_t i = 1; i <= MANY; i++) sample(4, MPF_OP_FREE, i << 16);
    assert_int_equal(heap->bytes, COUNTED);
    assert_int_equal(heap->blocks, 250);
    totals(5, COUNTED, 250);
    for (uint64_t i = 1; i <= MANY; i++) sample(6, MPF_OP_ALLOC, i << 16);
    const uint64_t allocations = heap->allocations;
    mpr_replay_finish(&replay);
    assert_int_equal(heap->bytes, COUNTED + MANY * STANDS_FOR);
    assert_int_equal(heap->allocations, allocations + 930);
    end();
}

/* A log without totals: each sampled block counts for those that it represents, from the first
 * on. */
static void sums_without_totals_are_those_of_the_samples(void **state)
{
    enum { FEW = 4 };
    const struct mpr_heap *heap = &replay.accounts.heap[H];
    (void)state;
    begin_sampled(true);
    for (uint64_t i = 1; i <= FEW; i++) sample(2, MPF_OP_ALLOC, i << 16);
    assert_int_equal(heap->bytes, FEW * STANDS_FOR);
    assert_int_equal(heap->made_bytes, FEW * STANDS_FOR);
    assert_int_equal(heap->blocks, 66); /* 16.5 times 4 */
    sample(3, MPF_OP_FREE, 1 << 16);
    assert_int_equal(heap->bytes, (FEW - 1) * STANDS_FOR);
    assert_int_equal(heap->peak_bytes, FEW * STANDS_FOR);
    mpr_replay_finish(&replay);
    assert_int_equal(heap->allocations, 66);
    assert_int_equal(heap->frees, 16);
    end();
}

/* There are as many blocks before as after that are allocated and freed between two totals. */
static void temporary_blocks_hide_no_burst(void **state)
{
    enum { MANY = 60, ROUNDS = 400, COUNTED = 1000000 };
    const struct mpr_heap *heap = &replay.accounts.heap[H];
    (void)state;
    begin_sampled(false);
    totals(1, COUNTED, 250);
    for (uint64_t i = 1; i <= MANY; i++) sample(2, MPF_OP_ALLOC, i << 16);
    const uint64_t after = COUNTED + MANY * STANDS_FOR;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        sample(3, MPF_OP_ALLOC, (MANY + 1) << 16);
        assert_int_equal(heap->bytes, after + STANDS_FOR);
        sample(3, MPF_OP_FREE, (MANY + 1) << 16);
        assert_int_equal(heap->bytes, after);
    }
    end();
}

/* If blocks of a burst are freed, the remainder counts as long as it is larger than chance. */
static void a_burst_ends_once(void **state)
{
    enum { MANY = 60, LEFT = 12, COUNTED = 1000000 };
    const struct mpr_heap *heap = &replay.accounts.heap[H];
    (void)state;
    begin_sampled(false);
    totals(1, COUNTED, 250);
    for (uint64_t i = 1; i <= MANY; i++) sample(2, MPF_OP_ALLOC, i << 16);
    for (uint64_t i = MANY; i > LEFT; i--) sample(3, MPF_OP_FREE, i << 16);
    assert_int_equal(heap->bytes, COUNTED + LEFT * STANDS_FOR);
    for (uint64_t i = LEFT; i > 0; i--) sample(4, MPF_OP_FREE, i << 16);
    assert_int_equal(heap->bytes, COUNTED);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instant_has_the_values_of_its_time),
        cmocka_unit_test(an_unknown_cell_has_no_bytes),
        cmocka_unit_test(instants_that_are_kept_are_unchanged),
        cmocka_unit_test(a_tick_has_the_state_before_it),
        cmocka_unit_test(ticks_continue_until_the_log_ends),
        cmocka_unit_test(ticks_may_start_later),
        cmocka_unit_test(a_short_interval_is_thinned_at_once),
        cmocka_unit_test(ticks_end_at_a_given_time),
        cmocka_unit_test(blocks_since_the_last_total_count),
        cmocka_unit_test(a_tick_has_bytes_and_blocks_of_one_instant),
        cmocka_unit_test(samples_are_newer_than_totals),
        cmocka_unit_test(sums_without_totals_are_those_of_the_samples),
        cmocka_unit_test(temporary_blocks_hide_no_burst),
        cmocka_unit_test(a_burst_ends_once),
        cmocka_unit_test(estimates_sum_to_the_heap),
        cmocka_unit_test(estimates_are_scaled_to_the_counted_sum),
        cmocka_unit_test(samples_without_a_name_represent_blocks_without_a_name),
        cmocka_unit_test(a_tick_precedes_a_change_at_its_time),
        cmocka_unit_test(samples_among_other_blocks_do_not_count),
        cmocka_unit_test(exactly_counted_cells_are_not_estimates),
        cmocka_unit_test(python_is_estimated_by_every_grouping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
