/* The largest blocks around the peak, while blocks come and go in numbers that no list could hold. */
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
    const struct mpf_event e = { .time = now += 1000000, .addr = addr, .size = size, .thread = 1,
                                 .op = (uint8_t)op, .heap = H };
    assert_int_equal(mpr_replay_batch(&replay, &e, 1), 0);
}

static int begin(void **state)
{
    (void)state;
    const struct mpr_replay_options by = { .by = MPR_BY_ALL, .at = MPR_AT_PEAK };
    assert_int_equal(mpr_replay_init(&replay, &by), 0);
    large = mpr_large_new(&replay.books);
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

struct search { uint64_t addr; size_t found, all; struct mpr_large_block block; };

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

static void a_block_is_kept_from_birth_to_end(void **state)
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
    assert_true(find(0).all <= 100 + MPR_LARGE_AFTER);
}

static void a_new_peak_makes_its_own_blocks_the_ones_that_count(void **state)
{
    (void)state;
    event(MPF_OP_ALLOC, 0x1000, 500);
    event(MPF_OP_FREE, 0x1000, 0);
    event(MPF_OP_ALLOC, 0x2000, 900);
    event(MPF_OP_FREE, 0x2000, 0);
    for (uint64_t i = 0; i < 2 * (MPR_LARGE_PAST + MPR_LARGE_AFTER); i++) {
        event(MPF_OP_ALLOC, 0x10000000 + i * 0x1000, 500);
        event(MPF_OP_FREE, 0x10000000 + i * 0x1000, 0);
    }
    assert_int_equal(find(0x2000).found, 1);
    assert_int_equal(find(0x10000000 + 3000 * 0x1000).found, 0);
}

/* Only the largest of very many live blocks stay, each of them. */
static void among_many_live_blocks_the_largest_are_kept(void **state)
{
    (void)state;
    enum { BLOCKS = 50000 };
    for (uint64_t i = 0; i < BLOCKS; i++) event(MPF_OP_ALLOC, (i + 1) << 12, 16 + i * 7919 % BLOCKS);
    assert_true(find(0).all <= MPR_LARGE_LIVE);
    assert_true(find(0).all > MPR_LARGE_LIVE / 4);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        const uint64_t size = 16 + i * 7919 % BLOCKS;
        if (size >= 16 + BLOCKS - 1000) assert_int_equal(find((i + 1) << 12).block.size, size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_block_is_kept_from_birth_to_end, begin, end),
        cmocka_unit_test_setup_teardown(realloc_ends_a_block_and_begins_another, begin, end),
        cmocka_unit_test_setup_teardown(blocks_of_the_peak_survive_any_number_of_later_ones, begin, end),
        cmocka_unit_test_setup_teardown(a_new_peak_makes_its_own_blocks_the_ones_that_count, begin, end),
        cmocka_unit_test_setup_teardown(among_many_live_blocks_the_largest_are_kept, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
