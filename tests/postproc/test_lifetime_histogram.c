/* The lifetimes of blocks, their median, and the ages of blocks at a mark are measured exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lifetime_histogram.h"
#include "lifetimes.h"

enum { CELL = 3, OTHER = 7 };

static void a_block_counts_in_the_cell_that_allocated_it(void **state)
{
    struct mpr_lifetime_histogram lasting = { .within = 1000 };
    (void)state;
    mpr_lifetime_histogram_add(&lasting, 1, 64, CELL, 100);
    mpr_lifetime_histogram_add(&lasting, 2, 32, OTHER, 200);
    mpr_lifetime_histogram_remove(&lasting, 1, 64, 1100); /* exactly the requested time */
    mpr_lifetime_histogram_remove(&lasting, 2, 32, 1201); /* a nanosecond longer */
    const struct mpr_lifetime_stats cell = mpr_lifetime_stats_of(&lasting, CELL),
                                    other = mpr_lifetime_stats_of(&lasting, OTHER);
    assert_int_equal(cell.blocks, 1);
    assert_int_equal(cell.bytes, 64);
    assert_int_equal(cell.freed, 1);
    assert_int_equal(cell.soon, 1);
    assert_int_equal(cell.soon_bytes, 64);
    assert_int_equal(other.freed, 1);
    assert_int_equal(other.soon, 0);
    assert_int_equal(mpr_lifetime_stats_of(&lasting, CELL + 1).blocks, 0);
    mpr_lifetime_histogram_free(&lasting);
}

/* Blocks at the same address are distinguished, and a block whose allocation was not seen is
 * ignored. */
static void an_address_may_be_reused(void **state)
{
    struct mpr_lifetime_histogram lasting = { .within = 10 };
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        mpr_lifetime_histogram_add(&lasting, 1, 8, CELL, i * 100);
        mpr_lifetime_histogram_remove(&lasting, 1, 8, i * 100 + 5);
    }
    mpr_lifetime_histogram_remove(&lasting, 1, 8, 1000000);
    mpr_lifetime_histogram_add(&lasting, 1, 8, CELL, 2000000);
    /* The end of the previous block was not seen. */
    mpr_lifetime_histogram_add(&lasting, 1, 8, CELL, 2000001);
    const struct mpr_lifetime_stats stats = mpr_lifetime_stats_of(&lasting, CELL);
    assert_int_equal(stats.blocks, 1002);
    assert_int_equal(stats.freed, 1000);
    assert_int_equal(stats.soon, 1000);
    assert_int_equal(lasting.live.count, 1); /* its place is also reused */
    mpr_lifetime_histogram_free(&lasting);
}

static void the_median_is_the_middle_of_its_class(void **state)
{
    struct mpr_lifetime_stats stats = { 0 }, sum = { 0 };
    (void)state;
    assert_true(mpr_lifetime_stats_median(&stats) == MPR_LIFETIME_UNKNOWN);
    stats.freed = 3;
    stats.life[0] = stats.life[11] = stats.life[20] = 1;
    /* Class 11 starts at 1024 ns. */
    assert_int_equal(mpr_lifetime_stats_median(&stats), 1024 + 512);
    mpr_lifetime_stats_add(&sum, &stats);
    mpr_lifetime_stats_add(&sum, &stats);
    assert_int_equal(sum.freed, 6);
    sum.life[0] += 10;
    sum.freed += 10;
    assert_int_equal(mpr_lifetime_stats_median(&sum), 0);
}

static void lifetimes_have_classes(void **state)
{
    static const struct {
        uint64_t life;
        int class;
    } expected[] = { { 0, 0 }, { 1, 1 },     { 2, 2 },     { 3, 2 },
                     { 4, 3 }, { 1023, 10 }, { 1024, 11 }, { UINT64_MAX, MPR_LIFE_CLASSES - 1 } };
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct mpr_lifetime_histogram lasting = { 0 };
        mpr_lifetime_histogram_add(&lasting, 1, 8, CELL, 0);
        mpr_lifetime_histogram_remove(&lasting, 1, 8, expected[i].life);
        assert_int_equal(mpr_lifetime_stats_of(&lasting, CELL).life[expected[i].class], 1);
        mpr_lifetime_histogram_free(&lasting);
    }
}

/* There are three cells. The third has no block. */
static void ages_are_those_of_blocks_at_the_mark(void **state)
{
    static const struct mpr_ages_cell cell[] = { { OTHER, 0 }, { CELL, 1 }, { CELL + 1, 2 } },
                                      both[] = { { OTHER, 0 }, { CELL, 0 } };
    static const uint64_t made[] = { 70, 90, 200 };
    struct mpr_lifetime_histogram lasting = { .within = 0 };
    struct mpr_arena arena = { 0 };
    struct mpr_ages ages[3];
    (void)state;
    for (uint64_t i = 1; i <= 9; i++) mpr_lifetime_histogram_add(&lasting, i, 8, CELL, i * 10);
    mpr_lifetime_histogram_add(&lasting, 100, 8, OTHER, 100);
    mpr_lifetime_histogram_mark(&lasting); /* of a mark that is not needed any more */
    for (uint64_t i = 1; i <= 8; i++)
        if (i != 7) mpr_lifetime_histogram_remove(&lasting, i, 8, 150);
    mpr_lifetime_histogram_add(&lasting, 200, 8, CELL, 200); /* in a place that is free again */
    mpr_lifetime_histogram_mark(&lasting);
    mpr_lifetime_histogram_remove(&lasting, 9, 8, 210); /* it lived at the mark */
    mpr_lifetime_histogram_add(&lasting, 300, 8, CELL, 200);
    mpr_lifetime_histogram_add(&lasting, 301, 8, CELL, 200);
    mpr_lifetime_histogram_remove(&lasting, 301, 8, 220);
    mpr_ages_of(&arena, &lasting, NULL, cell, 3, ages, 3);
    assert_int_equal(ages[0].blocks, 1);
    assert_int_equal(ages[0].made[0], 100);
    assert_int_equal(ages[1].blocks, 3);
    assert_memory_equal(ages[1].made, made, sizeof made);
    assert_int_equal(mpr_ages_median(&ages[1]), 90);
    assert_int_equal(ages[2].blocks, 0);
    const struct mpr_ages joined = mpr_ages_join(&arena, ages, 3);
    assert_int_equal(joined.blocks, 4);
    assert_int_equal(mpr_ages_median(&joined), 90); /* two are not younger */
    mpr_ages_of(&arena, &lasting, NULL, both, 2, ages, 1);
    assert_int_equal(ages[0].blocks, joined.blocks);
    assert_memory_equal(ages[0].made, joined.made, joined.blocks * sizeof *joined.made);
    mpr_arena_free(&arena);
    mpr_lifetime_histogram_free(&lasting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_counts_in_the_cell_that_allocated_it),
        cmocka_unit_test(an_address_may_be_reused),
        cmocka_unit_test(the_median_is_the_middle_of_its_class),
        cmocka_unit_test(lifetimes_have_classes),
        cmocka_unit_test(ages_are_those_of_blocks_at_the_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
