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

static void free_of_a_third_has_its_time(void **state)
{
    struct world *w = *state;
    const uint32_t site = cell(w, 1);
    for (int i = 0; i < 8; i++) allocate(w, site);
    assert_true(w->survivors.followed->freed_ns == UINT64_MAX);
    for (int i = 0; i < 2; i++) give_back(w, site);
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

static void a_place_knows_how_many_allocations_came_after_its_last_one(void **state)
{
    struct world *w = *state;
    const uint32_t loader = cell(w, 1), server = cell(w, 2);
    for (int i = 0; i < 4; i++) allocate(w, loader);
    for (int i = 0; i < 30; i++) allocate(w, server);
    mpr_accounts_add(&w->replay.accounts,
                     mpr_accounts_cell(&w->replay.accounts, 3, 0, MPF_HEAP_HOST), SIZE,
                     ++w->replay.now); /* does not count */
    assert_int_equal(w->survivors.followed[0].last.device_allocs, 4);
    assert_int_equal(w->survivors.device_allocs, 34);
}

/* One use of the site: its blocks, which are all freed again. */
static void use(struct world *w, uint32_t site, int blocks)
{
    for (int i = 0; i < blocks; i++) allocate(w, site);
    for (int i = 0; i < blocks; i++) give_back(w, site);
}

static void each_use_of_a_site_is_a_pulse(void **state)
{
    struct world *w = *state;
    const uint32_t site = cell(w, 1);
    for (int i = 0; i < 10; i++) use(w, site, i == 5 ? 40 : 1);
    mpr_survivors_finish(&w->survivors);
    const struct mpr_survivor *f = w->survivors.followed;
    assert_int_equal(f->use.count, 10);
    assert_int_equal(f->use.largest, 40 * SIZE);
    assert_int_equal(f->use.second, SIZE);
    assert_int_equal(f->use.sum, 49 * SIZE);
    assert_int_equal(f->use.floor, 0);
}

static void pulses_stand_on_what_the_site_keeps(void **state)
{
    struct world *w = *state;
    const uint32_t site = cell(w, 1);
    allocate(w, site);
    for (int i = 0; i < 5; i++) use(w, site, 9);
    mpr_survivors_finish(&w->survivors);
    const struct mpr_survivor *f = w->survivors.followed;
    assert_int_equal(f->use.count, 5);
    assert_int_equal(f->use.largest, 10 * SIZE);
    assert_int_equal(f->use.floor, SIZE);
}

static void the_host_heap_has_pulses_of_all_places_together(void **state)
{
    struct world *w = *state;
    struct mpr_accounts *accounts = &w->replay.accounts;
    const uint32_t large = mpr_accounts_cell(accounts, 1, 0, MPF_HEAP_HOST),
                   small = mpr_accounts_cell(accounts, 2, 0, MPF_HEAP_HOST);
    mpr_accounts_add(accounts, small, 100, ++w->replay.now); /* too small for a pulse */
    mpr_accounts_remove(accounts, small, 100);
    for (int i = 0; i < 9; i++) {
        use(w, small, 2);
        if (i == 5) use(w, large, 20);
    }
    mpr_survivors_finish(&w->survivors);
    assert_int_equal(w->survivors.host.count, 10);
    assert_int_equal(w->survivors.host.before, 6);
    assert_int_equal(w->survivors.host.largest, 20 * SIZE);
    assert_int_equal(w->survivors.host.second, 2 * SIZE);
}

static void pulses_of_the_host_heap_rise_from_what_the_program_keeps(void **state)
{
    struct world *w = *state;
    const uint32_t site = mpr_accounts_cell(&w->replay.accounts, 1, 0, MPF_HEAP_HOST);
    for (int i = 0; i < 100; i++) allocate(w, site); /* a table */
    for (int i = 0; i < 200; i++) use(w, site, i == 150 ? 50 : 2);
    mpr_survivors_finish(&w->survivors);
    const struct mpr_pulses *p = &w->survivors.host;
    assert_true(p->count > 90);
    assert_true(p->before > 40);
    assert_int_equal(p->largest, 50 * SIZE);
    assert_int_equal(p->top, 150 * SIZE);
    assert_int_equal(p->second, 2 * SIZE);
}

static void a_site_that_replaces_each_block_by_a_larger_one_has_no_pulse(void **state)
{
    struct world *w = *state;
    const uint32_t site = cell(w, 1);
    mpr_accounts_add(&w->replay.accounts, site, SIZE, ++w->replay.now);
    for (int i = 1; i < 40; i++) {
        mpr_accounts_add(&w->replay.accounts, site, (uint64_t)(i + 1) * SIZE, ++w->replay.now);
        w->replay.now++;
        mpr_accounts_remove(&w->replay.accounts, site, (uint64_t)i * SIZE);
    }
    assert_int_equal(w->survivors.followed->use.count, 0);
}

static void a_block_that_realloc_replaces_stays(void **state)
{
    struct world *w = *state;
    const uint32_t site = cell(w, 1);
    allocate(w, site);
    for (uint64_t i = 1; i < 9; i++) {
        w->replay.now++; /* both are one event */
        mpr_accounts_remove(&w->replay.accounts, site, i * SIZE);
        mpr_accounts_add(&w->replay.accounts, site, (i + 1) * SIZE, w->replay.now);
    }
    const struct mpr_survivor *f = w->survivors.followed;
    assert_int_equal(f->use.count, 0);
    assert_int_equal(f->points, 1);
    assert_int_equal(f->use.high, 9 * SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(site_that_keeps_each_block_rises, begin, end),
        cmocka_unit_test_setup_teardown(temporaries_leave_nothing, begin, end),
        cmocka_unit_test_setup_teardown(spans_widen_and_keep_the_minimum, begin, end),
        cmocka_unit_test_setup_teardown(free_of_a_third_has_its_time, begin, end),
        cmocka_unit_test_setup_teardown(small_cells_are_not_measured, begin, end),
        cmocka_unit_test_setup_teardown(a_place_knows_how_many_allocations_came_after_its_last_one,
                                        begin, end),
        cmocka_unit_test_setup_teardown(each_use_of_a_site_is_a_pulse, begin, end),
        cmocka_unit_test_setup_teardown(pulses_stand_on_what_the_site_keeps, begin, end),
        cmocka_unit_test_setup_teardown(the_host_heap_has_pulses_of_all_places_together, begin,
                                        end),
        cmocka_unit_test_setup_teardown(pulses_of_the_host_heap_rise_from_what_the_program_keeps,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_block_that_realloc_replaces_stays, begin, end),
        cmocka_unit_test_setup_teardown(
            a_site_that_replaces_each_block_by_a_larger_one_has_no_pulse, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
