/* Replay of device memory: blocks belong to the right ranges, including those inherited from
 * another thread. */
#include "gpu_test.h"

/* ---- ranges */

static uint64_t bytes_of_path(unsigned code, uint64_t path)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < replay.accounts.cells; i++) {
        const struct mpr_cell *cell = &replay.accounts.cell[i];
        if (cell->heap == code && path_of(cell->key) == path) bytes += cell->bytes;
    }
    return bytes;
}

static uint64_t inherited_at_peak(unsigned code)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < replay.accounts.cells; i++) {
        const struct mpr_cell *cell = &replay.accounts.cell[i];
        if (cell->heap == code) bytes += mpr_accounts_at_peak(&replay.accounts, cell).inherited;
    }
    return bytes;
}

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

static void ranges_of_a_library_are_appended_to_inherited_ones(void **state)
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
    end_replay();
}

static void ranges_of_a_library_domain_are_not_inherited(void **state)
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
    end_replay();
}

/* The thread has the same stack, but the other thread's stack has changed. */
static void inherited_ranges_follow_those_of_the_other_thread(void **state)
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
    end_replay();
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
    end_replay();
}

static void combined_paths_are_bounded(void **state)
{
    enum { TORCH = 7, DEEP = 2 * MPR_PATH_MAX };
    (void)state;
    begin_with((struct mpr_replay_options){ .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK });
    data(1, MPF_OP_DOMAIN, 0, TORCH, "torch", 5);
    for (uint32_t i = 0; i < DEEP; i++) push(1, 0, 3 + i);
    for (uint32_t i = 0; i < DEEP; i++) push(2, TORCH, 3 + i);
    event(2, MPF_OP_ALLOC, T, A, MIB); /* inherits ranges, and has its own below them */
    event(1, MPF_OP_ALLOC, T, B, MIB);
    assert_int_equal(replay.ranges.node[mpr_gpu_blocks_find(&gpu()->torch, A)->node].depth,
                     MPR_PATH_MAX);
    assert_int_equal(replay.ranges.node[mpr_gpu_blocks_find(&gpu()->torch, B)->node].depth,
                     MPR_PATH_MAX);
    end_replay();
}

static void inheritance_can_be_switched_off(void **state)
{
    (void)state;
    begin_with((struct mpr_replay_options){
        .by = MPR_GROUP_RANGE, .at = MPR_INSTANT_PEAK, .no_inherit = true });
    push(1, 0, 3);
    event(2, MPF_OP_ALLOC, T, A, MIB);
    assert_int_equal(bytes_of_path(T, 0), MIB);
    end_replay();
}

static void a_pool_belongs_to_the_calls_that_grew_it(void **state)
{
    (void)state;
    begin();
    push(1, 0, 3);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 32 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 40 * MIB);
    push(1, 0, 4);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 96 * MIB);
    assert_int_equal(bytes_of_path(D, 0x3), 40 * MIB);
    assert_int_equal(bytes_of_path(D, 0x34), 56 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 64 * MIB);
    assert_int_equal(bytes_of_path(D, 0x3), 40 * MIB);
    assert_int_equal(bytes_of_path(D, 0x34), 24 * MIB);
    event(1, MPF_OP_GPU_LEVEL, D, 0xb001, 16 * MIB);
    assert_int_equal(bytes_of_path(D, 0x3), 16 * MIB);
    assert_int_equal(bytes_of_path(D, 0x34), 0);
    end_replay();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_without_ranges_inherits),
        cmocka_unit_test(inherited_bytes_are_those_at_the_peak),
        cmocka_unit_test(ranges_of_a_library_are_appended_to_inherited_ones),
        cmocka_unit_test(ranges_of_a_library_domain_are_not_inherited),
        cmocka_unit_test(the_newest_stack_of_ranges_is_inherited),
        cmocka_unit_test(inherited_ranges_follow_those_of_the_other_thread),
        cmocka_unit_test(the_host_heap_does_not_inherit),
        cmocka_unit_test(combined_paths_are_bounded),
        cmocka_unit_test(inheritance_can_be_switched_off),
        cmocka_unit_test(a_pool_belongs_to_the_calls_that_grew_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
