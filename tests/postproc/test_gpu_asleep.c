/* Replay of device memory: PyTorch's blocks whose memory an allocator unmaps, and the owners of
 * memory that is mapped there later. */
#include "gpu.h"
#include "gpu_test.h"

static void map(uint64_t handle, uint64_t at, uint64_t bytes)
{
    event(1, MPF_OP_HANDLE_NEW, D, handle, bytes);
    WORDS(1, MPF_OP_HANDLE_MAP, 0, handle, at, bytes, 0);
}

static void take_away(uint64_t handle, uint64_t at, uint64_t bytes)
{
    event(1, MPF_OP_HANDLE_UNMAP, 0, at, bytes);
    event(1, MPF_OP_HANDLE_DROP, 0, handle, 0);
}

/* Returns the sleeping bytes of PyTorch's block at this time. */
static uint64_t asleep(uint64_t addr)
{
    struct mpr_device_snapshot p = { 0 };
    uint64_t bytes = UINT64_MAX;
    mpr_device_snapshot_take(&p, &replay, 0, now);
    for (size_t i = 0; i < p.torches; i++)
        if (p.torch[i].addr == addr) bytes = p.torch[i].asleep;
    mpr_device_snapshot_free(&p);
    return bytes;
}

/* ---- bytes */

static void a_block_sleeps_until_its_memory_is_mapped_again(void **state)
{
    (void)state;
    begin();
    map(0x11, A, 4 * MIB);
    alloc(T, A + MIB, 2 * MIB);
    assert_int_equal(asleep(A + MIB), 0);
    take_away(0x11, A, 4 * MIB);
    assert_int_equal(asleep(A + MIB), 2 * MIB);
    assert_int_equal(heap(T)->bytes, 2 * MIB);
    assert_int_equal(heap(D)->bytes, 0);
    alloc(T, A, MIB); /* PyTorch does not know this change */
    assert_int_equal(asleep(A), MIB);
    map(0x22, A, 4 * MIB);
    assert_int_equal(asleep(A), 0);
    assert_int_equal(asleep(A + MIB), 0);
    end_replay();
}

static void a_block_may_sleep_in_part(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 0; i < 4; i++) map(0x11 + i, A + i * 2 * MIB, 2 * MIB);
    alloc(T, A + MIB, 6 * MIB);
    take_away(0x12, A + 2 * MIB, 2 * MIB);
    assert_int_equal(asleep(A + MIB), 2 * MIB);
    take_away(0x11, A, 2 * MIB);
    assert_int_equal(asleep(A + MIB), 3 * MIB);
    take_away(0x14, A + 6 * MIB, 2 * MIB);
    assert_int_equal(asleep(A + MIB), 4 * MIB);
    end_replay();
}

static void a_block_outside_of_known_mappings_does_not_sleep(void **state)
{
    (void)state;
    begin();
    alloc(T, A, 2 * MIB);
    map(0x11, B, 2 * MIB);
    take_away(0x11, B, 2 * MIB);
    assert_int_equal(asleep(A), 0);
    end_replay();
}

static void any_new_mapping_wakes_a_block(void **state)
{
    (void)state;
    begin();
    map(0x11, A, 4 * MIB);
    alloc(T, A, 4 * MIB);
    take_away(0x11, A, 4 * MIB);
    alloc(D, A, 3 * MIB);
    assert_int_equal(asleep(A), MIB);
    end_replay();
}

static void a_snapshot_has_the_blocks_that_slept_at_its_instant(void **state)
{
    struct mpr_device_snapshot *p = &replay.gpu.device[0].peak;
    (void)state;
    begin();
    map(0x11, A, 4 * MIB);
    alloc(T, A, 4 * MIB);
    take_away(0x11, A, 4 * MIB);
    alloc(D, B, 6 * MIB); /* the peak */
    driver_free(1, B);
    map(0x22, A, 4 * MIB);
    event(1, MPF_OP_FREE, T, A, 0);
    end();
    assert_int_equal(p->torches, 1);
    assert_int_equal(p->torch[0].asleep, 4 * MIB);
    mpr_replay_free(&replay);
}

/* ---- compared with a model that checks each page */

enum { PAGES = 48, PIECE = 6, STEPS = 3000 };

static bool mapped[PAGES], ever[PAGES];
static struct {
    bool live;
    int from, pages;
} torch[PAGES];

static void change_piece(int piece)
{
    const uint64_t at = A + (uint64_t)piece * PIECE * MIB;
    const bool mapped_before = mapped[piece * PIECE];
    if (mapped_before) take_away(0x1000 + (uint64_t)piece, at, PIECE * MIB);
    else map(0x1000 + (uint64_t)piece, at, PIECE * MIB);
    for (int i = piece * PIECE; i < (piece + 1) * PIECE; i++) {
        mapped[i] = !mapped_before;
        ever[i] |= mapped_before;
    }
}

static void change_block(int i)
{
    const uint64_t at = A + (uint64_t)i * MIB;
    if (torch[i].live) event(1, MPF_OP_FREE, T, at, 0);
    else alloc(T, at, (uint64_t)torch[i].pages * MIB);
    torch[i].live = !torch[i].live;
}

static uint64_t sleeping_pages(int i)
{
    uint64_t pages = 0;
    for (int k = i; k < i + torch[i].pages; k++) pages += ever[k] && !mapped[k];
    return pages;
}

static void random_traces_agree_with_pages(void **state)
{
    (void)state;
    srand(7);
    begin();
    for (int i = 0; i < PAGES; i++) torch[i].pages = 1 + rand() % (PAGES - i);
    for (int step = 0; step < STEPS; step++) {
        if (rand() % 2) change_piece(rand() % (PAGES / PIECE));
        else change_block(rand() % PAGES);
        for (int i = 0; i < PAGES; i++)
            if (torch[i].live)
                assert_int_equal(asleep(A + (uint64_t)i * MIB), sleeping_pages(i) * MIB);
    }
    end_replay();
}

/* ---- owners */

static void plug_in(void)
{
    modules();
    module(0xb000, 0xc000, "/site-packages/vllm/cumem_allocator.abi3.so");
    module(0xd000, 0xe000, "/site-packages/torch/lib/libtorch_cuda.so");
    WORDS(1, MPF_OP_STACK, 0, 0x61, 0x1100, 0xb100, 0xb200, 0xd100, 0x3100, 0x7100);
    WORDS(1, MPF_OP_STACK, 0, 0x62, 0x1100, 0xb100, 0x7100); /* by Python */
    WORDS(1, MPF_OP_STACK, 0, 0x63, 0x1100, 0xd100, 0x7100); /* by libtorch itself */
    /* By NCCL, which is notified of segments. */
    WORDS(1, MPF_OP_STACK, 0, 0x64, 0x1100, 0x5100, 0xd100, 0x3100);
    WORDS(1, MPF_OP_STACK, 0, 0x65, 0x1100, 0xb100, 0x3100, 0x7100); /* replaces cudaMalloc */
}

static void map_by(uint64_t stack, uint64_t handle, uint64_t at)
{
    event(1, MPF_OP_AT, 0, stack, 0);
    map(handle, at, 2 * MIB);
}

static bool is_segment(uint64_t at)
{
    struct mpr_device_snapshot p = { 0 };
    bool segment = false;
    mpr_device_snapshot_take(&p, &replay, 0, now);
    for (size_t i = 0; i < p.drivers; i++)
        if (p.driver[i].addr == at) segment = p.driver[i].segment;
    mpr_device_snapshot_free(&p);
    return segment;
}

static void the_memory_of_a_plug_in_belongs_to_pytorch_if_pytorch_requested_it(void **state)
{
    static const struct {
        uint64_t stack;
        bool segment;
    } by[] = { { 0x51, true },  { 0x61, true },  { 0x52, false }, { 0x62, false },
               { 0x63, false }, { 0x64, false }, { 0x65, true } };
    (void)state;
    begin();
    plug_in();
    for (uint64_t i = 0; i < sizeof by / sizeof *by; i++) {
        map_by(by[i].stack, 0x11 + i, A + i * 2 * MIB);
        assert_int_equal(is_segment(A + i * 2 * MIB), by[i].segment);
    }
    end_replay();
}

static void memory_that_wakes_keeps_its_owner(void **state)
{
    (void)state;
    begin();
    plug_in();
    map_by(0x61, 0x11, A);
    take_away(0x11, A, 2 * MIB);
    map_by(0x62, 0x22, A);
    assert_true(is_segment(A));
    take_away(0x22, A, 2 * MIB);
    map_by(0x62, 0x33, A);
    assert_true(is_segment(A));
    map_by(0x62, 0x44, A + 2 * MIB); /* at another place */
    assert_false(is_segment(A + 2 * MIB));
    take_away(0x33, A, 2 * MIB);
    map_by(0x52, 0x55, A); /* by another library */
    assert_false(is_segment(A));
    end_replay();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_sleeps_until_its_memory_is_mapped_again),
        cmocka_unit_test(a_block_may_sleep_in_part),
        cmocka_unit_test(a_block_outside_of_known_mappings_does_not_sleep),
        cmocka_unit_test(any_new_mapping_wakes_a_block),
        cmocka_unit_test(a_snapshot_has_the_blocks_that_slept_at_its_instant),
        cmocka_unit_test(random_traces_agree_with_pages),
        cmocka_unit_test(the_memory_of_a_plug_in_belongs_to_pytorch_if_pytorch_requested_it),
        cmocka_unit_test(memory_that_wakes_keeps_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
