/* Replay of device memory: rules one by one, then random traces against a naive model that keeps everything in lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpf/gpu.h"
#include "mpf/sample.h"
#include "mpf/slot.h"
#include "replay.h"

static struct mpr_replay replay;
static uint64_t now;

static void begin_with(struct mpr_replay_options options)
{
    now = 1000000;
    assert_int_equal(mpr_replay_init(&replay, &options), 0);
}

static void begin(void) { begin_with((struct mpr_replay_options){ .by = MPR_BY_RANGE, .at = MPR_AT_PEAK }); }

static void feed(const struct mpf_event *e) { assert_int_equal(mpr_replay_batch(&replay, e, 1), 0); }

static void event(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    now += 1000000;
    feed(&(struct mpf_event){ .time = now, .addr = addr, .size = size, .thread = thread, .op = (uint8_t)op,
                              .heap = (uint8_t)heap });
}

static void data(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, const void *bytes, size_t count)
{
    now += 1000000;
    feed(&(struct mpf_event){ .time = now, .addr = addr, .size = count, .data = bytes, .thread = thread, .op = (uint8_t)op,
                              .heap = (uint8_t)heap });
}

#define WORDS(thread, op, heap, addr, ...)                              \
    do {                                                                \
        const uint64_t words[] = { __VA_ARGS__ };                       \
        data(thread, op, heap, addr, words, sizeof words);              \
    } while (0)

#define D mpf_heap_gpu(MPF_HEAP_DEVICE, 0)
#define T mpf_heap_gpu(MPF_HEAP_TORCH, 0)
#define U mpf_heap_gpu(MPF_HEAP_USED, 0)
#define POOL mpf_heap_gpu(MPF_HEAP_POOL, 0)
#define MANAGED mpf_heap_gpu(MPF_HEAP_MANAGED, 0)
#define PINNED MPF_HEAP_PINNED
#define MIB (UINT64_C(1) << 20)
#define A UINT64_C(0x7f0000000000)
#define B UINT64_C(0x7f1000000000)

static const struct mpr_heap *heap(unsigned code) { return &replay.books.heap[code]; }
static const struct mpr_gpu *gpu(void) { return &replay.gpu; }
static const struct mpr_gpu_device *device(void) { return &replay.gpu.device[0]; }

static uint64_t sum_at_peak(unsigned code)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < replay.books.cells; i++) {
        if (replay.books.cell[i].heap == code) sum += mpr_books_bytes_at_peak(&replay.books, &replay.books.cell[i]);
    }
    return sum;
}

/* After the last event the cells of every heap still sum up to its peak. */
static void end(void)
{
    mpr_replay_finish(&replay);
    for (unsigned i = 0; i < MPR_HEAPS; i++) assert_int_equal(sum_at_peak(i), heap(i)->peak_bytes);
}

static void over(void)
{
    end();
    mpr_replay_free(&replay);
}

static void alloc(unsigned code, uint64_t addr, uint64_t size) { event(1, MPF_OP_ALLOC, code, addr, size); }

static void driver_free(uint32_t thread, uint64_t addr)
{
    event(thread, MPF_OP_MOVE_BEGIN, D, addr, 0);
    event(thread, MPF_OP_MOVE_END, D, 0, 0);
}

/* ---- blocks of the driver */

static void a_block_counts_until_the_driver_has_freed_it(void **state)
{
    (void)state;
    begin();
    alloc(D, A, MIB);
    event(1, MPF_OP_MOVE_BEGIN, D, A, 0);
    assert_int_equal(heap(D)->bytes, MIB);
    event(1, MPF_OP_MOVE_END, D, 0, 0);
    assert_int_equal(heap(D)->bytes, 0);
    assert_int_equal(heap(D)->frees, 1);
    over();
}

static void a_failed_free_leaves_the_block(void **state)
{
    (void)state;
    begin();
    alloc(D, A, MIB);
    event(1, MPF_OP_MOVE_BEGIN, D, A, 0);
    event(1, MPF_OP_FAIL, D, 1, 0);
    assert_int_equal(heap(D)->bytes, MIB);
    assert_int_equal(heap(D)->failures, 0);
    driver_free(1, A);
    assert_int_equal(heap(D)->bytes, 0);
    assert_int_equal(heap(D)->unmatched, 0);
    over();
}

static void an_address_may_be_handed_out_while_its_free_returns(void **state)
{
    (void)state;
    begin();
    alloc(D, A, MIB);
    event(1, MPF_OP_MOVE_BEGIN, D, A, 0);
    event(2, MPF_OP_ALLOC, D, A, 3 * MIB);
    assert_int_equal(heap(D)->bytes, 4 * MIB);
    event(1, MPF_OP_MOVE_END, D, 0, 0);
    assert_int_equal(heap(D)->bytes, 3 * MIB);
    assert_int_equal(heap(D)->missed, 0);
    driver_free(2, A);
    assert_int_equal(heap(D)->bytes, 0);
    over();
}

static void a_free_finds_the_block_whatever_heap_it_names(void **state)
{
    (void)state;
    begin();
    alloc(MANAGED, A, MIB);
    alloc(POOL, B, 2 * MIB);
    event(1, MPF_OP_ALLOC, PINNED, A + MIB, 3 * MIB);
    driver_free(1, A);
    driver_free(1, B);
    driver_free(1, A + MIB);
    assert_int_equal(heap(MANAGED)->bytes, 0);
    assert_int_equal(heap(POOL)->bytes, 0);
    assert_int_equal(heap(PINNED)->bytes, 0);
    assert_int_equal(heap(MANAGED)->frees + heap(POOL)->frees + heap(PINNED)->frees, 3);
    assert_int_equal(heap(D)->unmatched, 0);
    over();
}

static void a_free_on_one_gpu_finds_a_block_of_another(void **state)
{
    const unsigned second = mpf_heap_gpu(MPF_HEAP_DEVICE, 1);
    (void)state;
    begin();
    alloc(second, A, MIB);
    driver_free(1, A);
    assert_int_equal(heap(second)->bytes, 0);
    assert_int_equal(heap(second)->frees, 1);
    over();
}

static void a_free_of_what_was_never_seen_is_unmatched(void **state)
{
    (void)state;
    begin();
    alloc(D, A, MIB);
    driver_free(1, A);
    driver_free(1, A);
    assert_int_equal(heap(D)->unmatched, 1);
    assert_int_equal(heap(D)->bytes, 0);
    over();
}

static void reuse_without_a_free_is_missed(void **state)
{
    (void)state;
    begin();
    alloc(D, A, MIB);
    alloc(D, A, 5 * MIB);
    assert_int_equal(heap(D)->bytes, 5 * MIB);
    assert_int_equal(heap(D)->missed, 1);
    over();
}

static void pytorchs_blocks_are_a_space_of_their_own(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 20 * MIB);
    alloc(T, A, MIB);
    assert_int_equal(heap(D)->bytes, 20 * MIB);
    event(1, MPF_OP_FREE, T, A, 0);
    assert_int_equal(heap(T)->bytes, 0);
    assert_int_equal(heap(D)->bytes, 20 * MIB);
    over();
}

static void blocks_go_with_their_context(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_GPU_CONTEXT, 0, 0xc1, 0);
    alloc(D, A, 20 * MIB);
    alloc(T, A + MIB, MIB);
    event(2, MPF_OP_GPU_CONTEXT, 0, 0xc2, 0);
    event(2, MPF_OP_ALLOC, D, B, 7 * MIB);
    WORDS(1, MPF_OP_GPU_RETURN, U, MPF_UNKNOWN, MPF_CALL_CONTEXT_GONE, 0, 0xc1, 0, 0);
    assert_int_equal(heap(D)->bytes, 7 * MIB);
    assert_int_equal(heap(T)->bytes, 0);
    assert_int_equal(gpu()->context_blocks, 1);
    over();
}

static void a_context_that_is_still_active_keeps_its_blocks(void **state)
{
    (void)state;
    begin();
    event(2, MPF_OP_ALLOC, D, B, 2 * MIB);      /* by a thread whose context is not known */
    event(1, MPF_OP_GPU_CONTEXT, 0, 0xc1, 0);
    alloc(D, A, MIB);
    WORDS(1, MPF_OP_GPU_RETURN, U, MPF_UNKNOWN, MPF_CALL_CONTEXT_GONE, 0, 0, 0, 0);
    assert_int_equal(heap(D)->bytes, 3 * MIB);
    over();
}

/* ---- handles */

static void map(uint64_t handle, uint64_t at, uint64_t bytes)
{
    WORDS(1, MPF_OP_HANDLE_MAP, 0, handle, at, bytes, 0);
}

static void memory_with_a_handle_lives_by_references_and_mappings(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_HANDLE_NEW, D, 0x11, 2 * MIB);
    map(0x11, A, 2 * MIB);
    event(1, MPF_OP_HANDLE_DROP, 0, 0x11, 0);
    assert_int_equal(heap(D)->bytes, 2 * MIB);
    event(1, MPF_OP_HANDLE_UNMAP, 0, A, 2 * MIB);
    assert_int_equal(heap(D)->bytes, 0);
    assert_int_equal(heap(D)->frees, 1);
    over();
}

static void retain_adds_a_reference_to_what_is_mapped_there(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_HANDLE_NEW, D, 0x11, 2 * MIB);
    map(0x11, A, 2 * MIB);
    WORDS(1, MPF_OP_HANDLE_RETAIN, 0, 0x11, A + MIB);
    event(1, MPF_OP_HANDLE_DROP, 0, 0x11, 0);
    event(1, MPF_OP_HANDLE_UNMAP, 0, A, 2 * MIB);
    assert_int_equal(heap(D)->bytes, 2 * MIB);
    event(1, MPF_OP_HANDLE_DROP, 0, 0x11, 0);
    assert_int_equal(heap(D)->bytes, 0);
    over();
}

static void retain_may_bring_back_memory_whose_handle_was_dropped(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_HANDLE_NEW, D, 0x11, 2 * MIB);
    map(0x11, A, 2 * MIB);
    event(1, MPF_OP_HANDLE_DROP, 0, 0x11, 0);
    WORDS(1, MPF_OP_HANDLE_RETAIN, 0, 0x22, A);
    event(1, MPF_OP_HANDLE_UNMAP, 0, A, 2 * MIB);
    assert_int_equal(heap(D)->bytes, 2 * MIB);
    event(1, MPF_OP_HANDLE_DROP, 0, 0x22, 0);
    assert_int_equal(heap(D)->bytes, 0);
    over();
}

static void imported_memory_is_no_bytes_of_this_process(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_HANDLE_IMPORT, 0, 0x11, 0);
    map(0x11, A, 64 * MIB);
    assert_int_equal(heap(D)->bytes, 0);
    event(1, MPF_OP_HANDLE_DROP, 0, 0x11, 0);
    event(1, MPF_OP_HANDLE_UNMAP, 0, A, 64 * MIB);
    assert_int_equal(heap(D)->bytes, 0);
    assert_int_equal(heap(D)->unmatched, 0);
    over();
}

struct shown { size_t count; struct mpr_large_block block[4]; };

static void show(void *arg, const struct mpr_large_block *block)
{
    struct shown *s = arg;
    if (s->count < 4) s->block[s->count] = *block;
    s->count++;
}

static void memory_with_a_handle_is_a_block_where_it_is_mapped(void **state)
{
    (void)state;
    struct shown live = { 0 }, all = { 0 };
    begin();
    struct mpr_large *large = replay.large = mpr_large_new(&replay.books);
    event(1, MPF_OP_HANDLE_NEW, D, 0x11, 2 * MIB);
    const uint64_t made = now;
    event(1, MPF_OP_HANDLE_IMPORT, 0, 0x33, 0);
    map(0x33, B, 64 * MIB);                     /* another process's bytes */
    map(0x11, A, 2 * MIB);
    map(0x11, B + 64 * MIB, 2 * MIB);           /* once more: the same bytes */
    mpr_large_each(large, D, show, &live);
    assert_int_equal(live.count, 1);
    assert_int_equal(live.block[0].addr, A);
    assert_int_equal(live.block[0].from, made);
    assert_int_equal(live.block[0].to, UINT64_MAX);
    assert_true(live.block[0].mapped);
    event(1, MPF_OP_HANDLE_UNMAP, 0, A, 2 * MIB);
    const uint64_t unmapped = now;
    event(1, MPF_OP_HANDLE_UNMAP, 0, B + 64 * MIB, 2 * MIB);
    map(0x11, A + 8 * MIB, 2 * MIB);
    mpr_large_each(large, D, show, &all);
    assert_int_equal(all.count, 2);
    const struct mpr_large_block *again = &all.block[all.block[0].to == UINT64_MAX ? 0 : 1], *before = &all.block[again == all.block];
    assert_int_equal(before->to, unmapped);
    assert_int_equal(again->addr, A + 8 * MIB);
    assert_int_equal(again->from, now);
    replay.large = NULL;
    mpr_large_free(large);
    over();
}

/* The driver gives the number to new memory while the old one is still mapped. */
static void a_handle_may_be_used_again(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_HANDLE_NEW, D, 0x11, 2 * MIB);
    map(0x11, A, 2 * MIB);
    event(1, MPF_OP_HANDLE_DROP, 0, 0x11, 0);
    event(1, MPF_OP_HANDLE_NEW, D, 0x11, 4 * MIB);
    assert_int_equal(heap(D)->bytes, 6 * MIB);
    event(1, MPF_OP_HANDLE_DROP, 0, 0x11, 0);
    assert_int_equal(heap(D)->bytes, 2 * MIB);
    event(1, MPF_OP_HANDLE_UNMAP, 0, A, 2 * MIB);
    assert_int_equal(heap(D)->bytes, 0);
    over();
}

/* Thread 1's last drop is reported after thread 2 got the same number for new memory. */
static void a_late_drop_is_not_taken_for_one_of_the_new_memory(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_HANDLE_NEW, D, 0x11, 2 * MIB);
    event(2, MPF_OP_HANDLE_NEW, D, 0x11, 4 * MIB);
    assert_int_equal(heap(D)->bytes, 4 * MIB);
    event(1, MPF_OP_HANDLE_DROP, 0, 0x11, 0);
    assert_int_equal(heap(D)->bytes, 4 * MIB);
    event(2, MPF_OP_HANDLE_DROP, 0, 0x11, 0);
    assert_int_equal(heap(D)->bytes, 0);
    over();
}

static void one_unmap_may_end_several_mappings(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 0; i < 4; i++) {
        event(1, MPF_OP_HANDLE_NEW, D, 0x11 + i, 2 * MIB);
        map(0x11 + i, A + i * 2 * MIB, 2 * MIB);
        event(1, MPF_OP_HANDLE_DROP, 0, 0x11 + i, 0);
    }
    event(1, MPF_OP_HANDLE_UNMAP, 0, A + 2 * MIB, 4 * MIB);
    assert_int_equal(heap(D)->bytes, 4 * MIB);
    event(1, MPF_OP_HANDLE_UNMAP, 0, A, 8 * MIB);
    assert_int_equal(heap(D)->bytes, 0);
    over();
}

static void memory_with_a_handle_survives_a_context(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_GPU_CONTEXT, 0, 0xc1, 0);
    event(1, MPF_OP_HANDLE_NEW, D, 0x11, 2 * MIB);
    WORDS(1, MPF_OP_GPU_RETURN, U, MPF_UNKNOWN, MPF_CALL_CONTEXT_GONE, 0, 0xc1, 0, 0);
    assert_int_equal(heap(D)->bytes, 2 * MIB);
    over();
}

/* ---- levels */

static void a_pools_level_is_absolute(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 32 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 96 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0, 8 * MIB);
    assert_int_equal(heap(D)->bytes, 104 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 64 * MIB);
    assert_int_equal(heap(D)->bytes, 72 * MIB);
    end();
    assert_int_equal(device()->peak.pools, 96 * MIB);
    assert_int_equal(device()->peak.graph_memory, 8 * MIB);
    mpr_replay_free(&replay);
}

/* Blocks inside a pool are shown in a heap of their own: the device counts the pool. */
static void blocks_of_a_pool_are_not_counted_twice(void **state)
{
    (void)state;
    begin();
    alloc(POOL, A, 5 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 32 * MIB);
    assert_int_equal(heap(D)->bytes, 32 * MIB);
    assert_int_equal(heap(POOL)->bytes, 5 * MIB);
    over();
}

/* ---- hidden memory */

static void enter(uint32_t thread, unsigned call, uint64_t used) { event(thread, MPF_OP_GPU_ENTER, U, call, used); }

static void leave(uint32_t thread, unsigned call, uint64_t used, uint64_t a)
{
    WORDS(thread, MPF_OP_GPU_RETURN, U, used, call, 0, a, 0, 7);
}

static void growth_around_a_call_is_booked_under_its_name(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_CONTEXT, 100 * MIB);
    leave(1, MPF_CALL_CONTEXT, 500 * MIB, 0xc1);
    enter(1, MPF_CALL_MODULE, 500 * MIB);
    leave(1, MPF_CALL_MODULE, 530 * MIB, 0);
    enter(1, MPF_CALL_STREAM, 530 * MIB);
    leave(1, MPF_CALL_STREAM, 532 * MIB, 0);
    assert_int_equal(device()->part[MPR_PART_CONTEXT], 400 * MIB);
    assert_int_equal(device()->part[MPR_PART_MODULES], 30 * MIB);
    assert_int_equal(device()->part[MPR_PART_STREAMS], 2 * MIB);
    over();
}

static void what_is_tracked_is_not_hidden(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_GRAPH_LAUNCH, 100 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0, 128 * MIB);
    leave(1, MPF_CALL_GRAPH_LAUNCH, 230 * MIB, 0xe1);
    assert_int_equal(device()->part[MPR_PART_GRAPHS], 2 * MIB);
    over();
}

static void shrinking_is_booked_as_negative(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_MODULE_GONE, 130 * MIB);
    leave(1, MPF_CALL_MODULE_GONE, 100 * MIB, 0);
    assert_true(device()->part[MPR_PART_MODULES] == -30 * (int64_t)MIB);
    over();
}

/* Thread 2 measures inside thread 1's call: what it has booked, thread 1 does not book again. */
static void overlapping_calls_book_growth_once(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_CONTEXT, 100 * MIB);
    enter(2, MPF_CALL_MODULE, 100 * MIB);
    leave(2, MPF_CALL_MODULE, 300 * MIB, 0);
    leave(1, MPF_CALL_CONTEXT, 350 * MIB, 0xc1);
    assert_int_equal(device()->part[MPR_PART_CONTEXT] + device()->part[MPR_PART_MODULES], 250 * MIB);
    over();
}

static void the_launch_after_a_limit_grows_the_stacks(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_LIMIT, 100 * MIB);
    leave(1, MPF_CALL_LIMIT, 100 * MIB, 0);
    enter(1, MPF_CALL_LAUNCH, 100 * MIB);
    leave(1, MPF_CALL_LAUNCH, 4100 * MIB, 0);
    enter(1, MPF_CALL_LAUNCH, 4100 * MIB);
    leave(1, MPF_CALL_LAUNCH, 4110 * MIB, 0);
    assert_int_equal(device()->part[MPR_PART_STACK], 4000 * MIB);
    assert_int_equal(device()->part[MPR_PART_MODULES], 10 * MIB);
    over();
}

static void a_call_that_was_not_measured_books_nothing(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_CONTEXT, MPF_SIZE_MAX);
    leave(1, MPF_CALL_CONTEXT, 500 * MIB, 0xc1);
    enter(1, MPF_CALL_MODULE, 500 * MIB);
    leave(1, MPF_CALL_MODULE, MPF_UNKNOWN, 0);
    assert_int_equal(device()->part[MPR_PART_CONTEXT], 0);
    assert_int_equal(device()->part[MPR_PART_MODULES], 0);
    over();
}

/* ---- the device's peak */

static void sample(uint64_t used, uint64_t own) { WORDS(9, MPF_OP_SAMPLE_GPU, U, 0, used, 80000 * MIB, own, 0); }

static void used_bytes_are_the_newest_sample_and_what_changed_since(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 10 * MIB);
    sample(500 * MIB, 400 * MIB);
    alloc(D, B, 30 * MIB);
    driver_free(1, B);
    sample(490 * MIB, 390 * MIB);
    end();
    assert_int_equal(device()->peak.used, 530 * MIB);
    assert_int_equal(device()->peak.tracked, 40 * MIB);
    assert_int_equal(device()->peak.others, 100 * MIB);
    assert_int_equal(device()->peak.total, 80000 * MIB);
    mpr_replay_free(&replay);
}

static void without_measurements_the_peak_is_that_of_tracked_bytes(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 10 * MIB);
    alloc(D, B, 30 * MIB);
    const uint64_t then = now;
    driver_free(1, A);
    end();
    assert_true(device()->peak.used == MPF_UNKNOWN);
    assert_int_equal(device()->peak.tracked, 40 * MIB);
    assert_int_equal(device()->peak.time, then);
    mpr_replay_free(&replay);
}

/* The block that the driver is about to free is out of the table of addresses, and still there. */
static void the_peaks_picture_holds_the_block_that_is_freed_next(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 10 * MIB);
    alloc(D, B, 30 * MIB);
    driver_free(1, B);
    end();
    assert_int_equal(device()->peak.drivers, 2);
    assert_int_equal(device()->peak.driver[0].size + device()->peak.driver[1].size, device()->peak.tracked);
    mpr_replay_free(&replay);
}

/* Used bytes stand still while tensors come and go inside segments. */
static void of_equally_full_instants_the_one_with_most_tensors_is_the_peak(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 20 * MIB);
    alloc(T, A, 4 * MIB);
    alloc(T, A + 4 * MIB, 8 * MIB);
    const uint64_t then = now;
    event(1, MPF_OP_FREE, T, A, 0);
    alloc(T, A, MIB);
    end();
    assert_int_equal(device()->peak.time, then);
    assert_int_equal(device()->peak.torches, 2);
    assert_true(device()->peak.torch[0].addr == A);
    assert_int_equal(device()->peak.torch[0].size, 4 * MIB);
    assert_int_equal(device()->peak.torch[1].size, 8 * MIB);
    mpr_replay_free(&replay);
}

static void a_picture_is_of_its_own_device(void **state)
{
    const unsigned second = mpf_heap_gpu(MPF_HEAP_DEVICE, 1);
    (void)state;
    begin();
    alloc(D, A, 10 * MIB);
    alloc(second, B, 30 * MIB);
    alloc(PINNED, A + 64 * MIB, 7 * MIB);
    event(1, MPF_OP_HANDLE_NEW, second, 0x11, 2 * MIB);
    end();
    assert_int_equal(device()->peak.drivers, 1);
    assert_int_equal(gpu()->device[1].peak.drivers, 2);
    assert_int_equal(gpu()->device[1].peak.tracked, 32 * MIB);
    mpr_replay_free(&replay);
}

static void a_chosen_instant_stands_for_the_peak(void **state)
{
    (void)state;
    begin_with((struct mpr_replay_options){ .by = MPR_BY_RANGE, .at = 2500000 });
    alloc(D, A, 10 * MIB);      /* at 2 ms */
    alloc(D, B, 30 * MIB);
    end();
    assert_int_equal(device()->peak.tracked, 10 * MIB);
    assert_int_equal(device()->peak.drivers, 1);
    assert_int_equal(heap(D)->peak_bytes, 10 * MIB);
    mpr_replay_free(&replay);
}

/* ---- ranges */

#define NAME(domain, name) ((uint64_t)(domain) << 32 | (name))

/* The names of the path, innermost first, as one number: 3 > 4 > 5 is 0x543. */
static uint64_t path_of(uint64_t node)
{
    uint64_t path = 0;
    unsigned shift = 0;
    for (; node; node = replay.ranges.node[node].parent, shift += 4) path |= (uint64_t)replay.ranges.node[node].name << shift;
    return path;
}

static uint64_t bytes_of_path(unsigned code, uint64_t path)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < replay.books.cells; i++) {
        const struct mpr_cell *cell = &replay.books.cell[i];
        if (cell->heap == code && path_of(cell->key) == path) bytes += cell->bytes;
    }
    return bytes;
}

static uint64_t inherited_at_peak(unsigned code)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < replay.books.cells; i++) {
        const struct mpr_cell *cell = &replay.books.cell[i];
        if (cell->heap == code) bytes += mpr_books_inherited_at_peak(&replay.books, cell);
    }
    return bytes;
}

static void push(uint32_t thread, uint32_t domain, uint32_t name) { event(thread, MPF_OP_PUSH, 0, NAME(domain, name), 0); }
static void pop(uint32_t thread, uint32_t domain) { event(thread, MPF_OP_POP, 0, NAME(domain, 0), 0); }

static void a_thread_without_ranges_inherits(void **state)
{
    (void)state;
    begin();
    push(1, 0, 3);
    push(1, 0, 4);
    event(2, MPF_OP_ALLOC, T, A, MIB);
    event(1, MPF_OP_ALLOC, T, B, 2 * MIB);
    assert_int_equal(bytes_of_path(T, 0x34), 3 * MIB);
    end();
    assert_int_equal(inherited_at_peak(T), MIB);
    mpr_replay_free(&replay);
}

static void inherited_bytes_are_those_at_the_peak(void **state)
{
    (void)state;
    begin();
    push(1, 0, 3);
    event(2, MPF_OP_ALLOC, T, A, 4 * MIB);
    event(1, MPF_OP_ALLOC, T, B, MIB);
    event(2, MPF_OP_FREE, T, A, 0);
    event(2, MPF_OP_ALLOC, T, A, 2 * MIB);
    end();
    assert_int_equal(heap(T)->peak_bytes, 5 * MIB);
    assert_int_equal(inherited_at_peak(T), 4 * MIB);
    mpr_replay_free(&replay);
}

static void what_a_library_opened_is_appended_to_what_is_inherited(void **state)
{
    (void)state;
    begin();
    push(1, 0, 3);
    push(1, 7, 5);
    push(2, 7, 4);
    event(2, MPF_OP_ALLOC, D, A, MIB);
    assert_int_equal(bytes_of_path(D, 0x34), MIB);
    event(1, MPF_OP_ALLOC, D, B, MIB);
    assert_int_equal(bytes_of_path(D, 0x35), MIB);
    over();
}

static void a_library_domain_gives_nobody_a_path(void **state)
{
    (void)state;
    begin();
    push(1, 7, 3);
    event(2, MPF_OP_ALLOC, T, A, MIB);
    assert_int_equal(bytes_of_path(T, 0), MIB);
    end();
    assert_int_equal(inherited_at_peak(T), 0);
    mpr_replay_free(&replay);
}

static void the_newest_stack_of_ranges_is_inherited(void **state)
{
    (void)state;
    begin();
    push(1, 0, 3);
    push(2, 0, 4);
    event(3, MPF_OP_ALLOC, T, A, MIB);
    assert_int_equal(bytes_of_path(T, 4), MIB);
    pop(2, 0);
    event(3, MPF_OP_ALLOC, T, B, MIB);
    assert_int_equal(bytes_of_path(T, 3), MIB);
    pop(1, 0);
    event(3, MPF_OP_ALLOC, T, B + MIB, MIB);
    assert_int_equal(bytes_of_path(T, 0), MIB);
    over();
}

/* The same stack of the thread itself, under another one's that has moved on. */
static void inheritance_follows_the_other_threads_ranges(void **state)
{
    (void)state;
    begin();
    push(1, 0, 3);
    event(2, MPF_OP_ALLOC, T, A, MIB);
    pop(1, 0);
    push(1, 0, 4);
    event(2, MPF_OP_ALLOC, T, B, 2 * MIB);
    assert_int_equal(bytes_of_path(T, 3), MIB);
    assert_int_equal(bytes_of_path(T, 4), 2 * MIB);
    over();
}

static void the_host_heap_does_not_inherit(void **state)
{
    (void)state;
    begin();
    push(1, 0, 3);
    event(2, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 100);
    event(2, MPF_OP_ALLOC, PINNED, A, MIB);
    assert_int_equal(bytes_of_path(MPF_HEAP_HOST, 0), 100);
    assert_int_equal(bytes_of_path(PINNED, 3), MIB);
    over();
}

static void inheritance_can_be_switched_off(void **state)
{
    (void)state;
    begin_with((struct mpr_replay_options){ .by = MPR_BY_RANGE, .at = MPR_AT_PEAK, .no_inherit = true });
    push(1, 0, 3);
    event(2, MPF_OP_ALLOC, T, A, MIB);
    assert_int_equal(bytes_of_path(T, 0), MIB);
    over();
}

/* ---- owners */

static void module(uint64_t from, uint64_t to, const char *path)
{
    uint8_t bytes[256];
    const uint64_t head[] = { to, 4 };
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, "\1\2\3\4", 4);
    memcpy(bytes + sizeof head + 4, path, strlen(path));
    data(1, MPF_OP_MODULE, 0, from, bytes, sizeof head + 4 + strlen(path));
}

static void modules(void)
{
    module(0x1000, 0x2000, "/usr/lib/libcuda.so.580.159");
    module(0x3000, 0x4000, "/site-packages/torch/lib/libc10_cuda.so");
    module(0x5000, 0x6000, "/site-packages/nvidia/nccl/lib/libnccl.so.2");
    module(0x7000, 0x8000, "/usr/bin/python3.12");
    module(0x9000, 0xa000, "/site-packages/nvidia/libcudart.so.13");
    WORDS(1, MPF_OP_STACK, 0, 0x51, 0x1100, 0x9100, 0x3100, 0x7100);
    WORDS(1, MPF_OP_STACK, 0, 0x52, 0x1100, 0x5100, 0x7100);
    WORDS(1, MPF_OP_STACK, 0, 0x53, 0x1100, 0x7100);
}

static const char *library_of(uint64_t addr)
{
    const struct mpr_gpu_block *b = mpr_gpu_blocks_find(&gpu()->driver, addr);
    assert_non_null(b);
    return mpr_sites_library_name(&gpu()->sites, b->library);
}

static void the_owner_is_the_first_file_outside_cuda(void **state)
{
    (void)state;
    begin();
    modules();
    event(1, MPF_OP_AT, 0, 0x51, 0);
    alloc(D, A, MIB);
    event(1, MPF_OP_AT, 0, 0x52, 0);
    alloc(D, B, MIB);
    assert_string_equal(library_of(A), "libc10_cuda.so");
    assert_string_equal(library_of(B), "libnccl.so.2");
    over();
}

static void a_call_stack_is_of_the_next_event_only(void **state)
{
    (void)state;
    begin();
    modules();
    event(1, MPF_OP_AT, 0, 0x52, 0);
    event(1, MPF_OP_GPU_CONTEXT, 0, 0xc1, 0);
    alloc(D, A, MIB);
    alloc(D, B, MIB);
    assert_string_equal(library_of(A), "libnccl.so.2");
    assert_string_equal(library_of(B), "");
    over();
}

static void a_call_stack_is_of_its_own_thread(void **state)
{
    (void)state;
    begin();
    modules();
    event(1, MPF_OP_AT, 0, 0x52, 0);
    event(2, MPF_OP_ALLOC, D, A, MIB);
    event(1, MPF_OP_ALLOC, D, B, MIB);
    assert_string_equal(library_of(A), "");
    assert_string_equal(library_of(B), "libnccl.so.2");
    over();
}

/* The address of an unloaded file is given to another one. */
static void a_newer_file_takes_the_place_of_an_unloaded_one(void **state)
{
    (void)state;
    begin();
    modules();
    module(0x5000, 0x6000, "/usr/lib/libcublasLt.so.13");
    WORDS(1, MPF_OP_STACK, 0, 0x54, 0x5100);
    event(1, MPF_OP_AT, 0, 0x54, 0);
    alloc(D, A, MIB);
    assert_string_equal(library_of(A), "libcublasLt.so.13");
    over();
}

static void frame(uint64_t id, uint64_t line, const char *function, const char *file)
{
    uint8_t bytes[256];
    const size_t name = strlen(function) + 1;
    memcpy(bytes, &line, sizeof line);
    memcpy(bytes + 8, function, name);
    memcpy(bytes + 8 + name, file, strlen(file) + 1);
    data(1, MPF_OP_FRAME, 0, id, bytes, 8 + name + strlen(file) + 1);
}

static void python_stacks_are_paths_of_the_next_event_only(void **state)
{
    size_t bytes;
    (void)state;
    begin();
    frame(0xf1, 41, "loss", "/app/cross_entropy.py");
    frame(0xf2, 212, "main", "/app/train.py");
    WORDS(1, MPF_OP_PYTHON, 0, 0x91, 0xf1, 0xf2);
    event(1, MPF_OP_AT_PYTHON, 0, 0x91, 0);
    alloc(T, A, MIB);
    alloc(T, B, MIB);
    const uint32_t node = mpr_gpu_blocks_find(&gpu()->torch, A)->python;
    assert_int_equal(replay.ranges.node[node].depth, 2);
    assert_string_equal(mpr_texts_get(&replay.ranges.names, replay.ranges.node[node].name, &bytes), "loss (cross_entropy.py:41)");
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->torch, B)->python, 0);
    over();
}

/* ---- NCCL's communicators */

static size_t entry(uint8_t *at, uint64_t type, uint64_t offset, const char *name)
{
    memcpy(at, &type, 8);
    memcpy(at + 8, &offset, 8);
    memcpy(at + 16, name, strlen(name) + 1);
    return 16 + strlen(name) + 1;
}

enum { NCCL = 7, INIT = 3, REDUCE = 4 };

static void nccl(void)
{
    uint8_t bytes[256];
    data(1, MPF_OP_DOMAIN, 0, NCCL, "NCCL", 4);
    size_t n = entry(bytes, 18, 0, "NCCL communicator ID");
    n += entry(bytes + n, 5, 8, "No. of ranks");
    n += entry(bytes + n, 5, 12, "Rank");
    data(1, MPF_OP_SCHEMA, 0, 100, bytes, n);
    n = entry(bytes, 18, 0, "NCCL communicator ID");
    n += entry(bytes + n, 22, 8, "Message size [bytes]");
    data(1, MPF_OP_SCHEMA, 0, 101, bytes, n);
    modules();
}

static void init_payload(uint64_t id, uint32_t ranks, uint32_t rank)
{
    const struct { uint64_t id; uint32_t ranks, rank; } payload = { id, ranks, rank };
    data(1, MPF_OP_RANGE_DATA, 0, 100, &payload, sizeof payload);
}

static void nccl_alloc(uint32_t thread, uint64_t addr)
{
    event(thread, MPF_OP_AT, 0, 0x52, 0);
    event(thread, MPF_OP_ALLOC, D, addr, MIB);
}

static void nccls_memory_belongs_to_the_communicator_at_work(void **state)
{
    (void)state;
    begin();
    nccl();
    push(1, NCCL, INIT);
    init_payload(0x9f3c, 8, 5);
    nccl_alloc(1, A);
    nccl_alloc(2, A + MIB);     /* a helper without ranges */
    pop(1, NCCL);
    push(1, NCCL, REDUCE);
    WORDS(1, MPF_OP_RANGE_DATA, 0, 101, 0x9f3c, 1024);
    pop(1, NCCL);
    alloc(D, B, MIB);           /* not NCCL's */
    assert_int_equal(gpu()->comms.count, 1);
    const struct mpr_comm *comm = gpu()->comms.comm;
    assert_int_equal(comm->id, 0x9f3c);
    assert_int_equal(comm->ranks, 8);
    assert_int_equal(comm->rank, 5);
    assert_int_equal(comm->first_use, REDUCE);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, A)->comm, 1);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, A + MIB)->comm, 1);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, B)->comm, 0);
    over();
}

static void communicators_are_told_apart(void **state)
{
    (void)state;
    begin();
    nccl();
    push(1, NCCL, INIT);
    init_payload(0x9f3c, 8, 5);
    nccl_alloc(1, A);
    pop(1, NCCL);
    push(1, NCCL, INIT);
    init_payload(0x11b0, 2, 1);
    nccl_alloc(1, B);
    pop(1, NCCL);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, A)->comm, 1);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, B)->comm, 2);
    assert_int_equal(gpu()->comms.comm[1].ranks, 2);
    over();
}

static void a_payload_that_is_too_short_names_nobody(void **state)
{
    const uint32_t half = 5;
    (void)state;
    begin();
    nccl();
    push(1, NCCL, INIT);
    data(1, MPF_OP_RANGE_DATA, 0, 100, &half, sizeof half);
    data(1, MPF_OP_RANGE_DATA, 0, 999, &half, sizeof half);
    assert_int_equal(gpu()->comms.count, 0);
    over();
}

/* ---- captures and graphs */

static void a_capture_counts_what_is_made_in_its_window(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 20 * MIB);
    WORDS(1, MPF_OP_TORCH_CAPTURE, 0, 0x61, 0, 0);
    event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
    alloc(D, B, 40 * MIB);
    alloc(T, B, 3 * MIB);
    event(2, MPF_OP_ALLOC, T, A, MIB);  /* another thread's */
    event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
    WORDS(1, MPF_OP_TORCH_CAPTURE_END, 0, 0x61, 0, 9);
    alloc(T, A + 8 * MIB, MIB);
    assert_int_equal(gpu()->captures, 1);
    assert_int_equal(gpu()->capture[0].segment_bytes, 40 * MIB);
    assert_int_equal(gpu()->capture[0].block_bytes, 3 * MIB);
    assert_int_equal(gpu()->capture[0].graph, 0x61);
    assert_int_equal(gpu()->capture[0].pool[1], 9);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, B)->capture, 1);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->torch, A)->capture, 0);
    over();
}

static void captures_close_to_each_other_are_one_burst(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 3; i++) {
        if (i == 2) now += UINT64_C(5000000000);
        event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
        event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
    }
    assert_int_equal(gpu()->captures, 3);
    assert_int_equal(gpu()->capture[0].burst, gpu()->capture[1].burst);
    assert_int_not_equal(gpu()->capture[1].burst, gpu()->capture[2].burst);
    over();
}

static void an_executable_knows_its_capture_and_what_it_took(void **state)
{
    (void)state;
    begin();
    push(1, 0, 3);
    event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
    event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
    enter(1, MPF_CALL_GRAPH, 100 * MIB);
    leave(1, MPF_CALL_GRAPH, 104 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH_LAUNCH, 104 * MIB);
    leave(1, MPF_CALL_GRAPH_LAUNCH, 106 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH, 106 * MIB);
    leave(1, MPF_CALL_GRAPH, 107 * MIB, 0xe2);
    assert_int_equal(gpu()->graphs, 2);
    const struct mpr_graph *g = gpu()->graph;
    assert_int_equal(g[0].instantiated, 4 * MIB);
    assert_int_equal(g[0].launched, 2 * MIB);
    assert_int_equal(g[0].nodes, 7);
    assert_int_equal(g[0].capture, 1);
    assert_int_equal(path_of(g[0].node), 3);
    assert_int_equal(g[1].capture, 0);
    over();
}

/* PyTorch instantiates before its capture_end returns. */
static void an_executable_may_be_made_while_the_capture_is_open(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 1; i <= 2; i++) {
        WORDS(1, MPF_OP_TORCH_CAPTURE, 0, 0x60 + i, 0, 0);
        event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
        event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
        enter(1, MPF_CALL_GRAPH, 100 * MIB);
        leave(1, MPF_CALL_GRAPH, 104 * MIB, 0xe0 + i);
        WORDS(1, MPF_OP_TORCH_CAPTURE_END, 0, 0x60 + i, 0, i);
    }
    enter(1, MPF_CALL_GRAPH, 100 * MIB);
    leave(1, MPF_CALL_GRAPH, 104 * MIB, 0xe3);
    assert_int_equal(gpu()->graph[0].capture, 1);
    assert_int_equal(gpu()->graph[1].capture, 2);
    assert_int_equal(gpu()->graph[2].capture, 0);
    over();
}

static void a_handle_of_a_destroyed_executable_may_be_used_again(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_GRAPH, 100 * MIB);
    leave(1, MPF_CALL_GRAPH, 104 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH_GONE, 104 * MIB);
    leave(1, MPF_CALL_GRAPH_GONE, 100 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH_LAUNCH, 100 * MIB);         /* of one whose instantiation was not seen */
    leave(1, MPF_CALL_GRAPH_LAUNCH, 103 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH_GONE, 103 * MIB);
    leave(1, MPF_CALL_GRAPH_GONE, 100 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH, 100 * MIB);
    leave(1, MPF_CALL_GRAPH, 101 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH_LAUNCH, 101 * MIB);
    leave(1, MPF_CALL_GRAPH_LAUNCH, 109 * MIB, 0xe1);
    assert_true(gpu()->graph[0].gone);
    assert_int_equal(gpu()->graph[0].launched, 0);
    assert_int_equal(gpu()->graph[1].launched, 8 * MIB);
    assert_int_equal(device()->part[MPR_PART_GRAPHS], 9 * MIB);
    over();
}

/* ---- out of memory */

static void refuse(uint32_t thread, uint64_t bytes, uint64_t result, uint64_t free, uint64_t probe)
{
    WORDS(thread, MPF_OP_GPU_FAIL, D, bytes, result, free, 80 * MIB, 0, probe);
}

static void torch_refused(uint64_t free)
{
    event(1, MPF_OP_AT, 0, 0x51, 0);
    refuse(1, 20 * MIB, 2, free, 0);
}

static void a_refusal_that_pytorch_gets_over_is_soft(void **state)
{
    (void)state;
    begin();
    modules();
    alloc(D, A, 60 * MIB);
    torch_refused(10 * MIB);
    driver_free(1, A);
    alloc(D, B, 20 * MIB);
    alloc(T, B, 19 * MIB);
    assert_int_equal(gpu()->ooms, 1);
    assert_false(gpu()->oom[0].hard);
    assert_true(gpu()->oom[0].torch);
    assert_int_equal(gpu()->oom[0].bytes, 20 * MIB);
    assert_int_equal(gpu()->oom[0].free, 10 * MIB);
    assert_int_equal(heap(D)->failures, 1);
    over();
}

static void a_second_refusal_and_pytorchs_report_are_one_hard_failure(void **state)
{
    (void)state;
    begin();
    modules();
    push(1, 0, 3);
    alloc(D, A, 6 * MIB);
    torch_refused(10 * MIB);
    driver_free(1, A);
    torch_refused(16 * MIB);
    WORDS(1, MPF_OP_TORCH_OOM, T, 19 * MIB, 40 * MIB, 64 * MIB, MPF_UNKNOWN, MPF_UNKNOWN);
    alloc(T, B, MIB);
    assert_int_equal(gpu()->ooms, 1);
    const struct mpr_oom *o = gpu()->oom;
    assert_true(o->hard);
    assert_int_equal(o->attempts, 2);
    assert_int_equal(o->flushed, 6 * MIB);
    assert_int_equal(o->free, 16 * MIB);
    assert_int_equal(o->torch_reserved, 64 * MIB);
    assert_int_equal(path_of(o->node), 3);
    over();
}

static void pytorch_may_give_up_without_asking_the_driver(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 20 * MIB);
    alloc(T, A, 5 * MIB);
    WORDS(1, MPF_OP_TORCH_OOM, T, 19 * MIB, 40 * MIB, 64 * MIB, MPF_UNKNOWN, MPF_UNKNOWN);
    assert_int_equal(gpu()->ooms, 1);
    assert_true(gpu()->oom[0].hard);
    assert_int_equal(gpu()->oom[0].attempts, 0);
    assert_true(gpu()->oom[0].free == MPF_UNKNOWN);
    assert_true(gpu()->oom[0].picture.valid);
    assert_int_equal(gpu()->oom[0].picture.torches, 1);
    over();
}

static void a_probe_is_no_failure(void **state)
{
    (void)state;
    begin();
    refuse(1, 2 * MIB, 801, 10 * MIB, 1);
    assert_int_equal(gpu()->ooms, 0);
    assert_int_equal(heap(D)->failures, 0);
    over();
}

static void another_error_is_a_failure_and_no_lack_of_memory(void **state)
{
    (void)state;
    begin();
    refuse(1, 2 * MIB, 1, 10 * MIB, 0);
    assert_int_equal(gpu()->ooms, 0);
    assert_int_equal(heap(D)->failures, 1);
    over();
}

static void a_failure_keeps_what_was_live_then(void **state)
{
    (void)state;
    begin();
    modules();
    alloc(D, A, 60 * MIB);
    alloc(T, A, 50 * MIB);
    torch_refused(10 * MIB);
    event(1, MPF_OP_FREE, T, A, 0);
    driver_free(1, A);
    assert_int_equal(gpu()->oom[0].picture.drivers, 1);
    assert_int_equal(gpu()->oom[0].picture.torches, 1);
    assert_int_equal(gpu()->oom[0].picture.tracked, 60 * MIB);
    over();
}

static void pytorchs_own_totals_are_kept(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_TORCH_LEVEL, T, 64 * MIB, 40 * MIB);
    event(1, MPF_OP_TORCH_LEVEL, T, 22 * MIB, 20 * MIB);
    assert_int_equal(device()->torch_reserved, 22 * MIB);
    assert_int_equal(device()->torch_reserved_peak, 64 * MIB);
    over();
}

/* ---- random traces against a model that keeps every block in a list */

enum { PLACES = 40, STEPS = 4000, MODEL_HEAPS = 5 };

struct model_block { uint64_t bytes; unsigned heap; };
static struct model_block model[PLACES], model_torch[PLACES];
static uint64_t model_largest[256], best_device, best_torch;

static uint64_t model_sum(unsigned code)
{
    uint64_t sum = 0;
    for (int i = 0; i < PLACES; i++) {
        if (model[i].heap == code) sum += model[i].bytes;
        if (model_torch[i].heap == code) sum += model_torch[i].bytes;
    }
    return sum;
}

static const unsigned model_heaps[MODEL_HEAPS] = { MPF_HEAP_DEVICE, MPF_HEAP_POOL, MPF_HEAP_MANAGED, MPF_HEAP_PINNED, MPF_HEAP_TORCH };

static void check(void)
{
    for (int i = 0; i < MODEL_HEAPS; i++) {
        const unsigned code = model_heaps[i];
        const uint64_t sum = model_sum(code);
        if (sum > model_largest[code]) model_largest[code] = sum;
        assert_int_equal(heap(code)->bytes, sum);
        assert_int_equal(heap(code)->peak_bytes, model_largest[code]);
    }
    const uint64_t tracked = model_sum(MPF_HEAP_DEVICE), torch = model_sum(MPF_HEAP_TORCH);
    if (tracked > best_device || (tracked == best_device && torch > best_torch)) {
        best_device = tracked;
        best_torch = torch;
    }
}

static void change_driver(int i, uint64_t size)
{
    const unsigned code = model_heaps[rand() % 4];
    const uint64_t addr = A + (uint64_t)i * 64 * MIB;
    const uint32_t thread = 1 + (uint32_t)rand() % 3;
    if (!model[i].bytes) {
        event(thread, MPF_OP_ALLOC, code, addr, size);
        model[i] = (struct model_block){ size, code };
        return;
    }
    event(thread, MPF_OP_MOVE_BEGIN, D, addr, 0);
    check();
    if (rand() % 8 == 0) {
        event(thread, MPF_OP_FAIL, D, 1, 0);
        return;
    }
    event(thread, MPF_OP_MOVE_END, D, 0, 0);
    model[i] = (struct model_block){ 0 };
}

static void change_torch(int i, uint64_t size)
{
    const uint64_t addr = A + (uint64_t)i * 64 * MIB;
    if (model_torch[i].bytes) event(1, MPF_OP_FREE, T, addr, 0);
    else event(1, MPF_OP_ALLOC, T, addr, size);
    model_torch[i] = model_torch[i].bytes ? (struct model_block){ 0 } : (struct model_block){ size, MPF_HEAP_TORCH };
}

static uint64_t picture_sum(const struct mpr_gpu_block *b, size_t count, unsigned code)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (b[i].heap == code) sum += b[i].size;
        if (i) assert_true(b[i - 1].addr < b[i].addr);
    }
    return sum;
}

static void random_traces_agree_with_the_model(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        srand(seed);
        memset(model, 0, sizeof model);
        memset(model_torch, 0, sizeof model_torch);
        memset(model_largest, 0, sizeof model_largest);
        best_device = best_torch = 0;
        begin();
        for (int step = 0; step < STEPS; step++) {
            const uint64_t size = 1 + (uint64_t)rand() % (8 * MIB);
            if (rand() % 2) change_driver(rand() % PLACES, size);
            else change_torch(rand() % PLACES, size);
            check();
        }
        end();
        assert_int_equal(device()->best_used, best_device);
        assert_int_equal(device()->best_torch, best_torch);
        const struct mpr_picture *p = &device()->peak;
        assert_int_equal(p->tracked, best_device);
        assert_int_equal(picture_sum(p->driver, p->drivers, D), best_device);
        assert_int_equal(picture_sum(p->torch, p->torches, T), best_torch);
        mpr_replay_free(&replay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_counts_until_the_driver_has_freed_it),
        cmocka_unit_test(a_failed_free_leaves_the_block),
        cmocka_unit_test(an_address_may_be_handed_out_while_its_free_returns),
        cmocka_unit_test(a_free_finds_the_block_whatever_heap_it_names),
        cmocka_unit_test(a_free_on_one_gpu_finds_a_block_of_another),
        cmocka_unit_test(a_free_of_what_was_never_seen_is_unmatched),
        cmocka_unit_test(reuse_without_a_free_is_missed),
        cmocka_unit_test(pytorchs_blocks_are_a_space_of_their_own),
        cmocka_unit_test(blocks_go_with_their_context),
        cmocka_unit_test(a_context_that_is_still_active_keeps_its_blocks),
        cmocka_unit_test(memory_with_a_handle_lives_by_references_and_mappings),
        cmocka_unit_test(retain_adds_a_reference_to_what_is_mapped_there),
        cmocka_unit_test(retain_may_bring_back_memory_whose_handle_was_dropped),
        cmocka_unit_test(imported_memory_is_no_bytes_of_this_process),
        cmocka_unit_test(memory_with_a_handle_is_a_block_where_it_is_mapped),
        cmocka_unit_test(a_handle_may_be_used_again),
        cmocka_unit_test(a_late_drop_is_not_taken_for_one_of_the_new_memory),
        cmocka_unit_test(one_unmap_may_end_several_mappings),
        cmocka_unit_test(memory_with_a_handle_survives_a_context),
        cmocka_unit_test(a_pools_level_is_absolute),
        cmocka_unit_test(blocks_of_a_pool_are_not_counted_twice),
        cmocka_unit_test(growth_around_a_call_is_booked_under_its_name),
        cmocka_unit_test(what_is_tracked_is_not_hidden),
        cmocka_unit_test(shrinking_is_booked_as_negative),
        cmocka_unit_test(overlapping_calls_book_growth_once),
        cmocka_unit_test(the_launch_after_a_limit_grows_the_stacks),
        cmocka_unit_test(a_call_that_was_not_measured_books_nothing),
        cmocka_unit_test(used_bytes_are_the_newest_sample_and_what_changed_since),
        cmocka_unit_test(without_measurements_the_peak_is_that_of_tracked_bytes),
        cmocka_unit_test(the_peaks_picture_holds_the_block_that_is_freed_next),
        cmocka_unit_test(of_equally_full_instants_the_one_with_most_tensors_is_the_peak),
        cmocka_unit_test(a_picture_is_of_its_own_device),
        cmocka_unit_test(a_chosen_instant_stands_for_the_peak),
        cmocka_unit_test(a_thread_without_ranges_inherits),
        cmocka_unit_test(inherited_bytes_are_those_at_the_peak),
        cmocka_unit_test(what_a_library_opened_is_appended_to_what_is_inherited),
        cmocka_unit_test(a_library_domain_gives_nobody_a_path),
        cmocka_unit_test(the_newest_stack_of_ranges_is_inherited),
        cmocka_unit_test(inheritance_follows_the_other_threads_ranges),
        cmocka_unit_test(the_host_heap_does_not_inherit),
        cmocka_unit_test(inheritance_can_be_switched_off),
        cmocka_unit_test(the_owner_is_the_first_file_outside_cuda),
        cmocka_unit_test(a_call_stack_is_of_the_next_event_only),
        cmocka_unit_test(a_call_stack_is_of_its_own_thread),
        cmocka_unit_test(a_newer_file_takes_the_place_of_an_unloaded_one),
        cmocka_unit_test(python_stacks_are_paths_of_the_next_event_only),
        cmocka_unit_test(nccls_memory_belongs_to_the_communicator_at_work),
        cmocka_unit_test(communicators_are_told_apart),
        cmocka_unit_test(a_payload_that_is_too_short_names_nobody),
        cmocka_unit_test(a_capture_counts_what_is_made_in_its_window),
        cmocka_unit_test(captures_close_to_each_other_are_one_burst),
        cmocka_unit_test(an_executable_knows_its_capture_and_what_it_took),
        cmocka_unit_test(an_executable_may_be_made_while_the_capture_is_open),
        cmocka_unit_test(a_handle_of_a_destroyed_executable_may_be_used_again),
        cmocka_unit_test(a_refusal_that_pytorch_gets_over_is_soft),
        cmocka_unit_test(a_second_refusal_and_pytorchs_report_are_one_hard_failure),
        cmocka_unit_test(pytorch_may_give_up_without_asking_the_driver),
        cmocka_unit_test(a_probe_is_no_failure),
        cmocka_unit_test(another_error_is_a_failure_and_no_lack_of_memory),
        cmocka_unit_test(a_failure_keeps_what_was_live_then),
        cmocka_unit_test(pytorchs_own_totals_are_kept),
        cmocka_unit_test(random_traces_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
