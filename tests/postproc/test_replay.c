/* Replay: rules one by one, then random traces against a naive model that keeps everything and sums
 * it up anew. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "maker.h"
#include "replay.h"

static struct mpr_replay replay;
static uint64_t now;

static void begin_with(struct mpr_replay_options options)
{
    now = 1000000;
    mpr_replay_init(&replay, &options);
}

static void begin(void)
{
    begin_with((struct mpr_replay_options){ .by = MPR_GROUP_RANGE, .at = MPR_INSTANT_PEAK });
}

static void event_at(uint64_t time, uint32_t thread, unsigned op, unsigned heap, uint64_t addr,
                     uint64_t size)
{
    const struct mpf_event e = { .time = time,
                                 .addr = addr,
                                 .size = size,
                                 .thread = thread,
                                 .op = (uint8_t)op,
                                 .heap = (uint8_t)heap };
    mpr_replay_batch(&replay, &e, 1);
}

/* Far enough from the event before that nothing counts as seen in the wrong order. */
static void event(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    now += 1000000;
    event_at(now, thread, op, heap, addr, size);
}

static const struct mpr_heap *heap(unsigned code) { return &replay.books.heap[code]; }

static uint64_t sum_at_peak(unsigned code)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < replay.books.cells; i++) {
        if (replay.books.cell[i].heap == code)
            sum += mpr_books_bytes_at_peak(&replay.books, &replay.books.cell[i]);
    }
    return sum;
}

static void end(void)
{
    mpr_replay_finish(&replay);
    for (int i = 0; i < MPR_HEAPS; i++)
        assert_int_equal(sum_at_peak((unsigned)i), heap((unsigned)i)->peak_bytes);
}

#define H MPF_HEAP_HOST
#define M MPF_HEAP_MMAP

static void realloc_is_no_peak_of_both_sizes(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 1000);
    event(1, MPF_OP_MOVE_BEGIN, H, 0x1000, 0);
    assert_int_equal(heap(H)->bytes, 1000);
    event(1, MPF_OP_MOVE_END, H, 0x2000, 1500);
    end();
    assert_int_equal(heap(H)->peak_bytes, 1500);
    assert_int_equal(heap(H)->allocations, 2);
    assert_int_equal(heap(H)->frees, 1);
    assert_int_equal(heap(H)->blocks, 1);
    mpr_replay_free(&replay);
}

static void failed_realloc_leaves_the_block(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 1000);
    event(1, MPF_OP_MOVE_BEGIN, H, 0x1000, 0);
    event(1, MPF_OP_FAIL, H, 12 | UINT64_C(1) << 32, 5);
    assert_int_equal(heap(H)->bytes, 1000);
    assert_int_equal(heap(H)->failures, 1);
    assert_int_equal(heap(H)->largest.size, (UINT64_C(1) << 40) + 5);
    assert_int_equal(heap(H)->largest.error, 12);
    event(1, MPF_OP_FREE, H, 0x1000, 0);
    end();
    assert_int_equal(heap(H)->bytes, 0);
    assert_int_equal(heap(H)->unmatched, 0);
    mpr_replay_free(&replay);
}

static void a_handlers_mmap_that_is_refused_ends_no_realloc(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 1000);
    event(1, MPF_OP_MOVE_BEGIN, H, 0x1000, 0);
    event(1, MPF_OP_FAIL, M, 12, 5);
    event(1, MPF_OP_MOVE_END, H, 0x2000, 1500);
    end();
    assert_int_equal(heap(H)->bytes, 1500);
    assert_int_equal(heap(H)->frees, 1);
    assert_int_equal(heap(M)->failures, 1);
    mpr_replay_free(&replay);
}

static void realloc_to_nothing_frees(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 1000);
    event(1, MPF_OP_MOVE_BEGIN, H, 0x1000, 0);
    event(1, MPF_OP_MOVE_END, H, 0, 0);
    end();
    assert_int_equal(heap(H)->bytes, 0);
    assert_int_equal(heap(H)->frees, 1);
    assert_int_equal(heap(H)->allocations, 1);
    mpr_replay_free(&replay);
}

static void address_handed_out_during_realloc(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 1000);
    event(1, MPF_OP_MOVE_BEGIN, H, 0x1000, 0);
    event(2, MPF_OP_ALLOC, H, 0x1000, 10);
    assert_int_equal(heap(H)->bytes, 1010);
    event(1, MPF_OP_MOVE_END, H, 0x2000, 2000);
    assert_int_equal(heap(H)->bytes, 2010);
    event(2, MPF_OP_FREE, H, 0x1000, 0);
    end();
    assert_int_equal(heap(H)->bytes, 2000);
    assert_int_equal(heap(H)->missed, 0);
    assert_int_equal(heap(H)->repairs, 0);
    mpr_replay_free(&replay);
}

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
    event_at(2000 + MPR_REPAIR_NS + 1, 1, MPF_OP_FREE, H, 0x1000, 0);
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

/* What two threads did within 20 us of each other, as it stands in the log: their times are 100 ns
 * apart.  A: an allocation of 0x1000; F: a free of it. */
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

static void frees_of_two_threads_change_places(void **state)
{
    static const struct exchange x[] = {
        { "F2 F1 A1", 0, 0, 1 },                 /* was F1 A1 F2 */
        { "F2 F1 A1 F1 A1", 0, 0, 2 },           /* F1 A1 F1 A1 F2 */
        { "F2 F1 A1 A1 F1", 0, 0, 1 },           /* F1 A1 F2 A1 F1 */
        { "F2 F1 A2 F3 A1", 0, 0, 2 },           /* F2 A2 F1 A1 F3 */
        { "F2 F1 A3 F3 A3", 0, 0, 2 },           /* F1 A3 F3 A3 F2 */
        { "F2 F1 A3 F1 A1", 0, 0, 2 },           /* F1 A3 F1 A1 F2 */
        { "F3 F1 A2 F2 A1 F1 A1 A2", 60, 0, 3 }, /* F1 A2 F2 A1 F1 A1 F3 A2 */
        { "F1 A2 F3 F2 A2", 0, 0, 1 },           /* F1 A2 F2 A2 F3 */
    };
    (void)state;
    check_exchanges(x, sizeof x / sizeof *x);
}

/* However near they are: what no order of the threads' events explains is told at once. */
static void frees_that_nothing_explains_do_not_change_places(void **state)
{
    static const struct exchange x[] = {
        { "F1 F1 A1", 60, 1, 0 },       /* freed twice by one thread */
        { "F2 A1 F1 F1 A1", 60, 1, 0 }, /* the same, behind another one's */
        { "F2 F1 A1 F1 F1 A1", 0, 1, 2 },
        { "F1 F1 A1 F2 A1", 60, 1, 0 }, /* the other one's came later */
        { "F2 F1", 0, 1, 0 },           /* freed twice by two: nothing comes that could be it */
    };
    (void)state;
    check_exchanges(x, sizeof x / sizeof *x);
}

static void frees_that_are_far_apart_do_not_change_places(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 100);
    const uint64_t free_of_2 = now + 1000000;
    event_at(free_of_2, 2, MPF_OP_FREE, H, 0x1000, 0);
    event_at(free_of_2 + MPR_REPAIR_NS - 100, 1, MPF_OP_FREE, H, 0x1000, 0);
    event_at(free_of_2 + MPR_REPAIR_NS + 1, 1, MPF_OP_ALLOC, H, 0x1000, 50);
    end();
    assert_int_equal(heap(H)->unmatched, 1);
    assert_int_equal(heap(H)->bytes, 50);
    mpr_replay_free(&replay);
}

/* An allocation that is seen too early: the thread's own free is taken for the end of the block
 * that was there, and the other one's block ends with its own, however late. */
static void an_early_allocation_changes_nothing(void **state)
{
    (void)state;
    begin();
    event_at(1000, 2, MPF_OP_ALLOC, H, 0x1000, 100); /* was A1 F1 A2 F2 */
    event_at(1100, 1, MPF_OP_ALLOC, H, 0x1000, 100);
    event_at(1200, 1, MPF_OP_FREE, H, 0x1000, 0);
    event(2, MPF_OP_FREE, H, 0x1000, 0);
    end();
    assert_int_equal(heap(H)->bytes, 0);
    assert_int_equal(heap(H)->missed + heap(H)->unmatched, 0);
    assert_int_equal(heap(H)->repairs, 1);
    mpr_replay_free(&replay);
}

/* Reallocs, and sampled blocks, are allocations and frees like any other; what lies between is of
 * other addresses, and more than a batch. */
static void reallocs_change_places_over_other_events(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, MPF_HEAP_PART, 0x1000, 100);
    const uint64_t time = now + 1000000;
    event_at(time, 2, MPF_OP_MOVE_BEGIN, MPF_HEAP_PART, 0x1000, 0);
    for (uint64_t i = 0; i < MPR_RECENT - 4; i++)
        event_at(time, 3, MPF_OP_ALLOC, H, 0x100000 + i * 64, 1);
    event_at(time, 2, MPF_OP_MOVE_END, MPF_HEAP_PART, 0x2000, 10);
    event_at(time, 1, MPF_OP_MOVE_BEGIN, MPF_HEAP_PART, 0x1000, 0);
    event_at(time, 1, MPF_OP_MOVE_END, MPF_HEAP_PART, 0x3000, 10);
    event_at(time, 1, MPF_OP_ALLOC, MPF_HEAP_PART, 0x1000, 100);
    end();
    assert_int_equal(heap(H)->unmatched, 0);
    assert_int_equal(heap(H)->repairs, 1);
    assert_int_equal(heap(H)->bytes, MPR_RECENT - 4 + 20);
    mpr_replay_free(&replay);
}

static void a_childs_frees_of_unknown_blocks_are_its_parents(void **state)
{
    (void)state;
    begin_with((struct mpr_replay_options){ .at = MPR_INSTANT_PEAK, .has_parent = true });
    event(1, MPF_OP_FREE, H, 0x1000, 0);
    end();
    assert_int_equal(heap(H)->inherited, 1);
    assert_int_equal(heap(H)->unmatched, 0);
    assert_int_equal(heap(H)->bytes, 0);
    mpr_replay_free(&replay);
}

static void reservations_are_no_memory(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_RESERVE, M, 0x100000, 0x100000);
    assert_int_equal(heap(M)->bytes, 0);
    event(1, MPF_OP_PROTECT_RW, M, 0x110000, 0x20000);
    assert_int_equal(heap(M)->bytes, 0x20000);
    event(1, MPF_OP_PROTECT_NONE, M, 0x110000, 0x10000);
    assert_int_equal(heap(M)->bytes, 0x10000);
    event(1, MPF_OP_PROTECT_RW, M, 0x900000, 0x10000);
    assert_int_equal(heap(M)->bytes, 0x10000);
    end();
    assert_int_equal(heap(M)->peak_bytes, 0x20000);
    mpr_replay_free(&replay);
}

static void mremap_moves_and_grows(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_MAP, M, 0x100000, 0x4000);
    event(1, MPF_OP_PUSH, 0, 10, 0);
    event(1, MPF_OP_REMAP_FROM, M, 0x100000, 0x4000);
    event(1, MPF_OP_REMAP_TO, M, 0x800000, 0x6000);
    assert_int_equal(heap(M)->bytes, 0x6000);
    assert_int_equal(mpr_books_bytes_at_peak(&replay.books, &replay.books.cell[0]), 0x4000);
    event(1, MPF_OP_UNMAP, M, 0x800000, 0x1000);
    assert_int_equal(heap(M)->bytes, 0x5000);
    event(1, MPF_OP_UNMAP, M, 0x100000, 0x4000);
    assert_int_equal(heap(M)->bytes, 0x5000);
    end();
    mpr_replay_free(&replay);
}

/* Once the kernel has moved the pages another thread may have their addresses, and records that
 * before the call has returned. */
static void what_mremap_left_is_mapped_by_another_thread(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_MAP, M, 0x100000, 0x4000);
    event(1, MPF_OP_REMAP_FROM, M, 0x100000, 0x4000);
    assert_int_equal(heap(M)->bytes, 0x4000);
    event(2, MPF_OP_MAP, M, 0x102000, 0x3000);
    assert_int_equal(heap(M)->bytes, 0x7000);
    event(1, MPF_OP_REMAP_TO, M, 0x100000, 0x2000);
    assert_int_equal(heap(M)->bytes, 0x5000);
    event(2, MPF_OP_UNMAP, M, 0x102000, 0x3000);
    assert_int_equal(heap(M)->bytes, 0x2000);
    event(1, MPF_OP_UNMAP, M, 0x100000, 0x2000);
    assert_int_equal(heap(M)->bytes, 0);
    end();
    mpr_replay_free(&replay);
}

static void a_handlers_mremap_comes_between(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_MAP, M, 0x100000, 0x4000);
    event(1, MPF_OP_MAP, M, 0x200000, 0x1000);
    event(1, MPF_OP_REMAP_FROM, M, 0x100000, 0x4000);
    event(1, MPF_OP_REMAP_FROM, M, 0x200000, 0x1000);
    event(1, MPF_OP_REMAP_TO, M, 0x900000, 0x2000);
    event(1, MPF_OP_REMAP_TO, M, 0x800000, 0x6000);
    assert_int_equal(heap(M)->bytes, 0x8000);
    event(1, MPF_OP_UNMAP, M, 0x800000, 0x6000);
    assert_int_equal(heap(M)->bytes, 0x2000);
    end();
    mpr_replay_free(&replay);
}

/* The log does not say whether it was mmap or mremap that was refused: the end of the mremap does.
 */
static void a_handlers_mmap_that_is_refused_ends_no_mremap(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_MAP, M, 0x100000, 0x4000);
    event(1, MPF_OP_MAP, M, 0x200000, 0x1000);
    event(1, MPF_OP_REMAP_FROM, M, 0x100000, 0x4000);
    event(1, MPF_OP_FAIL, M, 12, 0x9000);
    event(1, MPF_OP_REMAP_FROM, M, 0x200000, 0x1000);
    event(1, MPF_OP_REMAP_TO, M, 0x900000, 0x2000);
    event(1, MPF_OP_REMAP_TO, M, 0x800000, 0x6000);
    assert_int_equal(heap(M)->bytes, 0x8000);
    event(1, MPF_OP_UNMAP, M, 0x100000, 0x4000);
    event(1, MPF_OP_REMAP_TO, M, 0x100000, 0x4000);
    assert_int_equal(heap(M)->bytes, 0x8000);
    event(1, MPF_OP_UNMAP, M, 0x800000, 0x6000);
    assert_int_equal(heap(M)->bytes, 0x2000);
    end();
    mpr_replay_free(&replay);
}

/* However often it is lost where the pages went to. */
static void mremaps_without_an_end_leave_their_bytes(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_MAP, M, 0x100000, 0x5000);
    for (uint64_t i = 0; i < 5; i++) event(1, MPF_OP_REMAP_FROM, M, 0x100000 + i * 0x1000, 0x1000);
    assert_int_equal(heap(M)->bytes, 0x5000);
    event(1, MPF_OP_UNMAP, M, 0x100000, 0x3000);
    assert_int_equal(heap(M)->bytes, 0x2000);
    end();
    mpr_replay_free(&replay);
}

static void mremap_that_is_refused_moves_nothing(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_MAP, M, 0x100000, 0x4000);
    event(1, MPF_OP_REMAP_FROM, M, 0x101000, 0x2000);
    event(1, MPF_OP_FAIL, M, 12, 0x9000);
    assert_int_equal(heap(M)->bytes, 0x4000);
    event(1, MPF_OP_UNMAP, M, 0x100000, 0x4000);
    assert_int_equal(heap(M)->bytes, 0);
    end();
    mpr_replay_free(&replay);
}

static uint32_t path_of_thread(uint32_t thread) { return replay.threads.at[thread]->node; }

static void pop_takes_the_newest_range_of_its_domain(void **state)
{
    (void)state;
    const uint64_t nccl = UINT64_C(7) << 32;
    begin();
    event(1, MPF_OP_PUSH, 0, nccl | 20, 0);
    event(1, MPF_OP_PUSH, 0, 10, 0);
    event(1, MPF_OP_POP, 0, nccl, 0);
    const struct mpr_node *node = &replay.ranges.node[path_of_thread(1)];
    assert_int_equal(node->name, 10);
    assert_int_equal(node->depth, 1);
    event(1, MPF_OP_POP, 0, 0, 0);
    assert_int_equal(path_of_thread(1), 0);
    event(1, MPF_OP_POP, 0, 0, 0);
    assert_int_equal(path_of_thread(1), 0);
    mpr_replay_free(&replay);
}

static void at_shows_the_state_of_that_instant(void **state)
{
    (void)state;
    begin_with((struct mpr_replay_options){ .at = MPR_INSTANT_AT(2500) });
    event_at(1000, 1, MPF_OP_ALLOC, H, 0x1000, 500);
    event_at(2000, 1, MPF_OP_FREE, H, 0x1000, 0);
    event_at(2500, 1, MPF_OP_ALLOC, H, 0x2000, 30);
    event_at(3000, 1, MPF_OP_ALLOC, H, 0x3000, 9000);
    end();
    assert_int_equal(heap(H)->peak_bytes, 30);
    assert_int_equal(heap(H)->peak_time, 2500);
    assert_int_equal(heap(H)->bytes, 9030);
    mpr_replay_free(&replay);
}

static void size_classes_are_powers_of_two(void **state)
{
    (void)state;
    assert_int_equal(mpr_size_class(0), 0);
    assert_int_equal(mpr_size_class(1), 1);
    assert_int_equal(mpr_size_class(2), 2);
    assert_int_equal(mpr_size_class(3), 3);
    assert_int_equal(mpr_size_class(4), 3);
    assert_int_equal(mpr_size_class(1025), 12);
}

static void samples_around_the_peak(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 1; i <= 3; i++) {
        const uint64_t rss[MPF_RSS_COUNT] = { i * 100 };
        const struct mpf_event e = { .time = i * 1000,
                                     .op = MPF_OP_SAMPLE_RSS,
                                     .thread = 1,
                                     .size = sizeof rss,
                                     .data = (const uint8_t *)rss };
        mpr_replay_batch(&replay, &e, 1);
        event_at(i * 1000 + 500, 1, i < 3 ? MPF_OP_ALLOC : MPF_OP_FREE, H,
                 i < 3 ? i * 0x1000 : 0x1000, 10);
    }
    end();
    const struct mpr_track *rss = &replay.samples.source[MPR_SOURCE_RSS];
    assert_int_equal(rss->before[H].value[MPF_RSS_ANON], 200);
    assert_int_equal(rss->after[H].value[MPF_RSS_ANON], 300);
    assert_int_equal(rss->largest.value[MPF_RSS_ANON], 300);
    mpr_replay_free(&replay);
}

static uint64_t seed;
static unsigned pick(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

/* ---- threads that hand one address on, and one event that is seen too early or too late */

enum { EXCHANGES = 24, FEW = 3, AROUND = 8 };

/* Allocations and frees in turn, each by any thread. */
static void make_exchange(struct mpf_event *e)
{
    for (unsigned i = 0; i < EXCHANGES; i++)
        e[i] = (struct mpf_event){ .addr = 0x1000,
                                   .size = 10,
                                   .thread = 1 + pick(FEW),
                                   .heap = H,
                                   .op = i % 2 ? MPF_OP_FREE : MPF_OP_ALLOC };
}

/* As far as it can go: a thread's own events stay in order. */
static void displace(struct mpf_event *e)
{
    const unsigned most = pick(AROUND);
    const bool later = pick(2);
    const int step = later ? 1 : -1, end = later ? EXCHANGES : -1;
    int at = (int)pick(EXCHANGES);
    for (unsigned i = 0; i < most && at + step != end && e[at + step].thread != e[at].thread; i++) {
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
        seed = run;
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

/* ---- random traces against a naive model */

enum { ADDRESSES = 64, THREADS = 4, NAMES = 3, PAGES = 48, PATHS = 1 + NAMES };

/* Live blocks, pages and open ranges as plain arrays; a path is the name of the one range that a
 * thread has open. */
struct model {
    uint64_t size[ADDRESSES], peak, best[PATHS];
    int owner[ADDRESSES], page_owner[PAGES]; /* 0: free; path + 1; pages also -1: reserved */
    int path[THREADS];
    uint64_t page_peak, page_best[PATHS];
};

static void model_check_peak(struct model *m)
{
    uint64_t sum[PATHS] = { 0 }, pages[PATHS] = { 0 }, total = 0, page_total = 0;
    for (int i = 0; i < ADDRESSES; i++)
        if (m->owner[i]) sum[m->owner[i] - 1] += m->size[i], total += m->size[i];
    for (int i = 0; i < PAGES; i++)
        if (m->page_owner[i] > 0) pages[m->page_owner[i] - 1] += 4096, page_total += 4096;
    if (total > m->peak) m->peak = total, memcpy(m->best, sum, sizeof sum);
    if (page_total > m->page_peak)
        m->page_peak = page_total, memcpy(m->page_best, pages, sizeof pages);
    assert_int_equal(heap(H)->bytes, total);
    assert_int_equal(heap(M)->bytes, page_total);
}

static void random_block(struct model *m, unsigned thread)
{
    const unsigned i = pick(ADDRESSES), to = pick(ADDRESSES);
    const uint64_t size = pick(5000), addr = 0x1000 + i * 64;
    if (!m->owner[i]) {
        event(thread, MPF_OP_ALLOC, H, addr, size);
        m->owner[i] = m->path[thread] + 1;
        m->size[i] = size;
    } else if (pick(2) || (m->owner[to] && to != i)) {
        event(thread, MPF_OP_FREE, H, addr, 0);
        m->owner[i] = 0;
    } else {
        event(thread, MPF_OP_MOVE_BEGIN, H, addr, 0);
        if (pick(4) == 0) {
            event(thread, MPF_OP_FAIL, H, 12, size);
            return;
        }
        event(thread, MPF_OP_MOVE_END, H, 0x1000 + to * 64, size);
        m->owner[i] = 0;
        m->owner[to] = m->path[thread] + 1;
        m->size[to] = size;
    }
}

static void random_pages(struct model *m, unsigned thread)
{
    static const uint8_t ops[] = { MPF_OP_MAP, MPF_OP_RESERVE, MPF_OP_UNMAP, MPF_OP_PROTECT_RW,
                                   MPF_OP_PROTECT_NONE };
    const uint8_t op = ops[pick(sizeof ops)];
    const unsigned first = pick(PAGES), count = 1 + pick(PAGES - first);
    event(thread, op, M, 0x100000 + first * 4096, count * 4096);
    for (unsigned i = first; i < first + count; i++) {
        int *owner = &m->page_owner[i];
        if (op == MPF_OP_MAP) *owner = m->path[thread] + 1;
        else if (op == MPF_OP_RESERVE) *owner = -1;
        else if (op == MPF_OP_UNMAP) *owner = 0;
        else if (op == MPF_OP_PROTECT_RW && *owner < 0) *owner = m->path[thread] + 1;
        else if (op == MPF_OP_PROTECT_NONE && *owner > 0) *owner = -1;
    }
}

static void random_remap(struct model *m, unsigned thread)
{
    const unsigned from = pick(PAGES / 2), count = 1 + pick(6), to = PAGES / 2 + pick(PAGES / 4),
                   grown = count + pick(4);
    for (unsigned i = from; i < from + count; i++)
        if (m->page_owner[i] <= 0 || m->page_owner[i] != m->page_owner[from]) return;
    if (from + count > PAGES / 2 || to + grown > PAGES) return;
    event(thread, MPF_OP_REMAP_FROM, M, 0x100000 + from * 4096, count * 4096);
    event(thread, MPF_OP_REMAP_TO, M, 0x100000 + to * 4096, grown * 4096);
    for (unsigned i = 0; i < grown; i++)
        m->page_owner[to + i] = i < count ? m->page_owner[from] : m->path[thread] + 1;
    for (unsigned i = from; i < from + count; i++) m->page_owner[i] = 0;
}

static void random_range(struct model *m, unsigned thread)
{
    if (m->path[thread]) {
        event(thread, MPF_OP_POP, 0, 0, 0);
        m->path[thread] = 0;
    } else {
        m->path[thread] = 1 + (int)pick(NAMES);
        event(thread, MPF_OP_PUSH, 0, (uint64_t)m->path[thread] + 100, 0);
    }
}

static void compare_peaks(const struct model *m)
{
    assert_int_equal(heap(H)->peak_bytes, m->peak);
    assert_int_equal(heap(M)->peak_bytes, m->page_peak);
    for (uint32_t i = 0; i < replay.books.cells; i++) {
        const struct mpr_cell *cell = &replay.books.cell[i];
        const uint32_t path = cell->key ? replay.ranges.node[cell->key].name - 100 : 0;
        assert_int_equal(mpr_books_bytes_at_peak(&replay.books, cell),
                         (cell->heap == H ? m->best : m->page_best)[path]);
    }
}

static void random_traces_agree_with_the_naive_model(void **state)
{
    (void)state;
    for (unsigned run = 0; run < 200; run++) {
        struct model m = { 0 };
        seed = run + 1;
        begin();
        for (unsigned step = 0; step < 1000; step++) {
            const unsigned thread = pick(THREADS), what = pick(10);
            if (what < 6) random_block(&m, thread);
            else if (what < 7) random_remap(&m, thread);
            else if (what < 8) random_pages(&m, thread);
            else random_range(&m, thread);
            model_check_peak(&m);
        }
        end();
        compare_peaks(&m);
        mpr_replay_free(&replay);
    }
}

static void a_million_live_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 1000000 };
    begin();
    for (uint64_t i = 0; i < BLOCKS; i++) event(1, MPF_OP_ALLOC, H, 0x10000 + i * 16, i);
    assert_int_equal(heap(H)->blocks, BLOCKS);
    for (uint64_t i = 0; i < BLOCKS; i += 2) event(1, MPF_OP_FREE, H, 0x10000 + i * 16, 0);
    for (uint64_t i = 1; i < BLOCKS; i += 2) event(1, MPF_OP_FREE, H, 0x10000 + i * 16, 0);
    end();
    assert_int_equal(heap(H)->bytes, 0);
    assert_int_equal(heap(H)->unmatched, 0);
    assert_int_equal(replay.blocks.live, 0);
    mpr_replay_free(&replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(realloc_is_no_peak_of_both_sizes),
        cmocka_unit_test(failed_realloc_leaves_the_block),
        cmocka_unit_test(a_handlers_mmap_that_is_refused_ends_no_realloc),
        cmocka_unit_test(realloc_to_nothing_frees),
        cmocka_unit_test(address_handed_out_during_realloc),
        cmocka_unit_test(free_seen_after_the_next_allocation_is_repaired),
        cmocka_unit_test(free_seen_before_its_allocation_is_repaired),
        cmocka_unit_test(reuse_without_a_free_is_counted_as_missed),
        cmocka_unit_test(own_frees_of_unknown_blocks_are_unmatched),
        cmocka_unit_test(frees_of_two_threads_change_places),
        cmocka_unit_test(frees_that_nothing_explains_do_not_change_places),
        cmocka_unit_test(frees_that_are_far_apart_do_not_change_places),
        cmocka_unit_test(an_early_allocation_changes_nothing),
        cmocka_unit_test(reallocs_change_places_over_other_events),
        cmocka_unit_test(one_event_in_the_wrong_place_is_repaired),
        cmocka_unit_test(a_childs_frees_of_unknown_blocks_are_its_parents),
        cmocka_unit_test(reservations_are_no_memory),
        cmocka_unit_test(mremap_moves_and_grows),
        cmocka_unit_test(what_mremap_left_is_mapped_by_another_thread),
        cmocka_unit_test(a_handlers_mremap_comes_between),
        cmocka_unit_test(a_handlers_mmap_that_is_refused_ends_no_mremap),
        cmocka_unit_test(mremaps_without_an_end_leave_their_bytes),
        cmocka_unit_test(mremap_that_is_refused_moves_nothing),
        cmocka_unit_test(pop_takes_the_newest_range_of_its_domain),
        cmocka_unit_test(at_shows_the_state_of_that_instant),
        cmocka_unit_test(size_classes_are_powers_of_two),
        cmocka_unit_test(samples_around_the_peak),
        cmocka_unit_test(random_traces_agree_with_the_naive_model),
        cmocka_unit_test(a_million_live_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
