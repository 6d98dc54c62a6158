/* Events of two threads that were recorded in the wrong order are put into the right one. */
#include <inttypes.h>

#include "replay_test.h"

static void free_seen_after_the_next_allocation_is_repaired(void **state)
{
    (void)state;
    begin();
    event_at(1000, 1, MPF_OP_ALLOC, H, 0x1000, 100);
    event_at(9000, 2, MPF_OP_ALLOC, H, 0x1000, 60);
    event_at(9500, 1, MPF_OP_FREE, H, 0x1000, 0);
    end();
    assert_int_equal(heap(H)->bytes, 60);
    assert_int_equal(heap(H)->peak_bytes, 100);
    assert_int_equal(heap(H)->repairs, 1);
    assert_int_equal(heap(H)->missed, 0);
    mpr_replay_free(&replay);
}

static void free_seen_before_its_allocation_is_repaired(void **state)
{
    (void)state;
    begin();
    event_at(1000, 2, MPF_OP_FREE, H, 0x1000, 0);
    event_at(1500, 1, MPF_OP_ALLOC, H, 0x1000, 100);
    end();
    assert_int_equal(heap(H)->bytes, 0);
    assert_int_equal(heap(H)->repairs, 1);
    assert_int_equal(heap(H)->unmatched, 0);
    mpr_replay_free(&replay);
}

static void reuse_without_a_free_is_counted_as_missed(void **state)
{
    (void)state;
    begin();
    event_at(1000, 1, MPF_OP_ALLOC, H, 0x1000, 100);
    event_at(2000, 1, MPF_OP_ALLOC, H, 0x1000, 60);
    event_at(2000 + MPR_REORDER_NS + 1, 1, MPF_OP_FREE, H, 0x1000, 0);
    end();
    assert_int_equal(heap(H)->bytes, 0);
    assert_int_equal(heap(H)->missed, 1);
    assert_int_equal(heap(H)->repairs, 0);
    mpr_replay_free(&replay);
}

static void own_frees_of_unknown_blocks_are_unmatched(void **state)
{
    (void)state;
    begin();
    event_at(1000, 1, MPF_OP_FREE, H, 0x1000, 0);
    event_at(1100, 1, MPF_OP_ALLOC, H, 0x1000, 50);
    end();
    assert_int_equal(heap(H)->unmatched, 1);
    assert_int_equal(heap(H)->bytes, 50);
    mpr_replay_free(&replay);
}

/* Events of two threads within 20 us, in the order of the log. Their times are 100 ns apart. A: an
 * allocation of 0x1000, F: a free of it. */
static void replay_exchange(const char *log)
{
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 100);
    for (uint64_t time = now + 1000000; *log; log += 2 + (log[2] == ' '), time += 100)
        event_at(time, (uint32_t)(log[1] - '0'), log[0] == 'A' ? MPF_OP_ALLOC : MPF_OP_FREE, H,
                 0x1000, 60);
    end();
}

struct exchange {
    const char *log;
    uint64_t bytes, unmatched, repairs;
};

static void check_exchanges(const struct exchange *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        replay_exchange(x[i].log);
        if (heap(H)->bytes != x[i].bytes || heap(H)->unmatched != x[i].unmatched ||
            heap(H)->repairs != x[i].repairs || heap(H)->missed)
            fail_msg("%s: %" PRIu64 " bytes, %" PRIu64 " unmatched, %" PRIu64 " repairs", x[i].log,
                     heap(H)->bytes, heap(H)->unmatched, heap(H)->repairs);
        mpr_replay_free(&replay);
    }
}

static void frees_of_two_threads_are_reordered(void **state)
{
    static const struct exchange x[] = {
        { "F2 F1 A1", 0, 0, 1 },                 /* actual order F1 A1 F2 */
        { "F2 F1 A1 F1 A1", 0, 0, 2 },           /* actual order F1 A1 F1 A1 F2 */
        { "F2 F1 A1 A1 F1", 0, 0, 1 },           /* actual order F1 A1 F2 A1 F1 */
        { "F2 F1 A2 F3 A1", 0, 0, 2 },           /* actual order F2 A2 F1 A1 F3 */
        { "F2 F1 A3 F3 A3", 0, 0, 2 },           /* actual order F1 A3 F3 A3 F2 */
        { "F2 F1 A3 F1 A1", 0, 0, 2 },           /* actual order F1 A3 F1 A1 F2 */
        { "F3 F1 A2 F2 A1 F1 A1 A2", 60, 0, 3 }, /* actual order F1 A2 F2 A1 F1 A1 F3 A2 */
        { "F1 A2 F3 F2 A2", 0, 0, 1 },           /* actual order F1 A2 F2 A2 F3 */
    };
    (void)state;
    check_exchanges(x, sizeof x / sizeof *x);
}

/* A free that no order of the threads' events explains is reported at once, however close other
 * events are. */
static void unexplained_frees_are_not_reordered(void **state)
{
    static const struct exchange x[] = {
        { "F1 F1 A1", 60, 1, 0 },       /* freed twice by one thread */
        { "F2 A1 F1 F1 A1", 60, 1, 0 }, /* the same after an event of another thread */
        { "F2 F1 A1 F1 F1 A1", 0, 1, 2 },
        { "F1 F1 A1 F2 A1", 60, 1, 0 }, /* the other thread's event was later */
        { "F2 F1", 0, 1, 0 },           /* freed by both threads: no later event explains it */
    };
    (void)state;
    check_exchanges(x, sizeof x / sizeof *x);
}

static void frees_with_distant_times_are_not_reordered(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 100);
    const uint64_t free_of_2 = now + 1000000;
    event_at(free_of_2, 2, MPF_OP_FREE, H, 0x1000, 0);
    event_at(free_of_2 + MPR_REORDER_NS - 100, 1, MPF_OP_FREE, H, 0x1000, 0);
    event_at(free_of_2 + MPR_REORDER_NS + 1, 1, MPF_OP_ALLOC, H, 0x1000, 50);
    end();
    assert_int_equal(heap(H)->unmatched, 1);
    assert_int_equal(heap(H)->bytes, 50);
    mpr_replay_free(&replay);
}

/* If an allocation is seen too early, the thread's own free is taken for the end of the previous
 * block, and the other thread's block ends with its own free, however late. */
static void an_allocation_seen_too_early_changes_nothing(void **state)
{
    (void)state;
    begin();
    event_at(1000, 2, MPF_OP_ALLOC, H, 0x1000, 100); /* actual order A1 F1 A2 F2 */
    event_at(1100, 1, MPF_OP_ALLOC, H, 0x1000, 100);
    event_at(1200, 1, MPF_OP_FREE, H, 0x1000, 0);
    event(2, MPF_OP_FREE, H, 0x1000, 0);
    end();
    assert_int_equal(heap(H)->bytes, 0);
    assert_int_equal(heap(H)->missed + heap(H)->unmatched, 0);
    assert_int_equal(heap(H)->repairs, 1);
    mpr_replay_free(&replay);
}

/* Reallocs and sampled blocks are like other allocations and frees. The events in between have
 * other addresses and are more than a batch. */
static void reallocs_are_reordered_across_other_events(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, MPF_HEAP_PART, 0x1000, 100);
    const uint64_t time = now + 1000000;
    event_at(time, 2, MPF_OP_MOVE_BEGIN, MPF_HEAP_PART, 0x1000, 0);
    for (uint64_t i = 0; i < MPR_RECENT_EVENTS - 4; i++)
        event_at(time, 3, MPF_OP_ALLOC, H, 0x100000 + i * 64, 1);
    event_at(time, 2, MPF_OP_MOVE_END, MPF_HEAP_PART, 0x2000, 10);
    event_at(time, 1, MPF_OP_MOVE_BEGIN, MPF_HEAP_PART, 0x1000, 0);
    event_at(time, 1, MPF_OP_MOVE_END, MPF_HEAP_PART, 0x3000, 10);
    event_at(time, 1, MPF_OP_ALLOC, MPF_HEAP_PART, 0x1000, 100);
    end();
    assert_int_equal(heap(H)->unmatched, 0);
    assert_int_equal(heap(H)->repairs, 1);
    assert_int_equal(heap(H)->bytes, MPR_RECENT_EVENTS - 4 + 20);
    mpr_replay_free(&replay);
}

/* ---- threads that pass one address on, and one event that is seen too early or too late */

enum { EXCHANGES = 24, FEW = 3, AROUND = 8 };

/* Alternating allocations and frees, each by any thread. */
static void make_exchange(struct mpf_event *e)
{
    for (unsigned i = 0; i < EXCHANGES; i++)
        e[i] = (struct mpf_event){ .addr = 0x1000,
                                   .size = 10,
                                   .thread = 1 + pick(FEW),
                                   .heap = H,
                                   .op = i % 2 ? MPF_OP_FREE : MPF_OP_ALLOC };
}

/* Moves an event as far as possible without changing the order of its thread's events. */
static void displace(struct mpf_event *e)
{
    const unsigned max_distance = pick(AROUND);
    const bool later = pick(2);
    const int step = later ? 1 : -1, end = later ? EXCHANGES : -1;
    int at = (int)pick(EXCHANGES);
    for (unsigned i = 0;
         i < max_distance && at + step != end && e[at + step].thread != e[at].thread; i++) {
        const struct mpf_event other = e[at + step];
        e[at + step] = e[at];
        e[at] = other;
        at += step;
    }
}

static void one_event_in_the_wrong_place_is_repaired(void **state)
{
    uint64_t repairs = 0;
    (void)state;
    for (uint64_t run = 1; run <= 20000; run++) {
        struct mpf_event e[EXCHANGES];
        pick_from(run);
        make_exchange(e);
        displace(e);
        begin();
        for (unsigned i = 0; i < EXCHANGES; i++) e[i].time = now + i * 1000;
        mpr_replay_batch(&replay, e, EXCHANGES);
        end();
        if (heap(H)->bytes || heap(H)->missed || heap(H)->unmatched) fail_msg("run %" PRIu64, run);
        repairs += heap(H)->repairs;
        mpr_replay_free(&replay);
    }
    assert_true(repairs > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_seen_after_the_next_allocation_is_repaired),
        cmocka_unit_test(free_seen_before_its_allocation_is_repaired),
        cmocka_unit_test(reuse_without_a_free_is_counted_as_missed),
        cmocka_unit_test(own_frees_of_unknown_blocks_are_unmatched),
        cmocka_unit_test(frees_of_two_threads_are_reordered),
        cmocka_unit_test(unexplained_frees_are_not_reordered),
        cmocka_unit_test(frees_with_distant_times_are_not_reordered),
        cmocka_unit_test(an_allocation_seen_too_early_changes_nothing),
        cmocka_unit_test(reallocs_are_reordered_across_other_events),
        cmocka_unit_test(one_event_in_the_wrong_place_is_repaired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
