/* Waits end after their time limit, but not because the process was stopped meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sys.h"

#define SECOND UINT64_C(1000000000)
static uint32_t word;

static bool waits(struct mp_patience *patience, uint64_t look)
{
    return mp_wait(patience, &word, word, look);
}

/* Simulates that this time has passed since the last check. */
static void passed(struct mp_patience *patience, uint64_t ns) { patience->seen -= ns; }

static void a_wait_of_0_ns_ends_at_once(void **state)
{
    (void)state;
    struct mp_patience patience = mp_patience(0);
    assert_false(waits(&patience, 1));
}

static void a_wait_ends_after_its_time(void **state)
{
    (void)state;
    struct mp_patience patience = mp_patience(100 * SECOND);
    for (unsigned i = 0; i < 999; i++) {
        passed(&patience, SECOND / 10);
        assert_true(waits(&patience, 1));
    }
    passed(&patience, 2 * SECOND / 10);
    assert_false(waits(&patience, 1));
}

static void time_while_the_process_is_stopped_does_not_count(void **state)
{
    (void)state;
    struct mp_patience patience = mp_patience(100 * SECOND);
    passed(&patience, 3600 * SECOND);
    assert_true(waits(&patience, 1));
    assert_in_range(patience.left, 90 * SECOND, 100 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_of_0_ns_ends_at_once),
        cmocka_unit_test(a_wait_ends_after_its_time),
        cmocka_unit_test(time_while_the_process_is_stopped_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
