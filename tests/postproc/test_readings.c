/* Analyses share readings of a log, and none reads again what another one has found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "error.h"
#include "insights.h"
#include "leaks.h"
#include "naming.h"
#include "page_runs.h"
#include "steps.h"

#define LOG GOLDEN "/h100-spike.zst"

static const struct mpr_progress none;
static struct mpr_error error;

static uint64_t readings_since(uint64_t before) { return mpr_readings_so_far().readings - before; }

/* One reading for the peaks and the instances, and one for the owners at the peaks of two
 * instances. */
static void findings_of_an_outlier_take_two_readings(void **state)
{
    struct mpr_insights in;
    const uint64_t before = mpr_readings_so_far().readings;
    (void)state;
    assert_int_equal(mpr_insights_read(&in, LOG, NULL, false, &none, &error), 0);
    assert_non_null(in.steps.comparison.growth.row);
    assert_true(in.has_breakdown);
    assert_int_equal(readings_since(before), 2);
    mpr_insights_free(&in);
}

static void the_page_takes_no_more_readings(void **state)
{
    const struct mpr_naming naming = { 0 };
    const struct mpr_timeline_options options = { .by = MPR_GROUP_ALL,
                                                  .to = UINT64_MAX,
                                                  .buckets = 64,
                                                  .bands = 16,
                                                  .changes = 1000,
                                                  .lifetimes = 10,
                                                  .boxes = 64,
                                                  .instants = 8,
                                                  .exact = 128,
                                                  .naming = &naming };
    struct mpr_timeline t;
    struct mpr_insights in;
    struct mpr_insights_reading *reading;
    const uint64_t before = mpr_readings_so_far().readings;
    (void)state;
    assert_int_equal(mpr_page_runs_read(&t, &in, &reading, LOG, &options, &none, &error), 0);
    mpr_insights_finish(reading, NULL, &none);
    assert_non_null(in.steps.comparison.growth.row);
    assert_true(in.has_breakdown);
    assert_int_equal(readings_since(before), 2);
    mpr_insights_free(&in);
    mpr_timeline_free(&t);
}

static void steps_with_an_outlier_take_two_readings(void **state)
{
    struct mpr_steps steps;
    const struct mpr_steps_options options = { .by = MPR_GROUP_AUTO };
    const uint64_t before = mpr_readings_so_far().readings;
    (void)state;
    assert_int_equal(mpr_steps_read(&steps, LOG, &options, &none, &error), 0);
    assert_non_null(steps.comparison.growth.row);
    assert_true(steps.calls.growth.rows);
    assert_int_equal(readings_since(before), 2);
    mpr_steps_free(&steps);
}

/* One reading by ranges and one by call stacks. */
static void leaks_take_two_readings(void **state)
{
    struct mpr_leaks leaks;
    const struct mpr_leaks_options options = { .by = MPR_GROUP_AUTO, .at_end = true };
    const uint64_t before = mpr_readings_so_far().readings;
    bool by_calls = false;
    (void)state;
    assert_int_equal(mpr_leaks_read(&leaks, LOG, &options, &none, &error), 0);
    for (size_t i = 0; i < leaks.peaks.log[0].heaps; i++)
        by_calls |= mpr_group_is_calls(leaks.heap[i].by);
    assert_true(by_calls);
    assert_int_equal(readings_since(before), 2);
    mpr_leaks_free(&leaks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_of_an_outlier_take_two_readings),
        cmocka_unit_test(the_page_takes_no_more_readings),
        cmocka_unit_test(steps_with_an_outlier_take_two_readings),
        cmocka_unit_test(leaks_take_two_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
