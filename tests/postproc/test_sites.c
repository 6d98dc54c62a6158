/* Blocks are assigned to stacks, modules and sites, and those to cells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ranges.h"
#include "replay.h"

static struct mpr_replay replay;
static uint64_t now;

static void begin(enum mpr_group by)
{
    const struct mpr_replay_options options = { .by = by, .at = MPR_INSTANT_PEAK };
    now = 0;
    mpr_replay_init(&replay, &options);
}

static void feed(unsigned op, unsigned heap, uint64_t addr, uint64_t size, const void *data)
{
    const struct mpf_event e = { .time = now += 1000000,
                                 .addr = addr,
                                 .size = size,
                                 .data = data,
                                 .thread = 1,
                                 .op = (uint8_t)op,
                                 .heap = (uint8_t)heap };
    mpr_replay_batch(&replay, &e, 1);
}

static void event(unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    feed(op, heap, addr, size, NULL);
}

static void module(uint64_t from, uint64_t to, const char *path)
{
    uint8_t bytes[256];
    const uint64_t head[] = { to, 2 };
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, "\xab\xcd", 2);
    memcpy(bytes + sizeof head + 2, path, strlen(path));
    feed(MPF_OP_MODULE, 0, from, sizeof head + 2 + strlen(path), bytes);
}

#define STACK(id, ...)                                                                             \
    do {                                                                                           \
        const uint64_t words[] = { __VA_ARGS__ };                                                  \
        feed(MPF_OP_STACK, 0, id, sizeof words, words);                                            \
    } while (0)

static void python(uint64_t id, const char *function)
{
    uint8_t bytes[64] = { 7 };
    const size_t n = strlen(function) + 1;
    memcpy(bytes + 8, function, n);
    memcpy(bytes + 8 + n, "a.py", 5);
    feed(MPF_OP_FRAME, 0, id + 1000, 8 + n + 5, bytes);
    const uint64_t frame = id + 1000;
    feed(MPF_OP_PYTHON, 0, id, sizeof frame, &frame);
}

#define H MPF_HEAP_HOST
#define D ((uint8_t)mpf_heap_gpu(MPF_HEAP_DEVICE, 0))

static const struct mpr_sites *sites(void) { return &replay.sites; }

static uint64_t bytes_of(uint64_t key, uint8_t heap)
{
    for (uint32_t i = 0; i < replay.accounts.cells; i++)
        if (replay.accounts.cell[i].key == key && replay.accounts.cell[i].heap == heap)
            return replay.accounts.cell[i].bytes;
    return 0;
}

static uint64_t bytes_at_site(struct mpr_site site_wanted, uint8_t heap)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < replay.accounts.cells; i++) {
        const struct mpr_cell *cell = &replay.accounts.cell[i];
        const struct mpr_site site = mpr_sites_of(sites(), cell->site);
        if (cell->heap == heap && site.stack == site_wanted.stack &&
            site.python == site_wanted.python)
            bytes += cell->bytes;
    }
    return bytes;
}

static void modules(void)
{
    module(0x1000, 0x2000, "/lib/libone.so");
    module(0x3000, 0x4000, "/lib/libtwo.so");
    module(0x5000, 0x6000, "/lib/libcuda.so.1");
}

/* ---- files of Python */

static void files_of_libraries_keep_their_path(void **state)
{
    (void)state;
    static const char *const file[][2] = {
        { "/home/me/app/utils.py", "utils.py" },
        { "train.py", "train.py" },
        { "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>" },
        { "/home/me/.venv/lib/python3.12/site-packages/torch/nn/init.py", "torch/nn/init.py" },
        { "/usr/lib/python3/dist-packages/six.py", "dist-packages/six.py" },
        { "/opt/a/site-packages/b/vendor/site-packages/c/d.py", "c/d.py" },
        { "/usr/lib/python3.9/json/decoder.py", "python3.9/json/decoder.py" },
        { "/usr/lib64/python3.14/typing.py", "python3.14/typing.py" },
        { "/home/me/lib/python3.d/x.py", "x.py" },
        { "/home/me/lib/python3.1", "python3.1" },
        { "/usr/local/bin/torchrun", "bin/torchrun" },
        { "/home/me/bin/train.py", "train.py" },
        { "/bin/", "" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        assert_string_equal(mpr_python_file(file[i][0]), file[i][1]);
}

/* ---- stacks */

static void stacks_share_their_outer_frames(void **state)
{
    (void)state;
    begin(MPR_GROUP_RANGE);
    modules();
    STACK(0x51, 0x1100, 0x3100);
    STACK(0x52, 0x1200, 0x3100);
    STACK(0x53, 0x3100);
    const uint32_t first = mpr_sites_stack(sites(), 0x51), second = mpr_sites_stack(sites(), 0x52),
                   outer = mpr_sites_stack(sites(), 0x53);
    assert_int_not_equal(first, second);
    assert_int_equal(sites()->stacks.node[first].parent, outer);
    assert_int_equal(sites()->stacks.node[second].parent, outer);
    assert_int_equal(sites()->stacks.node[first].pc, 0x1100);
    assert_int_equal(sites()->stacks.nodes, 4);
    assert_int_equal(mpr_sites_stack(sites(), 0x99), 0);
    mpr_replay_free(&replay);
}

/* Also if the library was loaded at another address or from another folder. */
static void a_library_is_known_by_its_name(void **state)
{
    (void)state;
    begin(MPR_GROUP_LIBRARY);
    module(0x1000, 0x2000, "/usr/lib/libown.so");
    module(0x3000, 0x4000, "/opt/libown.so");
    module(0x5000, 0x6000, "/opt/libother.so");
    STACK(0x51, 0x1100);
    STACK(0x52, 0x3100);
    STACK(0x53, 0x5100);
    const uint32_t library = mpr_sites_library(sites(), mpr_sites_stack(sites(), 0x51));
    assert_string_equal(mpr_sites_library_name(sites(), library), "libown.so");
    assert_int_equal(mpr_sites_library(sites(), mpr_sites_stack(sites(), 0x52)), library);
    assert_int_not_equal(mpr_sites_library(sites(), mpr_sites_stack(sites(), 0x53)), library);
    mpr_replay_free(&replay);
}

static void the_owner_is_the_innermost_library_outside_cuda(void **state)
{
    (void)state;
    begin(MPR_GROUP_RANGE);
    modules();
    STACK(0x51, 0x5100, 0x1100, 0x3100);
    STACK(0x52, 0x5100);
    STACK(0x53, 0x9999, 0x3100);
    assert_string_equal(
        mpr_sites_library_name(sites(), mpr_sites_library(sites(), mpr_sites_stack(sites(), 0x51))),
        "libone.so");
    assert_int_equal(mpr_sites_library(sites(), mpr_sites_stack(sites(), 0x52)), 0);
    assert_string_equal(
        mpr_sites_library_name(sites(), mpr_sites_library(sites(), mpr_sites_stack(sites(), 0x53))),
        "libtwo.so");
    mpr_replay_free(&replay);
}

/* operator new is in libstdc++. */
static void a_runtime_owns_only_blocks_without_another_owner(void **state)
{
    (void)state;
    begin(MPR_GROUP_RANGE);
    modules();
    module(0x7000, 0x8000, "/lib/libstdc++.so.6.0.30");
    STACK(0x51, 0x7100, 0x3100, 0x1100);
    STACK(0x52, 0x7100);
    STACK(0x53, 0x7100, 0x5100);
    assert_string_equal(
        mpr_sites_library_name(sites(), mpr_sites_library(sites(), mpr_sites_stack(sites(), 0x51))),
        "libtwo.so");
    assert_string_equal(
        mpr_sites_library_name(sites(), mpr_sites_library(sites(), mpr_sites_stack(sites(), 0x52))),
        "libstdc++.so.6.0.30");
    assert_string_equal(
        mpr_sites_library_name(sites(), mpr_sites_library(sites(), mpr_sites_stack(sites(), 0x53))),
        "libstdc++.so.6.0.30");
    mpr_replay_free(&replay);
}

/* A module loaded later at the same place counts from then on. Older stacks keep their object. */
static void a_module_replaces_older_modules_at_its_addresses(void **state)
{
    (void)state;
    begin(MPR_GROUP_RANGE);
    modules();
    STACK(0x51, 0x3100);
    module(0x1800, 0x3800, "/lib/libthree.so");
    STACK(0x52, 0x3100);
    STACK(0x53, 0x1100);
    STACK(0x54, 0x5100);
    const struct mpr_stack_node *node = sites()->stacks.node;
    const uint32_t before = node[mpr_sites_stack(sites(), 0x51)].module,
                   after = node[mpr_sites_stack(sites(), 0x52)].module;
    assert_string_equal(sites()->module[before - 1].path, "/lib/libtwo.so");
    assert_string_equal(sites()->module[after - 1].path, "/lib/libthree.so");
    assert_memory_equal(sites()->module[after - 1].build_id, "\xab\xcd", 2);
    assert_int_equal(node[mpr_sites_stack(sites(), 0x53)].module, 0);
    assert_string_equal(sites()->module[node[mpr_sites_stack(sites(), 0x54)].module - 1].path,
                        "/lib/libcuda.so.1");
    mpr_replay_free(&replay);
}

/* ---- cells */

static void a_stack_applies_only_to_the_next_event(void **state)
{
    (void)state;
    begin(MPR_GROUP_STACK);
    modules();
    STACK(0x51, 0x1100);
    const uint32_t stack = mpr_sites_stack(sites(), 0x51);
    event(MPF_OP_AT, 0, 0x51, 0);
    event(MPF_OP_ALLOC, H, 0xa000, 10);
    event(MPF_OP_ALLOC, H, 0xb000, 100);
    event(MPF_OP_MOVE_BEGIN, H, 0xb000, 0);
    event(MPF_OP_AT, 0, 0x51, 0);
    event(MPF_OP_MOVE_END, H, 0xc000, 200);
    event(MPF_OP_AT, 0, 0x51, 0);
    event(MPF_OP_MAP, MPF_HEAP_MMAP, 0x7000, 4096);
    event(MPF_OP_AT, 0, 0x51, 0);
    event(MPF_OP_FAIL, H, 12, 1 << 20);
    event(MPF_OP_ALLOC, H, 0xd000, 1000);
    event(MPF_OP_AT, 0, 0x51, 0);
    event(MPF_OP_ALLOC, D, 0xe000, 4096);
    event(MPF_OP_ALLOC, D, 0xf000, 5);
    assert_int_equal(bytes_of(stack, H), 210);
    assert_int_equal(bytes_of(0, H), 1000);
    assert_int_equal(bytes_of(stack, MPF_HEAP_MMAP), 4096);
    assert_int_equal(bytes_of(stack, D), 4096);
    event(MPF_OP_FREE, H, 0xc000, 0);
    assert_int_equal(bytes_of(stack, H), 10);
    mpr_replay_free(&replay);
}

static void blocks_of_the_host_count_by_library_and_python(void **state)
{
    (void)state;
    for (int by = 0; by < 2; by++) {
        begin(by ? MPR_GROUP_LIBRARY : MPR_GROUP_PYTHON);
        modules();
        STACK(0x51, 0x3100);
        python(0x91, "load");
        event(MPF_OP_AT_PYTHON, 0, 0x91, 0);
        event(MPF_OP_AT, 0, 0x51, 0);
        event(MPF_OP_ALLOC, H, 0xa000, 10);
        const uint64_t key = by ? mpr_sites_library(sites(), mpr_sites_stack(sites(), 0x51))
                                : mpr_sites_python(sites(), 0x91);
        assert_int_not_equal(key, 0);
        assert_int_equal(bytes_of(key, H), 10);
        mpr_replay_free(&replay);
    }
}

/* With all groupings, cells with the same range, thread and size differ by their site. */
static void cells_by_everything_know_their_site(void **state)
{
    (void)state;
    begin(MPR_GROUP_ALL);
    modules();
    STACK(0x51, 0x1100);
    STACK(0x52, 0x1200);
    python(0x91, "load");
    const uint32_t first = mpr_sites_stack(sites(), 0x51), second = mpr_sites_stack(sites(), 0x52);
    const uint32_t load = mpr_sites_python(sites(), 0x91);
    for (uint64_t i = 0; i < 2; i++) {
        const unsigned heap = i ? D : H;
        event(MPF_OP_AT, 0, 0x51, 0);
        event(MPF_OP_ALLOC, heap, 0xa000, 10);
        event(MPF_OP_AT, 0, 0x52, 0);
        event(MPF_OP_AT_PYTHON, 0, 0x91, 0);
        event(MPF_OP_ALLOC, heap, 0xb000, 11);
        event(MPF_OP_AT, 0, 0x52, 0);
        event(MPF_OP_ALLOC, heap, 0xc000, 12);
        event(MPF_OP_ALLOC, heap, 0xd000, 13);
        assert_int_equal(bytes_at_site((struct mpr_site){ first, 0 }, (uint8_t)heap), 10);
        assert_int_equal(bytes_at_site((struct mpr_site){ second, load }, (uint8_t)heap), 11);
        assert_int_equal(bytes_at_site((struct mpr_site){ second, 0 }, (uint8_t)heap), 12);
        assert_int_equal(bytes_at_site((struct mpr_site){ 0, 0 }, (uint8_t)heap), 13);
    }
    assert_int_equal(sites()->sites, 3);
    mpr_replay_free(&replay);
}

/* After frames were lost: the place also stays that of the thread's next event. */
static void repeated_definitions_change_nothing(void **state)
{
    (void)state;
    begin(MPR_GROUP_ALL);
    for (uint64_t times = 1; times <= 2; times++) {
        modules();
        STACK(0x51, 0x1000, 0x3000);
        event(MPF_OP_AT, 0, 0x51, 0);
        feed(MPF_OP_THREAD, 0, 42, 4, "main");
        event(MPF_OP_ALLOC, H, times << 12, 10);
        assert_int_equal(bytes_at_site((struct mpr_site){ mpr_sites_stack(sites(), 0x51), 0 }, H),
                         10 * times);
    }
    assert_int_equal(sites()->modules, 3);
    assert_int_equal(replay.threads.at[1]->first_ns, 6000000);
    mpr_replay_free(&replay);
}

/* With many stacks and sites the tables grow. */
static void thousands_of_sites_are_distinguished(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    begin(MPR_GROUP_ALL);
    module(0x1000, 0x10000000, "/bin/prog");
    for (uint64_t i = 0; i < MANY; i++) {
        STACK(0x100000 + i, 0x2000 + i % 150, 0x9000 + i / 150);
        event(MPF_OP_AT, 0, 0x100000 + i, 0);
        event(MPF_OP_ALLOC, H, 0x100000 + i * 64, i);
    }
    assert_int_equal(sites()->sites, MANY);
    for (uint64_t i = 0; i < MANY; i += 777)
        assert_int_equal(
            bytes_at_site((struct mpr_site){ mpr_sites_stack(sites(), 0x100000 + i), 0 }, H), i);
    mpr_replay_free(&replay);
}

/* ---- estimates */

static void begin_sampled(enum mpr_group by)
{
    const struct mpr_replay_options options = {
        .by = by, .at = MPR_INSTANT_PEAK, .sample_mean = 65536, .sample_below = 1 << 20
    };
    now = 0;
    mpr_replay_init(&replay, &options);
    modules();
    STACK(0x51, 0x1100);
}

static uint32_t cell_of(uint64_t key)
{
    for (uint32_t i = 0; i < replay.accounts.cells; i++)
        if (replay.accounts.cell[i].key == key) return i;
    return UINT32_MAX;
}

/* Blocks of 4096 bytes have their stack once in 1 / (1 - exp(-1/16)) = 16.505 times. */
static void sampled_blocks_represent_other_blocks(void **state)
{
    (void)state;
    begin_sampled(MPR_GROUP_STACK);
    for (uint64_t i = 1; i <= 3; i++) {
        event(MPF_OP_AT, 0, 0x51, 0);
        event(MPF_OP_ALLOC, H, i << 16, i < 3 ? 4096 : 2 << 20);
    }
    event(MPF_OP_ALLOC, H, 0xa0000, 4096);
    event(MPF_OP_FREE, H, 1 << 16, 0);
    event(MPF_OP_FREE, H, 0xa0000, 0);
    const uint32_t cell = cell_of(mpr_sites_stack(sites(), 0x51));
    const struct mpr_estimate_state more =
        mpr_estimates_at_peak(&replay.estimates, &replay.accounts, cell);
    assert_int_equal(more.samples, 2);
    assert_int_equal(more.bytes, 2 * (67605 - 4096));
    assert_true(more.blocks > 2 * 15.504 && more.blocks < 2 * 15.506);
    assert_int_equal(replay.estimates.cell[cell].now.bytes, 67605 - 4096);
    assert_int_equal(replay.estimates.cell[cell].own_peak, (2 << 20) + 2 * 67605);
    event(MPF_OP_MOVE_BEGIN, H, 2 << 16, 0);
    event(MPF_OP_MOVE_END, H, 0xb0000, 8192);
    assert_int_equal(replay.estimates.cell[cell].now.bytes, 0);
    assert_int_equal(replay.estimates.cell[cell].live, 0);
    mpr_replay_free(&replay);
}

/* Blocks in a range have a name without a stack. */
static void blocks_in_ranges_represent_only_themselves(void **state)
{
    (void)state;
    uint64_t more[2];
    begin_sampled(MPR_GROUP_AUTO);
    for (uint64_t i = 0; i < 2; i++) {
        if (i == 0) event(MPF_OP_PUSH, 0, 3, 0);
        event(MPF_OP_AT, 0, 0x51, 0);
        event(MPF_OP_ALLOC, H, (i + 1) << 16, 4096);
        if (i == 0) event(MPF_OP_POP, 0, 0, 0);
        more[i] = 0;
        for (uint32_t cell = 0; cell < replay.accounts.cells; cell++)
            more[i] +=
                (uint64_t)mpr_estimates_at_peak(&replay.estimates, &replay.accounts, cell).bytes;
    }
    assert_int_equal(more[0], 0);
    assert_int_equal(more[1], 67605 - 4096);
    mpr_replay_free(&replay);
}

/* Sizes that a damaged log may have. */
static void invalid_modules_are_skipped(void **state)
{
    (void)state;
    const uint64_t words[] = { 0x2000, 1000, 0 };
    begin(MPR_GROUP_STACK);
    feed(MPF_OP_MODULE, 0, 0x1000, sizeof words, words); /* a build ID beyond the end */
    feed(MPF_OP_MODULE, 0, 0x1000, 8, words);
    feed(MPF_OP_MODULE, 0, 0x3000, 16, (const uint64_t[]){ 0x2000, 0 }); /* ends before it begins */
    feed(MPF_OP_STACK, 0, 0x51, 0, words);
    assert_int_equal(sites()->modules, 0);
    assert_int_equal(mpr_sites_stack(sites(), 0x51), 0);
    mpr_replay_free(&replay);
}

/* IDs that a damaged log may have. */
static void ids_are_used_only_for_their_kind(void **state)
{
    (void)state;
    begin(MPR_GROUP_PYTHON);
    modules();
    STACK(0x51, 0x1100);
    python(0x91, "load");
    assert_int_equal(mpr_sites_python(sites(), 0x51), 0);
    assert_int_equal(mpr_sites_python(sites(), 0x91 + 1000), 0); /* of its frame */
    assert_int_equal(mpr_sites_stack(sites(), 0x91), 0);
    STACK(0, 0x1200);
    for (uint64_t id = 0x10000; id < 0x11000; id++)
        assert_int_equal(mpr_sites_stack(sites(), id), 0);
    mpr_replay_free(&replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_libraries_keep_their_path),
        cmocka_unit_test(stacks_share_their_outer_frames),
        cmocka_unit_test(a_library_is_known_by_its_name),
        cmocka_unit_test(the_owner_is_the_innermost_library_outside_cuda),
        cmocka_unit_test(a_runtime_owns_only_blocks_without_another_owner),
        cmocka_unit_test(a_module_replaces_older_modules_at_its_addresses),
        cmocka_unit_test(a_stack_applies_only_to_the_next_event),
        cmocka_unit_test(blocks_of_the_host_count_by_library_and_python),
        cmocka_unit_test(cells_by_everything_know_their_site),
        cmocka_unit_test(repeated_definitions_change_nothing),
        cmocka_unit_test(thousands_of_sites_are_distinguished),
        cmocka_unit_test(sampled_blocks_represent_other_blocks),
        cmocka_unit_test(blocks_in_ranges_represent_only_themselves),
        cmocka_unit_test(invalid_modules_are_skipped),
        cmocka_unit_test(ids_are_used_only_for_their_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
