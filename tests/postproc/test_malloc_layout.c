/* The addresses that blocks of each allocator occupy, and the pages that they keep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "malloc_layout.h"

#define PAGE 4096

static const struct mpr_malloc_layout glibc = { MPR_MALLOC_GLIBC, PAGE },
                                      jemalloc = { MPR_MALLOC_JEMALLOC, PAGE },
                                      tcmalloc = { MPR_MALLOC_TCMALLOC, PAGE },
                                      mimalloc = { MPR_MALLOC_MIMALLOC, PAGE };

static void assert_range(struct mpr_address_range range, uint64_t from, uint64_t end)
{
    assert_int_equal(range.from, from);
    assert_int_equal(range.end, end);
}

static void an_allocator_is_known_by_its_file(void **state)
{
    (void)state;
    assert_int_equal(mpr_malloc_of("/usr/lib/x86_64-linux-gnu/libc.so.6"), MPR_MALLOC_GLIBC);
    assert_int_equal(mpr_malloc_of("/lib/libc-2.31.so"), MPR_MALLOC_GLIBC);
    assert_int_equal(mpr_malloc_of("/opt/libjemalloc.so.2"), MPR_MALLOC_JEMALLOC);
    assert_int_equal(mpr_malloc_of("libtcmalloc_minimal.so.4"), MPR_MALLOC_TCMALLOC);
    assert_int_equal(mpr_malloc_of("libmimalloc.so.2.0"), MPR_MALLOC_MIMALLOC);
    assert_int_equal(mpr_malloc_of("/home/jemalloc/server"), MPR_MALLOC_OTHER);
    assert_int_equal(mpr_malloc_of(""), MPR_MALLOC_OTHER);
}

/* malloc(24) and malloc(25) of glibc have 32 and 48 bytes between them and the next block. */
static void a_chunk_of_glibc_has_a_size_word_and_is_rounded(void **state)
{
    (void)state;
    assert_range(mpr_malloc_footprint(&glibc, 0x10010, 0, false), 0x10008, 0x10028);
    assert_range(mpr_malloc_footprint(&glibc, 0x10010, 24, false), 0x10008, 0x10028);
    assert_range(mpr_malloc_footprint(&glibc, 0x10010, 25, false), 0x10008, 0x10038);
}

static void a_block_from_the_kernel_has_whole_pages(void **state)
{
    (void)state;
    assert_range(mpr_malloc_footprint(&glibc, 0x7f0000000010, 0x20000, true), 0x7f0000000000,
                 0x7f0000021000);
}

static uint64_t trimmable(uint64_t from, uint64_t end)
{
    const struct mpr_address_range free = { from, end };
    return mpr_glibc_trimmable(&glibc, &free);
}

/* A free chunk begins 8 bytes before the free range, and its header of 48 bytes stays. */
static void malloc_trim_returns_pages_behind_the_header_of_a_free_chunk(void **state)
{
    (void)state;
    assert_int_equal(trimmable(0x10008, 0x11008), 0);
    assert_int_equal(trimmable(0xffd8, 0x11008), PAGE);
    assert_int_equal(trimmable(0xffe0, 0x11008), 0);
    assert_int_equal(trimmable(0x10008, 0x13000), PAGE);
    assert_int_equal(trimmable(0x10008, 0x13008), 2 * PAGE);
    assert_int_equal(trimmable(0x10008, 0x10018), 0);
}

/* Slabs of jemalloc 5: 5 pages of 160 bytes, 1 page of 64, 7 of 14,336 in 2 blocks. */
static void a_slab_of_jemalloc_is_known_from_any_of_its_blocks(void **state)
{
    const uint64_t base = 0x7f0000003000;
    (void)state;
    for (uint64_t i = 0; i < 5 * PAGE / 160; i++)
        assert_range(mpr_malloc_unit(&jemalloc, base + i * 160, 150, base + i * 160), base,
                     base + 5 * PAGE);
    assert_range(mpr_malloc_unit(&jemalloc, base + 64, 50, base + 64), base, base + PAGE);
    assert_range(mpr_malloc_unit(&jemalloc, base + 14336, 14336, base + 14336), base,
                 base + 7 * PAGE);
    assert_range(mpr_malloc_footprint(&jemalloc, base + 160, 150, false), base + 160, base + 320);
    assert_range(mpr_malloc_footprint(&jemalloc, base + 64, 20000, false), base,
                 base + 20480 + PAGE);
}

static void pages_of_tcmalloc_and_mimalloc_are_larger(void **state)
{
    (void)state;
    assert_range(mpr_malloc_unit(&tcmalloc, 0x13000, 100, 0x13000), 0x12000, 0x14000);
    assert_range(mpr_malloc_unit(&mimalloc, 0x13000, 100, 0x13000), 0x10000, 0x20000);
    assert_range(mpr_malloc_unit(&mimalloc, 0x13000, 20000, 0x13000), 0, 0x80000);
}

static void the_break_is_below_the_mappings(void **state)
{
    (void)state;
    assert_true(mpr_is_break(0x1c3b2a0));
    assert_true(mpr_is_break(0x5555557a02a0));
    assert_true(mpr_is_break(0xaaaad4c002a0));
    assert_true(mpr_is_break(0x5500012340));
    assert_false(mpr_is_break(0x7f1004000b80));
    assert_false(mpr_is_break(0xffff84000b80));
    assert_false(mpr_is_break(0x7f84000b80));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocator_is_known_by_its_file),
        cmocka_unit_test(a_chunk_of_glibc_has_a_size_word_and_is_rounded),
        cmocka_unit_test(a_block_from_the_kernel_has_whole_pages),
        cmocka_unit_test(malloc_trim_returns_pages_behind_the_header_of_a_free_chunk),
        cmocka_unit_test(a_slab_of_jemalloc_is_known_from_any_of_its_blocks),
        cmocka_unit_test(pages_of_tcmalloc_and_mimalloc_are_larger),
        cmocka_unit_test(the_break_is_below_the_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
