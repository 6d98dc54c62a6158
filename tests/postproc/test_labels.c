/* Numbers in a log have names, also those that the log does not define. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "labels.h"

static struct mpr_arena arena;
static struct mpr_replay replay;

static int begin(void **state)
{
    (void)state;
    mpr_ranges_init(&replay.ranges);
    mpr_ranges_set_name(&replay.ranges, 10, (const uint8_t *)"step", 4);
    mpr_ranges_set_name(&replay.ranges, 11, (const uint8_t *)"", 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    mpr_ranges_free(&replay.ranges);
    mpr_arena_free(&arena);
    return 0;
}

static void check_name(uint32_t name, uint32_t domain, const char *expected)
{
    assert_string_equal(mpr_label_name(&arena, &replay, name, domain), expected);
}

static void undefined_names_are_shown_as_numbers(void **state)
{
    (void)state;
    check_name(10, 0, "step");
    check_name(10, 3, "domain 3:step");
    check_name(11, 0, "(no name)");
    check_name(12, 0, "name 12");
    check_name(0, 0, "(no name)");
}

/* A reader could not find the numbers of such frames in the log. */
static void python_frames_beyond_the_limit_are_marked(void **state)
{
    (void)state;
    check_name(MPR_FRAME_NAME + 7, 0, "(names beyond the limit)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undefined_names_are_shown_as_numbers),
        cmocka_unit_test(python_frames_beyond_the_limit_are_marked),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
