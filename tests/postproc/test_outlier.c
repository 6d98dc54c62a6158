/* Similar processes are compared, and those that differ are outliers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mpf/event.h"
#include "page_runs.h"

#define MIB UINT64_C(1048576)

enum { RUNS = 6 };

static struct mpr_timeline run[RUNS];
static struct mpr_heap_timeline heap[RUNS][2];
static char path[RUNS][32];

/* Processes without a common parent that has a log. Each has 100 MiB. */
static int alone(void **state)
{
    (void)state;
    memset(run, 0, sizeof run);
    for (size_t i = 0; i < RUNS; i++) {
        snprintf(path[i], sizeof path[i], "p.%zu.zst", i);
        heap[i][0] = (struct mpr_heap_timeline){ .heap = MPF_HEAP_HOST, .peak_bytes = 100 * MIB };
        heap[i][1] = (struct mpr_heap_timeline){ .heap = MPF_HEAP_MMAP, .peak_bytes = 10 * MIB };
        run[i].heap = heap[i];
        run[i].heaps = 2;
        run[i].summary = (struct mpr_summary){ .path = path[i], .end = MPF_END_EXIT };
        run[i].summary.process.host = "n01";
        run[i].summary.process.rank = run[i].summary.process.parent_log = "";
        run[i].summary.process.pid = 100 + i;
        run[i].summary.process.ppid = 1;
        run[i].summary.process.start_ns = i + 1;
    }
    return 0;
}

static void forked(size_t child, size_t parent)
{
    run[child].summary.process.ppid = run[parent].summary.process.pid;
}

static void the_farthest_in_any_heap_is_found(void **state)
{
    struct mpr_outlier out;
    (void)state;
    assert_false(mpr_page_runs_outlier(run, RUNS, &out));
    heap[2][0].peak_bytes = 120 * MIB;
    heap[4][1].peak_bytes = 50 * MIB;
    assert_true(mpr_page_runs_outlier(run, RUNS, &out));
    assert_int_equal(out.outlier, 4);
    assert_int_equal(out.heap, MPF_HEAP_MMAP);
}

static void a_fork_in_one_of_several_runs_hides_no_outlier(void **state)
{
    struct mpr_outlier out;
    (void)state;
    forked(5, 4);
    heap[1][0].peak_bytes = 300 * MIB;
    heap[5][0].peak_bytes = 900 * MIB; /* belongs to another kind */
    assert_true(mpr_page_runs_outlier(run, RUNS, &out));
    assert_int_equal(out.outlier, 1);
}

static void workers_are_compared_without_their_parent(void **state)
{
    struct mpr_outlier out;
    (void)state;
    for (size_t i = 1; i < RUNS; i++) forked(i, 0);
    heap[0][0].peak_bytes = 900 * MIB;
    heap[3][0].peak_bytes = 130 * MIB;
    assert_true(mpr_page_runs_outlier(run, RUNS, &out));
    assert_int_equal(out.outlier, 3);
}

static void outliers_by_a_heap_have_places(void **state)
{
    static const uint64_t mib[RUNS] = { 110, 100, 101, 140, 60, 100 };
    static const size_t expected[RUNS] = { 3, 0, 0, 2, 1, 0 };
    bool alike[RUNS] = { true, true, true, true, true, true };
    size_t place[RUNS];
    (void)state;
    for (size_t i = 0; i < RUNS; i++) heap[i][0].peak_bytes = mib[i] * MIB;
    mpr_page_runs_places(run, RUNS, alike, MPF_HEAP_HOST, place);
    assert_memory_equal(place, expected, sizeof place);
    alike[4] = false;
    run[3].heaps = 0; /* holds nothing */
    mpr_page_runs_places(run, RUNS, alike, MPF_HEAP_HOST, place);
    assert_int_equal(place[3], 1);
    assert_int_equal(place[4], 0);
    mpr_page_runs_places(run, RUNS, alike, MPF_HEAP_MMAP, place);
    assert_int_equal(place[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_farthest_in_any_heap_is_found, alone),
        cmocka_unit_test_setup(a_fork_in_one_of_several_runs_hides_no_outlier, alone),
        cmocka_unit_test_setup(workers_are_compared_without_their_parent, alone),
        cmocka_unit_test_setup(outliers_by_a_heap_have_places, alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
