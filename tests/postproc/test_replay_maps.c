/* Only writable bytes of mappings count, wherever they are moved. */
#include "replay_test.h"

static void reserved_address_space_is_not_memory(void **state)
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
    assert_int_equal(mpr_accounts_at_peak(&replay.accounts, &replay.accounts.cell[0]).bytes,
                     0x4000);
    event(1, MPF_OP_UNMAP, M, 0x800000, 0x1000);
    assert_int_equal(heap(M)->bytes, 0x5000);
    event(1, MPF_OP_UNMAP, M, 0x100000, 0x4000);
    assert_int_equal(heap(M)->bytes, 0x5000);
    end();
    mpr_replay_free(&replay);
}

/* When the kernel has moved the pages, another thread may get their addresses, and record that
 * before the call has returned. */
static void another_thread_may_map_addresses_that_mremap_left(void **state)
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

static void a_handler_may_call_mremap_during_mremap(void **state)
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

/* The log does not show whether mmap or mremap was refused. The end of the mremap does. */
static void a_refused_mmap_of_a_handler_ends_no_mremap(void **state)
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

/* The place to which the pages moved is lost, any number of times. */
static void mremaps_without_an_end_keep_their_bytes(void **state)
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

static void a_refused_mremap_moves_nothing(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserved_address_space_is_not_memory),
        cmocka_unit_test(mremap_moves_and_grows),
        cmocka_unit_test(another_thread_may_map_addresses_that_mremap_left),
        cmocka_unit_test(a_handler_may_call_mremap_during_mremap),
        cmocka_unit_test(a_refused_mmap_of_a_handler_ends_no_mremap),
        cmocka_unit_test(mremaps_without_an_end_keep_their_bytes),
        cmocka_unit_test(a_refused_mremap_moves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
