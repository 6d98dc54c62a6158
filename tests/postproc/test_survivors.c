/* The live bytes before each of a cell's allocations are measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "accounts.h"
#include "survivors.h"

enum { SIZE = 1 << 20, HEAP = 8 };

struct world {
    struct mpr_replay replay;
    struct mpr_survivors survivors;
};

static int begin(void **state)
{
    static struct world w;
    mpr_replay_init(&w.replay, &(struct mpr_replay_options){ .by = MPR_GROUP_PLACE });
    mpr_survivors_begin(&w.survivors, &w.replay);
    *state = &w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    mpr_survivors_free(&w->survivors);
    mpr_replay_free(&w->replay);
    return 0;
}

static uint32_t cell(struct world *w, uint64_t key)
{
    return mpr_accounts_cell(&w->replay.accounts, key, 0, HEAP);
}

static void allocate(struct world *w, uint32_t cell)
{
    mpr_accounts_add(&w->replay.accounts, cell, SIZE, ++w->replay.now);
}

static void give_back(struct world *w, uint32_t cell)
{
    w->replay.now++;
    mpr_accounts_remove(&w->replay.accounts, cell, SIZE);
}

static void site_that_keeps_each_block_rises(void **state)
{
    struct world *w = *state;
    const uint32_t leak = cell(w, 1);
    for (int i = 0; i < 9; i++) allocate(w, leak);
    assert_int_equal(w->survivors.count, 1);
    const struct mpr_survivor *f = w->survivors.followed;
    assert_int_equal(f->points, 9);
    for (uint32_t i = 0; i < f->points; i++) assert_int_equal(f->point[i].low, i * SIZE);
    assert_int_equal(f->kept, 9 * SIZE);
}

static void temporaries_leave_nothing(void **state)
{
    struct world *w = *state;
    const uint32_t site = cell(w, 1);
    for (int i = 0; i < 20; i++) {
        allocate(w, site);
        allocate(w, site);
        give_back(w, site);
        give_back(w, site);
    }
    const struct mpr_survivor *f = w->survivors.followed;
    assert_true(f->points > 4);
    for (uint32_t i = 1; i < f->points; i++) assert_int_equal(f->point[i].low, 0);
}

static void spans_widen_and_keep_the_minimum(void **state)
{
    struct world *w = *state;
    const uint32_t site = cell(w, 1);
    for (int i = 0; i < 200; i++) {
        allocate(w, site);
        allocate(w, site);
        give_back(w, site); /* each round keeps one of two blocks */
    }
    const struct mpr_survivor *f = w->survivors.followed;
    assert_int_equal(f->each, 32);
    for (uint32_t i = 1; i < f->points; i++)
        assert_int_equal(f->point[i].low - f->point[i - 1].low, f->each / 2 * SIZE);
}

static void free_of_half_has_its_time(void **state)
{
    struct world *w = *state;
    const uint32_t site = cell(w, 1);
    for (int i = 0; i < 8; i++) allocate(w, site);
    assert_true(w->survivors.followed->freed_ns == UINT64_MAX);
    for (int i = 0; i < 4; i++) give_back(w, site);
    assert_true(w->survivors.followed->freed_ns == UINT64_MAX);
    give_back(w, site);
    assert_int_equal(w->survivors.followed->freed_ns, w->replay.now);
    allocate(w, site);
    assert_true(w->survivors.followed->freed_ns == UINT64_MAX);
}

static void small_cells_are_not_measured(void **state)
{
    struct world *w = *state;
    const uint32_t small = cell(w, 1);
    for (int i = 0; i < 50; i++) mpr_accounts_add(&w->replay.accounts, small, 100, ++w->replay.now);
    assert_int_equal(w->survivors.count, 0);
    assert_int_equal(w->survivors.last_ns[HEAP], w->replay.now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(site_that_keeps_each_block_rises, begin, end),
        cmocka_unit_test_setup_teardown(temporaries_leave_nothing, begin, end),
        cmocka_unit_test_setup_teardown(spans_widen_and_keep_the_minimum, begin, end),
        cmocka_unit_test_setup_teardown(free_of_half_has_its_time, begin, end),
        cmocka_unit_test_setup_teardown(small_cells_are_not_measured, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
