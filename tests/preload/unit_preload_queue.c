/* Each number in the queue of free chunks is taken once and in order, with any number of
 * threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/queue.h"
#include "base/sys.h"

enum { CELLS = 64 };

static void an_empty_queue_returns_nothing(void **state)
{
    (void)state;
    struct mp_queue q = { 0 };
    struct mp_cell cell[CELLS] = { 0 };
    uint32_t v;
    assert_false(mp_queue_take(&q, cell, CELLS, &v));
}

static void numbers_leave_the_queue_in_order(void **state)
{
    (void)state;
    struct mp_queue q = { 0 };
    struct mp_cell cell[CELLS] = { 0 };
    uint32_t given = 0, taken = 0, v;
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 1 + round % CELLS; i++) mp_queue_give(&q, cell, CELLS, given++);
        while (mp_queue_take(&q, cell, CELLS, &v)) assert_int_equal(v, taken++);
        assert_int_equal(taken, given);
    }
}

static struct {
    struct mp_queue q;
    struct mp_cell cell[CELLS];
    uint32_t holder[CELLS];
} shared;

/* Takes a number, uses it alone for a moment, and returns it. */
static void *borrow(void *arg)
{
    uint32_t *collisions = arg, v;
    for (int i = 0; i < 100000; i++) {
        if (!mp_queue_take(&shared.q, shared.cell, CELLS, &v)) continue;
        if (__atomic_exchange_n(&shared.holder[v], 1, __ATOMIC_ACQ_REL)) ++*collisions;
        __atomic_store_n(&shared.holder[v], 0, __ATOMIC_RELEASE);
        mp_queue_give(&shared.q, shared.cell, CELLS, v);
    }
    return NULL;
}

static void no_number_is_taken_by_two_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    uint32_t collisions[THREADS] = { 0 }, seen[CELLS] = { 0 }, v;
    for (uint32_t i = 0; i < CELLS / 2; i++) mp_queue_give(&shared.q, shared.cell, CELLS, i);
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, borrow, &collisions[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(collisions[i], 0);
    }
    uint32_t remaining = 0;
    for (; mp_queue_take(&shared.q, shared.cell, CELLS, &v); remaining++)
        assert_int_equal(seen[v]++, 0);
    assert_int_equal(remaining, CELLS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_queue_returns_nothing),
        cmocka_unit_test(numbers_leave_the_queue_in_order),
        cmocka_unit_test(no_number_is_taken_by_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
