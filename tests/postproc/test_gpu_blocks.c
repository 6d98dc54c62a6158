/* Replay of device memory: blocks of the driver, memory with handles, and pools. */
#include "gpu.h"
#include "gpu_test.h"
#include "mpf/sample.h"

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
    end_replay();
}

/* Whichever thread frees it. */
static void blocks_that_are_being_freed_are_in_a_snapshot(void **state)
{
    (void)state;
    for (uint32_t thread = 0; thread < 3; thread++) {
        struct mpr_device_snapshot snapshot = { 0 };
        begin();
        alloc(D, A, MIB);
        event(thread, MPF_OP_MOVE_BEGIN, D, A, 0);
        mpr_device_snapshot_take(&snapshot, &replay, 0, now);
        assert_int_equal(snapshot.drivers, 1);
        assert_int_equal(snapshot.driver[0].addr, A);
        mpr_device_snapshot_free(&snapshot);
        event(thread, MPF_OP_MOVE_END, D, 0, 0);
        mpr_device_snapshot_take(&snapshot, &replay, 0, now);
        assert_int_equal(snapshot.drivers, 0);
        mpr_device_snapshot_free(&snapshot);
        end_replay();
    }
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
    end_replay();
}

static void an_address_may_be_reused_before_its_free_returns(void **state)
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
    end_replay();
}

static void a_free_finds_the_block_in_any_heap(void **state)
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
    end_replay();
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
    end_replay();
}

static void a_free_of_an_unknown_block_is_unmatched(void **state)
{
    (void)state;
    begin();
    alloc(D, A, MIB);
    driver_free(1, A);
    driver_free(1, A);
    assert_int_equal(heap(D)->unmatched, 1);
    assert_int_equal(heap(D)->bytes, 0);
    end_replay();
}

static void reuse_without_a_free_is_missed(void **state)
{
    (void)state;
    begin();
    alloc(D, A, MIB);
    alloc(D, A, 5 * MIB);
    assert_int_equal(heap(D)->bytes, 5 * MIB);
    assert_int_equal(heap(D)->missed, 1);
    end_replay();
}

static void pytorchs_blocks_have_a_separate_address_space(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 20 * MIB);
    alloc(T, A, MIB);
    assert_int_equal(heap(D)->bytes, 20 * MIB);
    event(1, MPF_OP_FREE, T, A, 0);
    assert_int_equal(heap(T)->bytes, 0);
    assert_int_equal(heap(D)->bytes, 20 * MIB);
    end_replay();
}

static void the_end_of_a_context_frees_its_blocks(void **state)
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
    end_replay();
}

static void a_context_that_is_still_active_keeps_its_blocks(void **state)
{
    (void)state;
    begin();
    event(2, MPF_OP_ALLOC, D, B, 2 * MIB); /* by a thread whose context is unknown */
    event(1, MPF_OP_GPU_CONTEXT, 0, 0xc1, 0);
    alloc(D, A, MIB);
    WORDS(1, MPF_OP_GPU_RETURN, U, MPF_UNKNOWN, MPF_CALL_CONTEXT_GONE, 0, 0, 0, 0);
    assert_int_equal(heap(D)->bytes, 3 * MIB);
    end_replay();
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
    end_replay();
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
    end_replay();
}

static void retain_may_restore_memory_whose_handle_was_released(void **state)
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
    end_replay();
}

static void imported_memory_does_not_count_for_this_process(void **state)
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
    end_replay();
}

struct shown {
    size_t count;
    struct mpr_large_block block[4];
};

static void show(void *arg, const struct mpr_large_block *block)
{
    struct shown *s = arg;
    if (s->count < 4) s->block[s->count] = *block;
    s->count++;
}

static void memory_with_a_handle_is_a_block_at_its_mapping(void **state)
{
    (void)state;
    struct shown live = { 0 }, all = { 0 };
    begin();
    struct mpr_large *large = replay.large = mpr_large_new(&replay.accounts);
    event(1, MPF_OP_HANDLE_NEW, D, 0x11, 2 * MIB);
    const uint64_t made = now;
    event(1, MPF_OP_HANDLE_IMPORT, 0, 0x33, 0);
    map(0x33, B, 64 * MIB); /* bytes of another process */
    map(0x11, A, 2 * MIB);
    map(0x11, B + 64 * MIB, 2 * MIB); /* the same bytes mapped again */
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
    const struct mpr_large_block *again = &all.block[all.block[0].to == UINT64_MAX ? 0 : 1],
                                 *before = &all.block[again == all.block];
    assert_int_equal(before->to, unmapped);
    assert_int_equal(again->addr, A + 8 * MIB);
    assert_int_equal(again->from, now);
    replay.large = NULL;
    mpr_large_free(large);
    end_replay();
}

/* The driver reuses the number for new memory while the old memory is still mapped. */
static void a_handle_may_be_reused(void **state)
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
    end_replay();
}

/* The last release by thread 1 is recorded after thread 2 got the same number for new memory. */
static void a_late_release_is_not_applied_to_the_new_memory(void **state)
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
    end_replay();
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
    end_replay();
}

static void memory_with_a_handle_survives_a_context(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_GPU_CONTEXT, 0, 0xc1, 0);
    event(1, MPF_OP_HANDLE_NEW, D, 0x11, 2 * MIB);
    WORDS(1, MPF_OP_GPU_RETURN, U, MPF_UNKNOWN, MPF_CALL_CONTEXT_GONE, 0, 0xc1, 0, 0);
    assert_int_equal(heap(D)->bytes, 2 * MIB);
    end_replay();
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

/* Blocks inside a pool are in a separate heap. The device counts only the pool. */
static void blocks_of_a_pool_are_not_counted_twice(void **state)
{
    (void)state;
    begin();
    alloc(POOL, A, 5 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 32 * MIB);
    assert_int_equal(heap(D)->bytes, 32 * MIB);
    assert_int_equal(heap(POOL)->bytes, 5 * MIB);
    end_replay();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_counts_until_the_driver_has_freed_it),
        cmocka_unit_test(blocks_that_are_being_freed_are_in_a_snapshot),
        cmocka_unit_test(a_failed_free_leaves_the_block),
        cmocka_unit_test(an_address_may_be_reused_before_its_free_returns),
        cmocka_unit_test(a_free_finds_the_block_in_any_heap),
        cmocka_unit_test(a_free_on_one_gpu_finds_a_block_of_another),
        cmocka_unit_test(a_free_of_an_unknown_block_is_unmatched),
        cmocka_unit_test(reuse_without_a_free_is_missed),
        cmocka_unit_test(pytorchs_blocks_have_a_separate_address_space),
        cmocka_unit_test(the_end_of_a_context_frees_its_blocks),
        cmocka_unit_test(a_context_that_is_still_active_keeps_its_blocks),
        cmocka_unit_test(memory_with_a_handle_lives_by_references_and_mappings),
        cmocka_unit_test(retain_adds_a_reference_to_what_is_mapped_there),
        cmocka_unit_test(retain_may_restore_memory_whose_handle_was_released),
        cmocka_unit_test(imported_memory_does_not_count_for_this_process),
        cmocka_unit_test(memory_with_a_handle_is_a_block_at_its_mapping),
        cmocka_unit_test(a_handle_may_be_reused),
        cmocka_unit_test(a_late_release_is_not_applied_to_the_new_memory),
        cmocka_unit_test(one_unmap_may_end_several_mappings),
        cmocka_unit_test(memory_with_a_handle_survives_a_context),
        cmocka_unit_test(a_pools_level_is_absolute),
        cmocka_unit_test(blocks_of_a_pool_are_not_counted_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
