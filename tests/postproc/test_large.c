/* The largest blocks at the peak and at any other time are kept, although more blocks are allocated
 * and freed than any list could hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay.h"

#define H MPF_HEAP_HOST

static struct mpr_replay replay;
static struct mpr_large *large;
static uint64_t now;

static void event(unsigned op, uint64_t addr, uint64_t size)
{
    const struct mpf_event e = { .time = now += 1000000,
                                 .addr = addr,
                                 .size = size,
                                 .thread = 1,
                                 .op = (uint8_t)op,
                                 .heap = H };
    mpr_replay_batch(&replay, &e, 1);
}

static int begin(void **state)
{
    (void)state;
    const struct mpr_replay_options by = { .by = MPR_GROUP_ALL, .at = MPR_INSTANT_PEAK };
    mpr_replay_init(&replay, &by);
    large = mpr_large_new(&replay.accounts);
    assert_non_null(large);
    replay.large = large;
    now = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    mpr_large_free(large);
    mpr_replay_free(&replay);
    return 0;
}

struct search {
    uint64_t addr;
    size_t found, all;
    struct mpr_large_block block;
};

static void look(void *arg, const struct mpr_large_block *block)
{
    struct search *s = arg;
    s->all++;
    if (block->addr != s->addr) return;
    s->found++;
    s->block = *block;
}

static struct search find(uint64_t addr)
{
    struct search s = { .addr = addr };
    mpr_large_each(large, H, look, &s);
    return s;
}

static void a_block_is_kept_from_allocation_to_free(void **state)
{
    (void)state;
    event(MPF_OP_ALLOC, 0x1000, 500);
    event(MPF_OP_ALLOC, 0x2000, 700);
    event(MPF_OP_FREE, 0x1000, 0);
    const struct search gone = find(0x1000), live = find(0x2000);
    assert_int_equal(gone.found, 1);
    assert_int_equal(gone.block.from, 1000000);
    assert_int_equal(gone.block.to, 3000000);
    assert_int_equal(gone.block.size, 500);
    assert_int_equal(live.found, 1);
    assert_int_equal(live.block.to, UINT64_MAX);
    assert_int_equal(live.all, 2);
}

static void realloc_ends_a_block_and_begins_another(void **state)
{
    (void)state;
    event(MPF_OP_ALLOC, 0x1000, 500);
    event(MPF_OP_MOVE_BEGIN, 0x1000, 0);
    event(MPF_OP_MOVE_END, 0x5000, 900);
    assert_int_equal(find(0x1000).block.to, 3000000);
    assert_int_equal(find(0x5000).block.from, 3000000);
}

static void blocks_of_the_peak_survive_any_number_of_later_ones(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++) event(MPF_OP_ALLOC, 0x100000 + i * 0x1000, 1000 + i);
    for (uint64_t i = 0; i < 100; i++) event(MPF_OP_FREE, 0x100000 + i * 0x1000, 0);
    for (uint64_t i = 0; i < 20000; i++) {
        event(MPF_OP_ALLOC, 0x10000000 + i * 0x1000, 500);
        event(MPF_OP_FREE, 0x10000000 + i * 0x1000, 0);
    }
    for (uint64_t i = 0; i < 100; i++) assert_int_equal(find(0x100000 + i * 0x1000).found, 1);
    assert_true(find(0).all <= MPR_LARGE_LIVE + MPR_LARGE_FREED);
}

/* In phases of ever smaller blocks, the largest blocks of each phase are kept, although any number
 * of smaller ones follow. */
static void the_largest_of_any_time_are_kept(void **state)
{
    (void)state;
    enum { PHASES = 40, SMALL = 5000 };
    for (uint64_t phase = 0; phase < PHASES; phase++) {
        const uint64_t top = 100000 >> phase / 4;
        for (uint64_t k = 0; k < 4; k++) event(MPF_OP_ALLOC, (phase << 8 | k) + 1, top + k);
        for (uint64_t i = 0; i < SMALL; i++) {
            event(MPF_OP_ALLOC, 0x10000000 + i * 0x1000, 8 + i % 50);
            event(MPF_OP_FREE, 0x10000000 + i * 0x1000, 0);
        }
        for (uint64_t k = 0; k < 4; k++) event(MPF_OP_FREE, (phase << 8 | k) + 1, 0);
    }
    for (uint64_t phase = 0; phase < PHASES; phase++)
        for (uint64_t k = 0; k < 4; k++) assert_int_equal(find((phase << 8 | k) + 1).found, 1);
}

/* A time with large blocks does not hide the smaller ones of a later time. */
static void smaller_blocks_are_examined_again_after_many_large_ones(void **state)
{
    (void)state;
    enum { LARGE = 3 * MPR_LARGE_LIVE, ROUNDS = 20 * MPR_LARGE_TICK };
    for (uint64_t i = 0; i < LARGE; i++) event(MPF_OP_ALLOC, (i + 1) << 24, 1000000 + i);
    for (uint64_t i = 0; i < LARGE; i++) event(MPF_OP_FREE, (i + 1) << 24, 0);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        event(MPF_OP_ALLOC, 0x10, 16);
        event(MPF_OP_FREE, 0x10, 0);
    }
    for (uint64_t i = 0; i < 10; i++) event(MPF_OP_ALLOC, i * 0x1000 + 0x1000, 5000);
    for (uint64_t i = 0; i < 10; i++) assert_int_equal(find(i * 0x1000 + 0x1000).block.size, 5000);
}

/* A sample of equally large blocks is examined, all the time and at little cost. Each of the rare
 * larger ones is examined. */
static void equal_blocks_are_sampled_and_larger_ones_all_examined(void **state)
{
    (void)state;
    enum { LIVE = 5000, ROUNDS = 600000, RARE = 3000 };
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const uint64_t addr = (i % LIVE + 1) << 12;
        if (i >= LIVE) event(MPF_OP_FREE, addr, 0);
        event(MPF_OP_ALLOC, addr, 1000);
        if (i % RARE == 0) event(MPF_OP_ALLOC, (i + 1) << 32, 5000);
        if (i % RARE == 10) event(MPF_OP_FREE, (i - 9) << 32, 0);
    }
    assert_true(large->heap[H]->kept < ROUNDS / 4);
    assert_in_range(large->heap[H]->live_count, 10, LIVE / 10);
    for (uint64_t i = 0; i < ROUNDS; i += RARE) assert_int_equal(find((i + 1) << 32).found, 1);
}

/* Of very many live blocks only the largest are kept, and all of these. */
static void among_many_live_blocks_the_largest_are_kept(void **state)
{
    (void)state;
    enum { BLOCKS = 50000 };
    for (uint64_t i = 0; i < BLOCKS; i++)
        event(MPF_OP_ALLOC, (i + 1) << 12, 16 + i * 7919 % BLOCKS);
    assert_true(find(0).all <= MPR_LARGE_LIVE);
    assert_true(find(0).all > MPR_LARGE_LIVE / 4);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        const uint64_t size = 16 + i * 7919 % BLOCKS;
        if (size >= 16 + BLOCKS - 1000) assert_int_equal(find((i + 1) << 12).block.size, size);
    }
}

/* If there is one block too many, the smaller half is removed, including its largest block. */
static void one_block_too_many_removes_the_smaller_half(void **state)
{
    (void)state;
    for (uint64_t i = 0; i <= MPR_LARGE_LIVE; i++)
        event(MPF_OP_ALLOC, (i + 1) << 12, (UINT64_C(1) << 20) + i);
    assert_int_equal(large->heap[H]->live_count, MPR_LARGE_LIVE / 2);
    assert_int_equal(large->heap[H]->min_size, (UINT64_C(1) << 20) + MPR_LARGE_LIVE / 2 + 1);
}

/* ---- the blocks that a report keeps */

enum { CELL = 1000, END = MPR_NOTABLE_INTERVALS * CELL };

static struct mpr_large_block large_block(uint64_t size, uint64_t from, uint64_t to)
{
    return (struct mpr_large_block){ .size = size, .from = from, .to = to };
}

static size_t of_size(const struct mpr_large_block *block, size_t count, uint64_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += block[i].size == size;
    return n;
}

static void many_blocks_of_the_peak_are_kept_next_to_larger_ones(void **state)
{
    (void)state;
    enum { LARGE = 100, SMALL = 40, KEEP = 33 };
    struct mpr_large_block block[LARGE + SMALL];
    for (int i = 0; i < LARGE; i++) block[i] = large_block(1000, 10, 20);
    for (int i = LARGE; i < LARGE + SMALL; i++) block[i] = large_block(10, 30, 40);
    mpr_notable_keep(block, LARGE + SMALL, KEEP, 35, END);
    assert_int_equal(of_size(block, KEEP, 1000), 1);
    assert_int_equal(of_size(block, KEEP, 10), 32);
}

static void a_long_lived_block_is_kept_next_to_larger_ones(void **state)
{
    (void)state;
    enum { LARGE = 41 * MPR_NOTABLE_INTERVALS, KEEP = MPR_NOTABLE_INTERVALS + 1 };
    static struct mpr_large_block block[LARGE + 1];
    for (uint64_t i = 0; i < LARGE; i++) {
        const uint64_t at = i % MPR_NOTABLE_INTERVALS * CELL + CELL / 2;
        block[i] = large_block(1000, at, at + 1);
    }
    block[LARGE] = large_block(10, 0, END);
    mpr_notable_keep(block, LARGE + 1, KEEP, END, END);
    assert_int_equal(of_size(block, KEEP, 10), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_block_is_kept_from_allocation_to_free, begin, end),
        cmocka_unit_test_setup_teardown(realloc_ends_a_block_and_begins_another, begin, end),
        cmocka_unit_test_setup_teardown(blocks_of_the_peak_survive_any_number_of_later_ones, begin,
                                        end),
        cmocka_unit_test_setup_teardown(the_largest_of_any_time_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(smaller_blocks_are_examined_again_after_many_large_ones,
                                        begin, end),
        cmocka_unit_test_setup_teardown(equal_blocks_are_sampled_and_larger_ones_all_examined,
                                        begin, end),
        cmocka_unit_test_setup_teardown(among_many_live_blocks_the_largest_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(one_block_too_many_removes_the_smaller_half, begin, end),
        cmocka_unit_test(many_blocks_of_the_peak_are_kept_next_to_larger_ones),
        cmocka_unit_test(a_long_lived_block_is_kept_next_to_larger_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
