/* Replay of device memory: requests that did not fit. */
#include "gpu.h"
#include "gpu_test.h"
#include "mpf/sample.h"

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

static void a_refusal_that_pytorch_recovers_from_is_soft(void **state)
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
    end_replay();
}

/* A sample is up to 10 ms old, and another process may have filled the device since. */
static void the_free_bytes_of_a_refusal_are_newer_than_a_sample(void **state)
{
    (void)state;
    begin();
    sample(10 * MIB, 4 * MIB);
    /* Of 80 MiB, which is within the difference of two readings. */
    refuse(1, 200 * MIB, 2, 78 * MIB, 0);
    assert_int_equal(gpu()->oom[0].snapshot.used, 2 * MIB);
    assert_int_equal(gpu()->oom[0].snapshot.others, 6 * MIB);
    sample(10 * MIB, 4 * MIB);
    WORDS(1, MPF_OP_GPU_FAIL, D, 300 * MIB, 2, 100 * MIB, 1024 * MIB, 0, 0);
    assert_int_equal(gpu()->oom[1].snapshot.used, 924 * MIB);
    assert_true(gpu()->oom[1].snapshot.others == MPF_UNKNOWN);
    end_replay();
}

static void a_refusal_after_another_allocation_is_another_failure(void **state)
{
    (void)state;
    begin();
    refuse(1, 80 * MIB, 2, 10 * MIB, 0);
    alloc(D, A, 4 * MIB);
    driver_free(1, A);
    refuse(1, 80 * MIB, 2, 10 * MIB, 0);
    assert_int_equal(gpu()->ooms, 2);
    assert_true(gpu()->oom[0].hard);
    assert_int_equal(gpu()->oom[0].flushed, 0);
    assert_int_equal(gpu()->oom[1].attempts, 1);
    end_replay();
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
    end_replay();
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
    end();
    assert_true(gpu()->oom[0].snapshot.valid);
    assert_int_equal(gpu()->oom[0].snapshot.torches, 1);
    mpr_replay_free(&replay);
}

static void a_probe_is_not_a_failure(void **state)
{
    (void)state;
    begin();
    refuse(1, 2 * MIB, 801, 10 * MIB, 1);
    assert_int_equal(gpu()->ooms, 0);
    assert_int_equal(heap(D)->failures, 0);
    end_replay();
}

static void another_error_is_a_failure_but_not_out_of_memory(void **state)
{
    (void)state;
    begin();
    refuse(1, 2 * MIB, 1, 10 * MIB, 0);
    assert_int_equal(gpu()->ooms, 0);
    assert_int_equal(heap(D)->failures, 1);
    end_replay();
}

static void a_failure_keeps_the_blocks_that_were_live(void **state)
{
    (void)state;
    begin();
    modules();
    alloc(D, A, 60 * MIB);
    alloc(T, A, 50 * MIB);
    torch_refused(10 * MIB);
    event(1, MPF_OP_FREE, T, A, 0);
    driver_free(1, A);
    end();
    assert_int_equal(gpu()->oom[0].snapshot.drivers, 1);
    assert_int_equal(gpu()->oom[0].snapshot.torches, 1);
    assert_int_equal(gpu()->oom[0].snapshot.tracked, 60 * MIB);
    mpr_replay_free(&replay);
}

/* The program catches each refusal, as in a search for the largest batch. */
static void refuse_for_good(uint64_t bytes)
{
    torch_refused(10 * MIB);
    WORDS(1, MPF_OP_TORCH_OOM, T, bytes, 40 * MIB, 64 * MIB, MPF_UNKNOWN, MPF_UNKNOWN);
}

static void live_blocks_are_kept_for_the_newest_failures(void **state)
{
    (void)state;
    begin();
    modules();
    alloc(D, A, 60 * MIB);
    alloc(T, A, 50 * MIB);
    for (uint64_t i = 1; i <= 40; i++) refuse_for_good(i * MIB);
    end();
    assert_int_equal(gpu()->ooms, 40);
    assert_false(gpu()->oom[0].snapshot.valid);
    assert_false(gpu()->oom[23].snapshot.valid);
    assert_int_equal(gpu()->oom[24].snapshot.torches, 1);
    assert_ptr_equal(mpr_oom_newest(gpu()), &gpu()->oom[39]);
    mpr_replay_free(&replay);
}

static void recovered_failures_are_dropped_first(void **state)
{
    (void)state;
    begin();
    modules();
    alloc(D, A, 60 * MIB);
    alloc(T, A, 50 * MIB);
    refuse_for_good(MIB);
    for (uint64_t i = 1; i <= 40; i++) {
        torch_refused(10 * MIB);
        alloc(D, B, 20 * MIB);
        alloc(T, B, 19 * MIB);
        event(1, MPF_OP_FREE, T, B, 0);
        driver_free(1, B);
    }
    end();
    assert_int_equal(gpu()->ooms, 41);
    assert_int_equal(gpu()->oom[0].snapshot.torches, 1);
    assert_false(gpu()->oom[1].snapshot.valid);
    assert_ptr_equal(mpr_oom_newest(gpu()), &gpu()->oom[0]);
    mpr_replay_free(&replay);
}

static void pytorch_asks_the_driver_for_segments(void **state)
{
    (void)state;
    static const uint64_t needed[][2] = {
        { 1, 2 * MIB },         { MIB, 2 * MIB },
        { MIB + 1, 20 * MIB },  { 10 * MIB - 1, 20 * MIB },
        { 10 * MIB, 10 * MIB }, { 10 * MIB + 1, 12 * MIB },
        { 13 * MIB, 14 * MIB },
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        const struct mpr_oom by_pytorch = { .bytes = needed[i][0], .torch = true },
                             by_others = { .bytes = needed[i][0] };
        assert_int_equal(mpr_oom_needed(&by_pytorch), needed[i][1]);
        assert_int_equal(mpr_oom_needed(&by_others), needed[i][0]);
    }
}

static void totals_reported_by_pytorch_are_kept(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_TORCH_LEVEL, T, 64 * MIB, 40 * MIB);
    event(1, MPF_OP_TORCH_LEVEL, T, 22 * MIB, 20 * MIB);
    assert_int_equal(device()->torch_reserved, 22 * MIB);
    assert_int_equal(device()->torch_reserved_peak, 64 * MIB);
    end_replay();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_that_pytorch_recovers_from_is_soft),
        cmocka_unit_test(the_free_bytes_of_a_refusal_are_newer_than_a_sample),
        cmocka_unit_test(a_refusal_after_another_allocation_is_another_failure),
        cmocka_unit_test(a_second_refusal_and_pytorchs_report_are_one_hard_failure),
        cmocka_unit_test(pytorch_may_give_up_without_asking_the_driver),
        cmocka_unit_test(a_probe_is_not_a_failure),
        cmocka_unit_test(another_error_is_a_failure_but_not_out_of_memory),
        cmocka_unit_test(a_failure_keeps_the_blocks_that_were_live),
        cmocka_unit_test(live_blocks_are_kept_for_the_newest_failures),
        cmocka_unit_test(recovered_failures_are_dropped_first),
        cmocka_unit_test(pytorch_asks_the_driver_for_segments),
        cmocka_unit_test(totals_reported_by_pytorch_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
