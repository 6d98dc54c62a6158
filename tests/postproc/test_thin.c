/* A thinned log has the same peaks, failures and end as the complete one, whichever part was
 * thinned and however often, and the same peaks of range instances. */
#include <stdio.h>

#include "log.h"
#include "reader.h"
#include "testlog.h"
#include "thin_test.h"

static void reports_of_golden_logs_stay_the_same(void **state)
{
    static const char *const name[] = { "h100-spike",      "h100-gpt2",  "h100-sleep",
                                        "h200-graphs-oom", "h200-walk",  "python-leak",
                                        "h200-nccl-rank0", "host-large", "host-folded",
                                        "nvtx-pools" };
    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.zst", GOLDEN, name[i]);
        make_files();
        thin(path, thinned_log, 1, 1);
        assert_same(path, thinned_log);
        remove_files();
    }
}

/* ---- steps */

/* Step n allocates and frees a block of n KiB, and 8 bytes stay live. */
enum { STEPS = 40 };
static void make_steps(const char *path)
{
    struct testlog *log = testlog_open(path, NULL);
    uint64_t now = 0;
    testlog_data(log, 0, 1, MPF_OP_NAME, 3, "step", 4);
    for (uint64_t i = 1; i <= STEPS; i++) {
        testlog_event(log, now += 1000, 1, MPF_OP_PUSH, 0, 3, 0);
        testlog_event(log, now += 1000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, i << 20, i << 10);
        testlog_event(log, now += 1000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000 + i * 16, 8);
        testlog_event(log, now += 1000, 1, MPF_OP_FREE, MPF_HEAP_HOST, i << 20, 0);
        testlog_event(log, now += 1000, 1, MPF_OP_POP, 0, 0, 0);
        testlog_flush(log);
    }
    testlog_close(log, "exit");
}

/* The largest state of host/heap since the previous range. */
struct steps {
    struct mpr_heap_maxima maxima;
    uint64_t peak[STEPS + 1], steps;
};

static void see_step(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    struct steps *s = arg;
    (void)r;
    (void)t;
    if (e->op == MPF_OP_POP) s->peak[s->steps++] = s->maxima.heap[MPF_HEAP_HOST].bytes;
    if (e->op == MPF_OP_PUSH) s->maxima.heap[MPF_HEAP_HOST].bytes = 0;
}

static void instances_keep_their_peaks(void **state)
{
    static const struct mpr_progress none;
    struct mpr_reader reader;
    struct mpr_error error;
    struct steps s = { 0 };
    (void)state;
    make_files();
    make_steps(whole_log);
    const struct mpr_thinned out = thin(whole_log, thinned_log, 1, 1);
    assert_true(out.removed >= STEPS);
    assert_same(whole_log, thinned_log);
    assert_int_equal(
        mpr_reader_open(&reader, thinned_log, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, &error), 0);
    reader.replay.accounts.maxima = &s.maxima;
    mpr_watch_begin(&reader.replay, (struct mpr_watch){ see_step, &s });
    assert_int_equal(mpr_reader_replay(&reader, thinned_log, &none, &error), 0);
    assert_int_equal(s.steps, STEPS);
    for (uint64_t i = 1; i <= STEPS; i++) assert_int_equal(s.peak[i - 1], (i << 10) + 8 * i);
    mpr_reader_close(&reader);
    remove_files();
}

/* ---- events that only some logs have */

static void removed_events_are_counted(void **state)
{
    static const char *const name[] = { "h100-spike", "h200-autograd", "h200-pytorch" };
    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.zst", GOLDEN, name[i]);
        make_files();
        const uint64_t removed = thin(path, thinned_log, 1, 1).removed;
        assert_true(removed > 0);
        const uint64_t remaining =
            count_events(thinned_log, -1) - count_events(thinned_log, MPF_OP_FOLDED);
        assert_int_equal(count_events(path, -1) - remaining, removed);
        remove_files();
    }
}

/* The payload belongs to the mark, whichever range was closed before it. */
static void marks_keep_their_payloads(void **state)
{
    uint64_t now = 0;
    (void)state;
    make_files();
    struct testlog *log = testlog_open(whole_log, NULL);
    testlog_data(log, 0, 1, MPF_OP_NAME, 3, "step", 4);
    for (uint64_t i = 1; i <= 100; i++) {
        testlog_event(log, now += 400000, 1, MPF_OP_PUSH, 0, 3, 0);
        testlog_event(log, now += 400000, 1, MPF_OP_PUSH, 0, 4, 0);
        testlog_event(log, now += 400000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000,
                      100 * (i == 50) + 8);
        testlog_event(log, now += 400000, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x1000, 0);
        testlog_event(log, now += 400000, 1, MPF_OP_POP, 0, 0, 0);
        testlog_event(log, now += 400000, 1, MPF_OP_MARK, 0, 3, 0);
        testlog_data(log, now, 1, MPF_OP_RANGE_DATA, 7, &i, sizeof i);
        testlog_event(log, now += 400000, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(log, "exit");
    assert_true(thin(whole_log, thinned_log, 1, 1).removed > 100);
    assert_int_equal(count_events(thinned_log, MPF_OP_MARK), 100);
    assert_int_equal(count_events(thinned_log, MPF_OP_RANGE_DATA), 100);
    remove_files();
}

/* If there are more instances than are measured, the later ones are thinned like other events. */
static void many_instances_can_be_measured(void **state)
{
    enum { MANY = (1 << 17) + 200000 };
    uint64_t now = 0;
    (void)state;
    make_files();
    struct testlog *log = testlog_open(whole_log, NULL);
    testlog_data(log, 0, 1, MPF_OP_NAME, 3, "step", 4);
    testlog_data(log, 0, 1, MPF_OP_NAME, 4, "layer", 5);
    for (uint64_t i = 1; i <= MANY; i++) {
        testlog_event(log, now += 1000, 1, MPF_OP_PUSH, 0, 3, 0);
        testlog_event(log, now += 1000, 1, MPF_OP_PUSH, 0, 4, 0);
        testlog_event(log, now += 1000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 64);
        testlog_event(log, now += 1000, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x1000, 0);
        testlog_event(log, now += 1000, 1, MPF_OP_POP, 0, 0, 0);
        testlog_event(log, now += 1000, 1, MPF_OP_POP, 0, 0, 0);
        if (i % 8000 == 0) testlog_flush(log);
    }
    testlog_close(log, "exit");
    thin(whole_log, thinned_log, 1, UINT64_MAX);
    assert_same(whole_log, thinned_log);
    assert_true(count_events(thinned_log, MPF_OP_PUSH) < (1 << 17) + 120000);
    remove_files();
}

/* The end of a thread closes its ranges, and other ranges are measured. */
static void threads_may_end_inside_their_ranges(void **state)
{
    static const struct mpr_progress none;
    struct mpr_reader reader;
    struct mpr_error error;
    struct steps s = { 0 };
    uint64_t now = 0;
    (void)state;
    make_files();
    struct testlog *log = testlog_open(whole_log, NULL);
    testlog_data(log, 0, 1, MPF_OP_NAME, 3, "step", 4);
    for (uint32_t thread = 2; thread < 202; thread++) {
        testlog_event(log, now += 1000, thread, MPF_OP_PUSH, 0, 3, 0);
        testlog_event(log, now += 1000, thread, MPF_OP_ALLOC, MPF_HEAP_HOST, thread << 20, 64);
        testlog_event(log, now += 1000, thread, MPF_OP_FREE, MPF_HEAP_HOST, thread << 20, 0);
        testlog_event(log, now += 1000, 1, MPF_OP_THREAD_END, 0, thread, 0);
    }
    for (uint64_t i = 1; i <= STEPS; i++) {
        testlog_event(log, now += 1000, 1, MPF_OP_PUSH, 0, 3, 0);
        testlog_event(log, now += 1000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, i << 20, i << 10);
        testlog_event(log, now += 1000, 1, MPF_OP_FREE, MPF_HEAP_HOST, i << 20, 0);
        testlog_event(log, now += 1000, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(log, "exit");
    thin(whole_log, thinned_log, 1, 1);
    assert_same(whole_log, thinned_log);
    assert_int_equal(
        mpr_reader_open(&reader, thinned_log, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, &error), 0);
    reader.replay.accounts.maxima = &s.maxima;
    mpr_watch_begin(&reader.replay, (struct mpr_watch){ see_step, &s });
    assert_int_equal(mpr_reader_replay(&reader, thinned_log, &none, &error), 0);
    assert_int_equal(s.steps, STEPS);
    for (uint64_t i = 1; i <= STEPS; i++) assert_int_equal(s.peak[i - 1], i << 10);
    mpr_reader_close(&reader);
    remove_files();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_of_golden_logs_stay_the_same),
        cmocka_unit_test(instances_keep_their_peaks),
        cmocka_unit_test(removed_events_are_counted),
        cmocka_unit_test(marks_keep_their_payloads),
        cmocka_unit_test(many_instances_can_be_measured),
        cmocka_unit_test(threads_may_end_inside_their_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
