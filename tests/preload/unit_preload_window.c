/* Windows that ranges open and close on several threads are open at the right times. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config.h"
#include "core/names.h"
#include "core/record.h"
#include "core/window.h"
#include "mpf/event.h"
#include "recording.h"

enum { EACH = 20000, AT_ONCE = 4 };

static void watch(uint32_t first, uint32_t last)
{
    strcpy(mp_config.window_text, "range:step");
    mp_config.window = (struct mpf_window){ .by = MPF_WINDOW_RANGE, .first = first, .last = last };
    mp_window.open = 0;
}

static void must_be(bool open, int status)
{
    if (mp_window_is_open() != open) _exit(status);
}

static void overlapping(void)
{
    const uint64_t first = mp_window_level(1, 0, 0), second = mp_window_level(2, 0, 0);
    watch(0, 0);
    mp_window_begins(first);
    mp_window_begins(second);
    mp_window_ends(first);
    must_be(true, 90);
    mp_window_ends(second);
    must_be(false, 91);
    mp_window_begins(mp_window_id(7));
    must_be(true, 92);
    mp_window_ends(mp_window_id(7));
    must_be(false, 93);
}

static void a_window_is_open_while_one_of_its_ranges_is(void **state)
{
    (void)state;
    const struct log_counts b = recorded(overlapping);
    assert_int_equal(b.op[MPF_OP_WINDOW], 4);
}

static pthread_barrier_t together;

/* A range belongs to its thread, so the end of a thread ends all of its ranges. */
static void *begin_and_end(void *arg)
{
    mp_record(MPF_OP_MARK, MPF_HEAP_NONE, MP_NAME_OTHER, 0);
    const uint64_t range = mp_window_level(mp_self->number, 0, 0);
    pthread_barrier_wait(&together);
    for (int i = 0; i < EACH; i++) {
        mp_window_begins(range);
        if (i % 64 == 0) sched_yield();
        must_be(true, 94);
        mp_window_ends(range);
    }
    return arg;
}

static void many_threads(void)
{
    pthread_t thread[AT_ONCE];
    watch(0, 0);
    pthread_barrier_init(&together, NULL, AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++) pthread_create(&thread[i], NULL, begin_and_end, NULL);
    for (int i = 0; i < AT_ONCE; i++) pthread_join(thread[i], NULL);
    must_be(false, 95);
}

static void the_end_of_another_thread_closes_no_window(void **state)
{
    (void)state;
    recorded(many_threads);
}

static void numbered(void)
{
    watch(2, 3);
    for (uint32_t n = 1; n <= 4; n++) {
        mp_window_begins(mp_window_level(n, 0, 0));
        must_be(n >= 2, 96);
    }
    mp_window_ends(mp_window_level(2, 0, 0));
    must_be(true, 97);
    mp_window_ends(mp_window_level(3, 0, 0));
    must_be(false, 98);
    mp_window_begins(mp_window_level(5, 0, 0));
    must_be(false, 99);
}

static void a_window_spans_from_one_instance_to_another(void **state)
{
    (void)state;
    recorded(numbered);
}

static void ended(void)
{
    watch(0, 0);
    mp_window_begins(mp_window_level(1, 0, 0));
    mp_window_begins(mp_window_level(2, 0, 0));
    mp_window_begins(mp_window_id(1));
    mp_window_ends_of(1);
    must_be(true, 100);
    mp_window_ends_of(2);
    must_be(true, 101);
    mp_window_ends(mp_window_id(1));
    must_be(false, 102);
}

static void the_end_of_a_thread_ends_its_ranges(void **state)
{
    (void)state;
    recorded(ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_open_while_one_of_its_ranges_is),
        cmocka_unit_test(the_end_of_another_thread_closes_no_window),
        cmocka_unit_test(a_window_spans_from_one_instance_to_another),
        cmocka_unit_test(the_end_of_a_thread_ends_its_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
