/* A measurement counts the memory that was allocated in it to the byte, whatever happens to it
 * later. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/encoder.h"
#include "core/epoch.h"
#include "core/loss.h"
#include "core/measure.h"
#include "core/record.h"
#include "recording.h"

/* ---- in the recorded process */

static unsigned begin(void)
{
    uint64_t now;
    if (!mp_record_instant(&now)) _exit(98);
    return mp_measure_begin(now);
}

static void stop(unsigned number)
{
    uint64_t now;
    if (!mp_record_instant(&now)) _exit(97);
    mp_measure_stop(number, now);
}

/* Returns a row after all events up to now are counted. */
static struct mp_measured read_row(unsigned number, unsigned heap)
{
    uint64_t now;
    if (!mp_record_instant(&now)) _exit(96);
    do mp_epoch_run(0);
    while (mp_measure_upto() < now);
    return mp_measure_rows(number)[heap];
}

/* Ends the process with this status if a figure differs. */
static void expect(int check, unsigned number, unsigned heap, uint64_t peak, uint64_t live)
{
    const struct mp_measured row = read_row(number, heap);
    if (row.peak != peak || row.live != live) _exit(check);
}

static uint64_t block(uint64_t i) { return UINT64_C(0x700000000000) + 16 * i; }
static void allocate(unsigned heap, uint64_t i, uint64_t bytes)
{
    mp_record(MPF_OP_ALLOC, heap, block(i), bytes);
}
static void release(unsigned heap, uint64_t i) { mp_record(MPF_OP_FREE, heap, block(i), 0); }

enum { HOST = MPF_HEAP_HOST, DEVICE = MPF_HEAP_DEVICE | 1 << 4, TORCH = MPF_HEAP_TORCH | 1 << 4 };

static void blocks_of_the_measurement(void)
{
    allocate(HOST, 1, 5000);
    const unsigned m = begin();
    allocate(HOST, 2, 100);
    allocate(HOST, 3, 30);
    release(HOST, 1); /* was allocated before */
    expect(1, m, HOST, 130, 130);
    release(HOST, 2);
    allocate(HOST, 4, 7);
    stop(m);
    allocate(HOST, 5, 10000); /* after it */
    expect(2, m, HOST, 130, 37);
    release(HOST, 3);
    release(HOST, 5);
    expect(3, m, HOST, 130, 7);
    if (read_row(m, HOST).allocations != 3) _exit(4);
    expect(5, m, MP_MEASURED_HOST, 130, 7);
    allocate(HOST, 4, 50); /* the free was not recorded */
    expect(6, m, HOST, 130, 0);
    mp_measure_end(m);
    if (mp_measures || mp_measure_rows(m)) _exit(7);
}

static void reallocations(void)
{
    allocate(HOST, 1, 5000);
    const unsigned m = begin();
    allocate(HOST, 2, 100);
    mp_record(MPF_OP_MOVE_BEGIN, HOST, block(2), 0);
    mp_record(MPF_OP_MOVE_END, HOST, block(3), 300);
    expect(1, m, HOST, 300, 300);
    mp_record(MPF_OP_MOVE_BEGIN, HOST, block(3), 0);
    mp_record_fail(HOST, 12, 1 << 30);
    expect(2, m, HOST, 300, 300);
    mp_record(MPF_OP_MOVE_BEGIN, HOST, block(1), 0); /* was allocated before */
    mp_record(MPF_OP_MOVE_END, HOST, block(1), 6000);
    expect(3, m, HOST, 6300, 6300);
    mp_record(MPF_OP_MOVE_BEGIN, HOST, block(1), 0);
    mp_record(MPF_OP_MOVE_END, HOST, 0, 0);
    release(HOST, 3);
    expect(4, m, HOST, 6300, 0);
}

static void blocks_of_devices(void)
{
    const unsigned m = begin();
    allocate(DEVICE, 1, 1000);
    allocate(TORCH, 9, 600);
    allocate(HOST, 1, 3); /* at the same address */
    expect(1, m, DEVICE, 1000, 1000);
    expect(2, m, TORCH, 600, 600);
    expect(3, m, MP_MEASURED_HOST, 3, 3);
    mp_record(MPF_OP_MOVE_BEGIN, MPF_HEAP_DEVICE, block(1), 0); /* a free names no device */
    expect(4, m, DEVICE, 1000, 1000);
    mp_record_fail(MPF_HEAP_DEVICE, 1, 0);
    mp_record(MPF_OP_MOVE_BEGIN, MPF_HEAP_DEVICE, block(1), 0);
    mp_record(MPF_OP_MOVE_END, MPF_HEAP_DEVICE, 0, 0);
    expect(5, m, DEVICE, 1000, 0);
    release(TORCH, 9);
    expect(6, m, TORCH, 600, 0);
    expect(7, m, HOST, 3, 3);
}

static void map_device(uint64_t handle, uint64_t at, uint64_t bytes)
{
    const uint64_t v[] = { at, bytes, 0 };
    mp_record_data(MPF_OP_HANDLE_MAP, MPF_HEAP_NONE, handle, v, sizeof v);
}

static void physical_memory(void)
{
    const uint64_t mib = 1 << 20, at = UINT64_C(1) << 44;
    const unsigned m = begin();
    mp_record(MPF_OP_HANDLE_NEW, DEVICE, 7, 2 * mib);
    map_device(7, at, 2 * mib);
    mp_record(MPF_OP_HANDLE_DROP, MPF_HEAP_NONE, 7, 0);
    expect(1, m, DEVICE, 2 * mib, 2 * mib);           /* is still mapped */
    mp_record(MPF_OP_HANDLE_NEW, DEVICE, 7, 4 * mib); /* the handle is given to other memory */
    map_device(7, at + 2 * mib, 4 * mib);
    expect(2, m, DEVICE, 6 * mib, 6 * mib);
    mp_record_data(MPF_OP_HANDLE_RETAIN, MPF_HEAP_NONE, 7, &(uint64_t){ at + 2 * mib }, 8);
    mp_record(MPF_OP_HANDLE_UNMAP, MPF_HEAP_NONE, at, 6 * mib);
    expect(3, m, DEVICE, 6 * mib, 4 * mib);
    mp_record(MPF_OP_HANDLE_DROP, MPF_HEAP_NONE, 7, 0);
    expect(4, m, DEVICE, 6 * mib, 4 * mib);
    mp_record(MPF_OP_HANDLE_DROP, MPF_HEAP_NONE, 7, 0);
    expect(5, m, DEVICE, 6 * mib, 0);
}

/* PyTorch has its memory from the driver in segments, or in several pieces of physical memory. */
static void segments(void)
{
    enum { SEGMENTS = MPF_HEAP_USED | 1 << 4 };
    const uint64_t mib = 1 << 20, at = UINT64_C(1) << 44;
    const unsigned m = begin();
    allocate(DEVICE, 1, 3000);
    release(DEVICE, 1);
    allocate(DEVICE, 2, 20 * mib);
    allocate(TORCH, 2, 2 * mib);
    expect(1, m, DEVICE, 3000, 0);
    expect(2, m, TORCH, 2 * mib, 2 * mib);
    expect(3, m, SEGMENTS, 20 * mib, 20 * mib);
    mp_record(MPF_OP_HANDLE_NEW, DEVICE, 7, 2 * mib);
    map_device(7, at, 2 * mib);
    mp_record(MPF_OP_HANDLE_NEW, DEVICE, 8, 2 * mib);
    map_device(8, at + 2 * mib, 2 * mib);
    mp_record(MPF_OP_ALLOC, TORCH, at + mib, 3 * mib);
    expect(4, m, DEVICE, 3000, 0);
    expect(5, m, SEGMENTS, 24 * mib, 24 * mib);
    allocate(DEVICE, 3, 5000);
    expect(6, m, DEVICE, 5000, 5000);
    mp_record(MPF_OP_FREE, TORCH, at + mib, 0);
    mp_record(MPF_OP_HANDLE_UNMAP, MPF_HEAP_NONE, at, 4 * mib);
    mp_record(MPF_OP_HANDLE_DROP, MPF_HEAP_NONE, 7, 0);
    mp_record(MPF_OP_HANDLE_DROP, MPF_HEAP_NONE, 8, 0);
    release(DEVICE, 2);
    expect(7, m, SEGMENTS, 24 * mib, 0);
    expect(8, m, TORCH, 5 * mib, 2 * mib);
}

static void mappings(void)
{
    const uint64_t at = UINT64_C(1) << 40, page = 4096;
    const unsigned m = begin();
    mp_record(MPF_OP_MAP, MPF_HEAP_MMAP, at, 10 * page);
    mp_record(MPF_OP_UNMAP, MPF_HEAP_NONE, at + 3 * page, 2 * page);
    expect(1, m, MPF_HEAP_MMAP, 10 * page, 8 * page);
    mp_record(MPF_OP_RESERVE, MPF_HEAP_MMAP, at + 3 * page, 2 * page);
    expect(2, m, MPF_HEAP_MMAP, 10 * page, 8 * page);
    mp_record(MPF_OP_PROTECT_RW, MPF_HEAP_NONE, at + 3 * page, page);
    expect(3, m, MPF_HEAP_MMAP, 10 * page, 9 * page);
    mp_record(MPF_OP_PROTECT_NONE, MPF_HEAP_NONE, at, 2 * page);
    expect(4, m, MPF_HEAP_MMAP, 10 * page, 7 * page);
    mp_record(MPF_OP_MAP, MPF_HEAP_MMAP, at + 9 * page, page); /* MAP_FIXED */
    expect(5, m, MPF_HEAP_MMAP, 10 * page, 7 * page);
    mp_record(MPF_OP_REMAP_FROM, MPF_HEAP_NONE, at + 9 * page, page);
    mp_record(MPF_OP_REMAP_TO, MPF_HEAP_NONE, at + 100 * page, 6 * page);
    expect(6, m, MPF_HEAP_MMAP, 12 * page, 12 * page);
    mp_record(MPF_OP_REMAP_FROM, MPF_HEAP_NONE, at + 100 * page, 6 * page);
    mp_record_fail(MPF_HEAP_MMAP, 12, 1 << 30);
    mp_record(MPF_OP_UNMAP, MPF_HEAP_NONE, at + 100 * page, 6 * page);
    expect(7, m, MPF_HEAP_MMAP, 12 * page, 6 * page);
    mp_record(MPF_OP_UNMAP, MPF_HEAP_NONE, 0, UINT64_C(1) << 39);
    mp_record(MPF_OP_UNMAP, MPF_HEAP_NONE, at, 200 * page);
    expect(8, m, MPF_HEAP_MMAP, 12 * page, 0);
    expect(9, m, MP_MEASURED_HOST, 12 * page, 0);
    mp_record(MPF_OP_MAP, MPF_HEAP_SHM, at, 3 * page);
    mp_record(MPF_OP_UNMAP, MPF_HEAP_SHM, at, 0); /* shmdt */
    expect(10, m, MPF_HEAP_SHM, 3 * page, 0);
}

/* A peak of 13 while both count, and of 23 in the first one. */
static void two_measurements(void)
{
    const unsigned a = begin();
    allocate(HOST, 1, 10);
    const unsigned b = begin();
    allocate(HOST, 2, 13);
    expect(1, a, HOST, 23, 23);
    expect(2, b, HOST, 13, 13);
    mp_measure_end(b);
    const unsigned c = begin();
    if (b != c) _exit(3);
    release(HOST, 2);
    expect(4, c, HOST, 0, 0);
    expect(5, a, HOST, 23, 10);
    for (unsigned i = mp_measures; i < MP_MEASURES; i++) begin();
    if (begin()) _exit(6);
}

static void expect_below(int check, unsigned number, uint64_t host, uint64_t gpu, bool below)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    const bool is_below = mp_measure_is_below(number, host, gpu);
    mp_unlock(&mp_process->epoch_lock, signals);
    if (is_below != below) _exit(check);
}

static void *allocate_in_thread(void *arg)
{
    allocate(HOST, 3, 50);
    return arg;
}

/* A limit that cannot be exceeded is known without taking events. Frees do not count there. */
static void limits(void)
{
    pthread_t thread;
    allocate(HOST, 1, 5000);
    const unsigned m = begin();
    mp_encoder_stop(); /* so that no event is taken meanwhile */
    mp_clock_next_turns();
    mp_measure_end(m);
    if (begin() != m) _exit(13); /* the next events have the time of this one */
    expect_below(1, m, 0, 0, true);
    allocate(HOST, 2, 100);
    release(HOST, 2);
    allocate(HOST, 2, 20);
    expect_below(2, m, 120, UINT64_MAX, true);
    expect_below(3, m, 119, UINT64_MAX, false);
    expect_below(4, m, UINT64_MAX, 119, false);
    pthread_create(&thread, NULL, allocate_in_thread, NULL);
    pthread_join(thread, NULL);
    expect_below(5, m, 170, UINT64_MAX, true);
    expect_below(6, m, 169, UINT64_MAX, false);
    expect(7, m, HOST, 100, 70);
    expect_below(8, m, 100, 0, true); /* now they do */
    expect_below(9, m, 99, 0, false);
    for (uint64_t i = 0; i < 3 * MPF_CHUNK_SLOTS; i++) allocate(HOST, 10 + i, 1);
    expect_below(10, m, 100 + 3 * MPF_CHUNK_SLOTS, UINT64_MAX, true);
    expect_below(11, m, 69 + 3 * MPF_CHUNK_SLOTS, UINT64_MAX, false); /* also if they were taken */
    mp_loss(MPF_LOSS_TORN, 1);
    expect_below(12, m, UINT64_MAX, UINT64_MAX, false);
}

/* Many blocks of random sizes, of which a random half is freed, compared with sums. */
static void many_blocks(void)
{
    enum { BLOCKS = 30000, ROUNDS = 200000 };
    static uint64_t bytes[BLOCKS];
    uint64_t live = 0, peak = 0, random = 1;
    const unsigned m = begin();
    for (int i = 0; i < ROUNDS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const uint64_t at = (random >> 40) % BLOCKS;
        if (bytes[at]) {
            release(HOST, at);
            live -= bytes[at];
            bytes[at] = 0;
        } else {
            bytes[at] = 1 + (random >> 20) % 5000;
            allocate(HOST, at, bytes[at]);
            live += bytes[at];
        }
        if (live > peak) peak = live;
    }
    expect(1, m, HOST, peak, live);
    if (mp_measure_span(m).incomplete) _exit(2);
    for (int i = 0; i < BLOCKS; i++)
        if (bytes[i]) release(HOST, (uint64_t)i);
    expect(3, m, HOST, peak, 0);
}

static void *free_all(void *arg)
{
    for (uint64_t i = 0; i < 1000; i++) release(HOST, i);
    allocate(HOST, 5000, 77);
    return arg;
}

static void another_thread(void)
{
    pthread_t thread;
    const unsigned m = begin();
    for (uint64_t i = 0; i < 1000; i++) allocate(HOST, i, 100);
    pthread_create(&thread, NULL, free_all, NULL);
    pthread_join(thread, NULL);
    expect(1, m, HOST, 100000, 77);
}

/* ---- in the test */

#define TEST(name, function)                                                                       \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        recorded(function);                                                                        \
    }
TEST(only_blocks_allocated_in_a_measurement_count, blocks_of_the_measurement)
TEST(a_reallocated_block_counts_once, reallocations)
TEST(blocks_of_devices_are_separate_from_those_of_the_host, blocks_of_devices)
TEST(physical_memory_counts_until_its_last_mapping_is_gone, physical_memory)
TEST(segments_of_pytorch_are_not_other_memory_of_the_driver, segments)
TEST(parts_of_mappings_count_while_they_are_writable, mappings)
static void limits_are_known_without_taking_events(void **state)
{
    (void)state;
    recorded_with_losses(limits);
}
TEST(measurements_at_the_same_time_are_independent, two_measurements)
TEST(sums_of_many_random_blocks_are_exact, many_blocks)
TEST(blocks_freed_by_another_thread_are_gone, another_thread)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_blocks_allocated_in_a_measurement_count),
        cmocka_unit_test(a_reallocated_block_counts_once),
        cmocka_unit_test(blocks_of_devices_are_separate_from_those_of_the_host),
        cmocka_unit_test(physical_memory_counts_until_its_last_mapping_is_gone),
        cmocka_unit_test(segments_of_pytorch_are_not_other_memory_of_the_driver),
        cmocka_unit_test(parts_of_mappings_count_while_they_are_writable),
        cmocka_unit_test(limits_are_known_without_taking_events),
        cmocka_unit_test(measurements_at_the_same_time_are_independent),
        cmocka_unit_test(sums_of_many_random_blocks_are_exact),
        cmocka_unit_test(blocks_freed_by_another_thread_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
