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

static void no_patience_is_over_at_once(void **state)
{
    (void)state;
    struct mp_patience patience = mp_patience(0);
    assert_false(waits(&patience, 1));
}

static void time_that_passes_ends_it(void **state)
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

static void a_stopped_process_does_not_lose_it(void **state)
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
        cmocka_unit_test(no_patience_is_over_at_once),
        cmocka_unit_test(time_that_passes_ends_it),
        cmocka_unit_test(a_stopped_process_does_not_lose_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
