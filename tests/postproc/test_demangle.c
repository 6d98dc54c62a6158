/* Names of C++ and Rust. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "demangle.h"

static void becomes(const char *mangled, const char *expected)
{
    char *name = mpr_demangle(mangled);
    assert_string_equal(name, expected);
    free(name);
}

static void names_of_cxx_lose_their_parameters(void **state)
{
    (void)state;
    becomes("_Z3fooi", "foo");
    becomes("_ZN3c104cuda20CUDACachingAllocator9raw_allocEm", "c10::cuda::CUDACachingAllocator::raw_alloc");
    becomes("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size");
    becomes("_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run");
    becomes("_ZN1AclEi", "A::operator()");
    becomes("_ZN1AC1ERKS_", "A::A");
    becomes("_Znwm", "operator new");
    becomes("_Z3barPFviE", "bar");
}

static void names_of_rust_lose_their_hash_and_escapes(void **state)
{
    (void)state;
    becomes("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
    becomes("_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE",
            "<alloc::vec::Vec<T> as core::clone::Clone>::clone");
}

static void other_names_stay(void **state)
{
    (void)state;
    becomes("malloc", "malloc");
    becomes("_RNvC6_123foo3bar", "_RNvC6_123foo3bar");
    becomes("_Z", "_Z");
    becomes("_ZN", "_ZN");
    becomes("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_cxx_lose_their_parameters),
        cmocka_unit_test(names_of_rust_lose_their_hash_and_escapes),
        cmocka_unit_test(other_names_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
