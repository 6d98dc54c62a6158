/* How often a log is read: what one reading has found out is not asked again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "error.h"
#include "insights.h"
#include "naming.h"
#include "timeline.h"

#define LOG GOLDEN "/h100-spike.zst"

/* Each reading of a log ticks as often as another one. */
static void tick(void *arg, const char *path, uint64_t done, uint64_t total)
{
    uint64_t *ticks = arg;
    (void)path;
    (void)done;
    (void)total;
    ++*ticks;
}

static uint64_t ticks_of_page(void)
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
    struct mpr_error error;
    uint64_t ticks = 0;
    const struct mpr_progress progress = { tick, &ticks };
    assert_int_equal(mpr_timeline_read(&t, LOG, &options, &progress, &error), 0);
    mpr_timeline_free(&t);
    return ticks;
}

static uint64_t ticks_of_findings(const struct mpr_insights_known *known)
{
    struct mpr_insights in;
    struct mpr_error error;
    uint64_t ticks = 0;
    const struct mpr_progress progress = { tick, &ticks };
    assert_int_equal(mpr_insights_read(&in, LOG, NULL, known, &progress, &error), 0);
    assert_true(in.steps.compared);
    mpr_insights_free(&in);
    return ticks;
}

/* The peaks; the instances, and who held the peaks of two of them, by ranges and by call stacks;
 * what PyTorch's blocks are for. */
static void findings_of_an_instance_that_stands_out_take_seven(void **state)
{
    (void)state;
    assert_int_equal(ticks_of_findings(NULL), 7 * ticks_of_page());
}

/* The instances are measured as the peaks are. */
static void what_the_page_knows_saves_one(void **state)
{
    (void)state;
    const struct mpr_choice choice = { .by = MPR_GROUP_AUTO,
                                       .source = "",
                                       .calls = MPR_GROUP_PYTHON };
    const struct mpr_insights_known known = { &choice, "step" };
    assert_int_equal(ticks_of_findings(&known), 6 * ticks_of_page());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_of_an_instance_that_stands_out_take_seven),
        cmocka_unit_test(what_the_page_knows_saves_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
