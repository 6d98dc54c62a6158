/* Replay of device memory: memory without an allocation call, and the peak of a device. */
#include "gpu.h"
#include "gpu_test.h"
#include "mpf/sample.h"

/* ---- hidden memory */

static void growth_around_a_call_counts_for_that_call(void **state)
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
    end_replay();
}

static void tracked_memory_is_not_counted_as_hidden(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_GRAPH_LAUNCH, 100 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0, 128 * MIB);
    leave(1, MPF_CALL_GRAPH_LAUNCH, 230 * MIB, 0xe1);
    assert_int_equal(device()->part[MPR_PART_GRAPHS], 2 * MIB);
    end_replay();
}

static void shrinking_counts_as_negative(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_MODULE_GONE, 130 * MIB);
    leave(1, MPF_CALL_MODULE_GONE, 100 * MIB, 0);
    assert_true(device()->part[MPR_PART_MODULES] == -30 * (int64_t)MIB);
    end_replay();
}

/* Thread 2 measures inside thread 1's call. Thread 1 does not count the growth that thread 2 has
 * counted. */
static void overlapping_calls_count_growth_once(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_CONTEXT, 100 * MIB);
    enter(2, MPF_CALL_MODULE, 100 * MIB);
    leave(2, MPF_CALL_MODULE, 300 * MIB, 0);
    leave(1, MPF_CALL_CONTEXT, 350 * MIB, 0xc1);
    assert_int_equal(device()->part[MPR_PART_CONTEXT] + device()->part[MPR_PART_MODULES],
                     250 * MIB);
    end_replay();
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
    assert_int_equal(device()->part[MPR_PART_LOCAL], 4000 * MIB);
    assert_int_equal(device()->part[MPR_PART_MODULES], 10 * MIB);
    end_replay();
}

static void local_memory_is_measured_at_a_launch_and_later(void **state)
{
    (void)state;
    begin();
    sample(100 * MIB, 100 * MIB);
    enter(1, MPF_CALL_LAUNCH, 100 * MIB);
    leave(1, MPF_CALL_LAUNCH, 400 * MIB, 280 * MIB);
    assert_int_equal(device()->part[MPR_PART_LOCAL], 280 * MIB);
    assert_int_equal(device()->part[MPR_PART_MODULES], 20 * MIB);
    leave(1, MPF_CALL_LOCAL, 900 * MIB, 500 * MIB);
    assert_int_equal(device()->part[MPR_PART_LOCAL], 780 * MIB);
    leave(1, MPF_CALL_LOCAL, 100 * MIB, -(uint64_t)(780 * MIB));
    assert_int_equal(device()->part[MPR_PART_LOCAL], 0);
    assert_int_equal(mpr_gpu_used(&replay, 0), 100 * MIB);
    end_replay();
}

static void a_launch_counts_at_most_the_measured_local_memory(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_LAUNCH, 100 * MIB);
    leave(1, MPF_CALL_LAUNCH, 110 * MIB, 500 * MIB);
    assert_int_equal(device()->part[MPR_PART_LOCAL], 10 * MIB);
    assert_int_equal(device()->part[MPR_PART_MODULES], 0);
    end_replay();
}

/* As in logs before 1.11. */
static void pools_and_blocks_are_never_more_than_the_device_has(void **state)
{
    (void)state;
    begin();
    WORDS(1, MPF_OP_SAMPLE_GPU, U, 0, 100 * MIB, 1024 * MIB, 100 * MIB, 0);
    event(1, MPF_OP_GPU_LEVEL, D, 0x9001, 700 * MIB);
    /* A level of graphs that is larger than the driver's memory. */
    event(1, MPF_OP_GPU_LEVEL, D, 0, 24 * MIB);
    alloc(D, A, 600 * MIB);
    assert_int_equal(heap(D)->bytes, 1024 * MIB);
    assert_int_equal(gpu()->pool_bytes[0], 400 * MIB);
    assert_int_equal(gpu()->graph_bytes[0], 24 * MIB);
    sample(650 * MIB, 650 * MIB);
    assert_int_equal(heap(D)->bytes, 650 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0x9001, 100 * MIB);
    assert_int_equal(heap(D)->bytes, 724 * MIB);
    end_replay();
}

static void a_call_that_was_not_measured_counts_nothing(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_CONTEXT, MPF_SIZE_MAX);
    leave(1, MPF_CALL_CONTEXT, 500 * MIB, 0xc1);
    enter(1, MPF_CALL_MODULE, 500 * MIB);
    leave(1, MPF_CALL_MODULE, MPF_UNKNOWN, 0);
    assert_int_equal(device()->part[MPR_PART_CONTEXT], 0);
    assert_int_equal(device()->part[MPR_PART_MODULES], 0);
    end_replay();
}

/* Eight ranks create their contexts on one GPU at the same time. */
static void growth_of_other_processes_is_not_a_context(void **state)
{
    (void)state;
    begin();
    sample(100 * MIB, 0);
    enter(1, MPF_CALL_CONTEXT, 100 * MIB);
    leave(1, MPF_CALL_CONTEXT, 4100 * MIB, 0xc1);
    sample(4100 * MIB, 500 * MIB);
    alloc(D, A, 10 * MIB);
    enter(1, MPF_CALL_MODULE, 4110 * MIB);
    leave(1, MPF_CALL_MODULE, 4140 * MIB, 0); /* after the newest sample */
    end();
    assert_true(device()->peak.parts_cut);
    assert_int_equal(device()->peak.part[MPR_PART_CONTEXT] + device()->peak.part[MPR_PART_MODULES],
                     530 * MIB);
    mpr_replay_free(&replay);
}

/* The context seems to have 1 GiB, because other processes started at the same time. */
static void begin_with_a_large_context(void)
{
    begin();
    sample(100 * MIB, 0);
    enter(1, MPF_CALL_CONTEXT, 100 * MIB);
    leave(1, MPF_CALL_CONTEXT, 1124 * MIB, 0xc1);
}

static void own_bytes_omit_an_allocation_that_one_sample_had_before_its_event(void **state)
{
    (void)state;
    begin_with_a_large_context();
    sample(1124 * MIB, 532 * MIB);
    sample(1130 * MIB, 532 * MIB);
    sample(9130 * MIB, 8532 * MIB); /* it has the block already */
    alloc(D, A, 8000 * MIB);
    assert_int_equal(mpr_gpu_own(&replay, 0), 8532 * MIB);
    end_replay();
}

static void own_bytes_are_those_of_the_newest_sample_if_none_followed(void **state)
{
    (void)state;
    begin_with_a_large_context();
    sample(9130 * MIB, 8532 * MIB);
    alloc(D, A, 8000 * MIB);
    now += UINT64_C(1000000000);
    push(1, 0, 7);
    assert_int_equal(mpr_gpu_own(&replay, 0), 8532 * MIB);
    end_replay();
}

static void a_context_is_no_larger_than_the_bytes_of_its_process(void **state)
{
    (void)state;
    begin();
    sample(100 * MIB, 0);
    enter(1, MPF_CALL_CONTEXT, 100 * MIB);
    leave(1, MPF_CALL_CONTEXT, 676 * MIB, 0xc1); /* another process took 42 MiB */
    sample(676 * MIB, 534 * MIB);
    now += UINT64_C(1000000000);
    alloc(D, A, MIB);
    end();
    assert_int_equal(device()->peak.part[MPR_PART_CONTEXT], 534 * MIB);
    mpr_replay_free(&replay);
}

/* ---- the device's peak */

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

/* Another thread often measures after the driver's growth and before the event that reports it. */
static void growth_that_was_measured_before_its_event_counts_once(void **state)
{
    (void)state;
    begin();
    sample(500 * MIB, 400 * MIB);
    sample(564 * MIB, 464 * MIB);
    alloc(D, A, 64 * MIB);
    assert_int_equal(device()->best.used, 564 * MIB);
    sample(948 * MIB, 848 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 384 * MIB);
    assert_int_equal(device()->best.used, 948 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 416 * MIB);
    assert_int_equal(device()->best.used, 980 * MIB);
    end_replay();
}

static const char *user(unsigned number)
{
    assert_in_range(number, 0, device()->peak.pool_users - 1);
    return mpr_sites_library_name(&replay.sites, device()->peak.pool_user[number]);
}

/* The first library outside CUDA requested the pool's newest block. */
static void pool_grows(uint64_t pool, uint64_t stack, uint64_t bytes)
{
    event(1, MPF_OP_AT, 0, stack, 0);
    alloc(mpf_heap_gpu(MPF_HEAP_POOL, 0), A, bytes);
    event(1, MPF_OP_GPU_LEVEL, D, pool, bytes);
}

static void owners_of_pools_are_those_at_the_peak(void **state)
{
    (void)state;
    begin();
    modules();
    pool_grows(0xb001, 0x52, 32 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 0);
    pool_grows(0xb002, 0x51, 64 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb002, 0);
    pool_grows(0xb003, 0x52, 16 * MIB);
    end();
    assert_int_equal(device()->peak.pools, 64 * MIB);
    assert_int_equal(device()->peak.pool_users, 1);
    assert_string_equal(user(0), "libc10_cuda.so");
    mpr_replay_free(&replay);
}

/* The driver needs 40 ms to allocate XLA's arena of 60 GiB. Measurements are 10 ms apart. */
static void growth_over_several_measurements_counts_once(void **state)
{
    (void)state;
    begin();
    sample(500 * MIB, 400 * MIB);
    sample(12500 * MIB, 12400 * MIB);
    sample(40500 * MIB, 40400 * MIB);
    sample(60500 * MIB, 60400 * MIB);
    sample(60500 * MIB, 60400 * MIB);
    alloc(D, A, 60000 * MIB);
    assert_int_equal(device()->best.used, 60500 * MIB);
    end_replay();
}

static void old_growth_does_not_explain_an_event(void **state)
{
    (void)state;
    begin();
    sample(500 * MIB, 400 * MIB);
    sample(1500 * MIB, 400 * MIB);
    now += MPR_IN_FLIGHT_NS;
    sample(2500 * MIB, 400 * MIB);
    alloc(D, A, 2000 * MIB);
    assert_int_equal(device()->best.used, 4500 * MIB);
    end_replay();
}

static void small_growth_of_the_previous_measurement_does_not_explain_an_event(void **state)
{
    (void)state;
    begin();
    sample(500 * MIB, 400 * MIB);
    sample(502 * MIB, 400 * MIB);
    sample(502 * MIB, 400 * MIB);
    alloc(D, B, 2 * MIB);
    assert_int_equal(device()->best.used, 504 * MIB);
    end_replay();
}

static void without_measurements_the_peak_is_that_of_tracked_bytes(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 10 * MIB);
    alloc(D, B, 30 * MIB);
    const uint64_t peak_time = now;
    driver_free(1, A);
    end();
    assert_true(device()->peak.used == MPF_UNKNOWN);
    assert_int_equal(device()->peak.tracked, 40 * MIB);
    assert_int_equal(device()->peak.time, peak_time);
    mpr_replay_free(&replay);
}

/* The block that the driver is about to free is not in the table of addresses any more, but it
 * still exists. */
static void the_snapshot_of_the_peak_has_the_block_that_is_freed_next(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 10 * MIB);
    alloc(D, B, 30 * MIB);
    driver_free(1, B);
    end();
    assert_int_equal(device()->peak.drivers, 2);
    assert_int_equal(device()->peak.driver[0].size + device()->peak.driver[1].size,
                     device()->peak.tracked);
    mpr_replay_free(&replay);
}

/* The bytes of a process and the bytes used in total are measured one after the other. */
static void a_process_never_uses_more_than_all_processes(void **state)
{
    (void)state;
    begin();
    sample(50 * MIB, 52 * MIB);
    alloc(D, A, 10 * MIB);
    end();
    assert_int_equal(device()->peak.others, 0);
    assert_int_equal(device()->peak.used, 60 * MIB);
    mpr_replay_free(&replay);
}

/* PyTorch's sleep mode, for example, releases memory of blocks that stay live. */
static void frees_of_unused_bytes_make_no_peak(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 100 * MIB);
    sample(110 * MIB, 110 * MIB);
    sample(20 * MIB, 20 * MIB);
    driver_free(1, A);
    alloc(D, B, MIB);
    end();
    assert_int_equal(device()->peak.used, 110 * MIB);
    mpr_replay_free(&replay);
}

/* Used bytes stay constant while tensors are allocated and freed inside segments. */
static void of_equally_full_instants_the_one_with_most_tensors_is_the_peak(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 20 * MIB);
    alloc(T, A, 4 * MIB);
    alloc(T, A + 4 * MIB, 8 * MIB);
    const uint64_t peak_time = now;
    event(1, MPF_OP_FREE, T, A, 0);
    alloc(T, A, MIB);
    end();
    assert_int_equal(device()->peak.time, peak_time);
    assert_int_equal(device()->peak.torches, 2);
    assert_true(device()->peak.torch[0].addr == A);
    assert_int_equal(device()->peak.torch[0].size, 4 * MIB);
    assert_int_equal(device()->peak.torch[1].size, 8 * MIB);
    mpr_replay_free(&replay);
}

/* A measurement that is less than 1/32 higher is a new peak if all blocks still exist, and not if
 * some were freed. */
static void a_measurement_moves_the_peak_if_no_less_is_tracked(void **state)
{
    (void)state;
    for (int gone = 0; gone < 2; gone++) {
        begin();
        sample(0, 0);
        alloc(D, A, 90 * MIB);
        alloc(D, B, 10 * MIB);
        const uint64_t before = now;
        if (gone) driver_free(1, B);
        sample(102 * MIB, 102 * MIB);
        const uint64_t peak_time = gone ? before : now;
        end();
        assert_int_equal(device()->peak.used, gone ? 100 * MIB : 102 * MIB);
        assert_int_equal(device()->peak.time, peak_time);
        assert_int_equal(device()->peak.drivers, 2);
        mpr_replay_free(&replay);
    }
}

static void a_snapshot_has_only_its_device(void **state)
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

static void a_chosen_instant_replaces_the_peak(void **state)
{
    (void)state;
    begin_with((struct mpr_replay_options){ .by = MPR_GROUP_RANGE, .at = MPR_INSTANT_AT(2500000) });
    alloc(D, A, 10 * MIB); /* at 2 ms */
    alloc(D, B, 30 * MIB);
    end();
    assert_int_equal(device()->peak.tracked, 10 * MIB);
    assert_int_equal(device()->peak.drivers, 1);
    assert_int_equal(heap(D)->peak_bytes, 10 * MIB);
    mpr_replay_free(&replay);
}

/* ---- the peak of a chosen span of time */

static struct mpr_peak_window window;

static void begin_window(uint64_t from_ms, uint64_t to_ms)
{
    begin();
    window =
        (struct mpr_peak_window){ .from = now + from_ms * 1000000, .to = now + to_ms * 1000000 };
    replay.gpu.window = &window;
    replay.gpu.windows = 1;
}

static void over_window(uint64_t tracked, size_t blocks)
{
    end();
    assert_int_equal(window.peak.valid, tracked != 0);
    assert_int_equal(window.peak.tracked, tracked);
    assert_int_equal(window.peak.drivers, blocks);
    mpr_device_snapshot_free(&window.peak);
    mpr_replay_free(&replay);
}

static void a_time_window_has_a_separate_peak(void **state)
{
    (void)state;
    begin_window(2, 3);
    alloc(D, A, 10 * MIB);            /* 1 ms */
    alloc(D, A + 64 * MIB, 20 * MIB); /* 2 ms */
    alloc(D, A + 128 * MIB, 5 * MIB); /* 3 ms */
    alloc(D, B, 100 * MIB);           /* after it */
    over_window(35 * MIB, 3);
}

static void the_state_at_the_start_of_a_window_may_be_its_peak(void **state)
{
    (void)state;
    begin_window(3, 6);
    alloc(D, A, 10 * MIB);
    driver_free(1, A); /* 2 and 3 ms */
    alloc(D, A, 4 * MIB);
    over_window(10 * MIB, 1);
}

static void a_window_without_events_has_the_live_blocks(void **state)
{
    (void)state;
    begin_window(2, 3);
    alloc(D, A, 10 * MIB);
    now += 10000000;
    driver_free(1, A);
    assert_true(window.best.time == window.to);
    over_window(10 * MIB, 1);
}

static void a_window_in_which_the_device_is_empty_has_no_snapshot(void **state)
{
    (void)state;
    begin_window(0, 1);
    now += 10000000;
    alloc(D, A, 10 * MIB);
    over_window(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_around_a_call_counts_for_that_call),
        cmocka_unit_test(tracked_memory_is_not_counted_as_hidden),
        cmocka_unit_test(shrinking_counts_as_negative),
        cmocka_unit_test(overlapping_calls_count_growth_once),
        cmocka_unit_test(the_launch_after_a_limit_grows_the_stacks),
        cmocka_unit_test(local_memory_is_measured_at_a_launch_and_later),
        cmocka_unit_test(a_launch_counts_at_most_the_measured_local_memory),
        cmocka_unit_test(pools_and_blocks_are_never_more_than_the_device_has),
        cmocka_unit_test(a_call_that_was_not_measured_counts_nothing),
        cmocka_unit_test(growth_of_other_processes_is_not_a_context),
        cmocka_unit_test(a_context_is_no_larger_than_the_bytes_of_its_process),
        cmocka_unit_test(own_bytes_omit_an_allocation_that_one_sample_had_before_its_event),
        cmocka_unit_test(own_bytes_are_those_of_the_newest_sample_if_none_followed),
        cmocka_unit_test(used_bytes_are_the_newest_sample_and_what_changed_since),
        cmocka_unit_test(growth_that_was_measured_before_its_event_counts_once),
        cmocka_unit_test(owners_of_pools_are_those_at_the_peak),
        cmocka_unit_test(growth_over_several_measurements_counts_once),
        cmocka_unit_test(old_growth_does_not_explain_an_event),
        cmocka_unit_test(small_growth_of_the_previous_measurement_does_not_explain_an_event),
        cmocka_unit_test(without_measurements_the_peak_is_that_of_tracked_bytes),
        cmocka_unit_test(the_snapshot_of_the_peak_has_the_block_that_is_freed_next),
        cmocka_unit_test(a_process_never_uses_more_than_all_processes),
        cmocka_unit_test(frees_of_unused_bytes_make_no_peak),
        cmocka_unit_test(of_equally_full_instants_the_one_with_most_tensors_is_the_peak),
        cmocka_unit_test(a_measurement_moves_the_peak_if_no_less_is_tracked),
        cmocka_unit_test(a_snapshot_has_only_its_device),
        cmocka_unit_test(a_chosen_instant_replaces_the_peak),
        cmocka_unit_test(a_time_window_has_a_separate_peak),
        cmocka_unit_test(the_state_at_the_start_of_a_window_may_be_its_peak),
        cmocka_unit_test(a_window_without_events_has_the_live_blocks),
        cmocka_unit_test(a_window_in_which_the_device_is_empty_has_no_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
