/* memprof's own mappings are registered and recognised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own_maps.h"
#include "base/sys.h"

enum { PAGE = 64 << 10 }; /* not smaller than a page of any processor */

static void *at(unsigned page) { return (void *)((UINT64_C(1) << 40) + (uint64_t)page * PAGE); }

/* Returns the registered pages among the first 64 as bits. */
static uint64_t own(void)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 64; i++) {
        const struct mp_range r = mp_own_maps_first((uintptr_t)at(i), (uintptr_t)at(i + 1));
        if (r.from == r.to) continue;
        assert_int_equal(r.to - r.from, PAGE);
        bits |= UINT64_C(1) << i;
    }
    return bits;
}

static void parts_of_mappings_are_removed(void **state)
{
    (void)state;
    mp_own_maps_add(at(0), 8 * PAGE);
    assert_int_equal(own(), 0xff);
    mp_own_maps_remove(at(0), PAGE);
    mp_own_maps_remove(at(7), 3 * PAGE);
    mp_own_maps_remove(at(3), PAGE);
    assert_int_equal(own(), 0x76);
    mp_own_maps_remove(at(0), 8 * PAGE);
    assert_int_equal(own(), 0);
}

static void a_range_counts_once(void **state)
{
    (void)state;
    uintptr_t bytes = 0, end = (uintptr_t)at(64);
    mp_own_maps_add(at(4), 2 * PAGE);
    mp_own_maps_add(at(2), 4 * PAGE);
    mp_own_maps_add(at(4), 2 * PAGE);
    struct mp_range r = mp_own_maps_first((uintptr_t)at(0), end);
    for (; r.from != r.to; r = mp_own_maps_first(r.to, end)) bytes += r.to - r.from;
    assert_int_equal(bytes, 4 * PAGE);
    mp_own_maps_remove(at(0), 64 * PAGE);
}

static void adjacent_mappings_share_an_entry(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4 * MP_OWN_MAPS; i++) mp_own_maps_add(at(i), PAGE);
    const struct mp_range range = mp_own_maps_first(0, UINTPTR_MAX);
    assert_int_equal(range.to - range.from, (uintptr_t)4 * MP_OWN_MAPS * PAGE);
    mp_own_maps_remove(at(0), (size_t)4 * MP_OWN_MAPS * PAGE);
    assert_int_equal(own(), 0);
}

static void mappings_are_registered_until_they_are_unmapped(void **state)
{
    (void)state;
    uint8_t *const memory = mp_sys_map(4 * PAGE);
    const struct mp_range r = mp_own_maps_first((uintptr_t)memory, (uintptr_t)memory + 8 * PAGE);
    assert_int_equal(r.from, (uintptr_t)memory);
    assert_int_equal(r.to - r.from, 4 * PAGE);
    mp_sys_munmap(memory, 4 * PAGE);
    const struct mp_range gone = mp_own_maps_first((uintptr_t)memory, (uintptr_t)memory + 4 * PAGE);
    assert_int_equal(gone.from, gone.to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_mappings_are_removed),
        cmocka_unit_test(a_range_counts_once),
        cmocka_unit_test(adjacent_mappings_share_an_entry),
        cmocka_unit_test(mappings_are_registered_until_they_are_unmapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
