/* Mangled names of C++ and Rust are readable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    becomes("_ZN3c104cuda20CUDACachingAllocator9raw_allocEm",
            "c10::cuda::CUDACachingAllocator::raw_alloc");
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
    becomes(
        "_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE",
        "<alloc::vec::Vec<T> as core::clone::Clone>::clone");
}

/* The examples of RFC 2603, and one of each kind in its grammar. */
static void names_of_rust_in_the_v0_scheme_are_demangled(void **state)
{
    (void)state;
    becomes("_RNvC6_123foo3bar", "123foo::bar");
    becomes("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
    becomes("_RNvNtNtCs1234_7mycrateu8gdel_5qa6escher4bach", "mycrate::g\xc3\xb6"
                                                             "del::escher::bach");
    becomes("_RNCNvC7mycrate3foo0", "mycrate::foo::{closure#0}");
    becomes("_RNCNvC7mycrate3foos_0.llvm.123", "mycrate::foo::{closure#1}");
    becomes("_RNSNvC7mycrate3foo6vtable", "mycrate::foo::{shim:vtable#0}");
    becomes("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
    becomes("_RINvNtC3std3mem8align_ofINtNtC3std3vec3VechEEC7mycrate",
            "std::mem::align_of::<std::vec::Vec<u8>>");
    becomes("_RNvMCs1_7mycrateNtB2_3Foo3bar", "<mycrate::Foo>::bar");
    becomes("_RNvXCs1_7mycrateNtB2_3FooNtNtC3std5clone5Clone5clone",
            "<mycrate::Foo as std::clone::Clone>::clone");
    becomes("_RNvYNtC7mycrate3FooNtB4_5Trait3run", "<mycrate::Foo as mycrate::Trait>::run");
    becomes("_RINvC7mycrate3fooTlmERShQhPeOzE",
            "mycrate::foo::<(i32, u32), &[u8], &mut u8, *const str, *mut !>");
    becomes("_RINvC7mycrate3fooThEuAtj10_E", "mycrate::foo::<(u8,), (), [u16; 16]>");
    becomes("_RINvC7mycrate3fooFUKCmEyE", "mycrate::foo::<unsafe extern \"C\" fn(u32) -> u64>");
    becomes("_RINvC7mycrate3fooFG_RL0_hEuE", "mycrate::foo::<for<'a> fn(&'a u8)>");
    becomes("_RINvC7mycrate3fooDG_INtC3std2FnTRL0_hEEp6OutputuEL_E",
            "mycrate::foo::<dyn for<'a> std::Fn<(&'a u8,), Output = ()>>");
    becomes("_RINvC7mycrate3fooKj1f_Kin5_Kb1_Kc61_KpL_E",
            "mycrate::foo::<31, -5, true, 'a', _, '_>");
    becomes(
        "_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_",
        "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::<core::slice::memchr::memrchr::{closure#1}>::{closure#0}");
}

static void stays(const char *name) { becomes(name, name); }

static void invalid_names_of_rust_are_unchanged(void **state)
{
    (void)state;
    stays("_R");
    stays("_R1C3abc"); /* a future scheme */
    stays("_RC9abc");  /* longer than the text */
    stays("_RC99999999999999999999abc");
    stays("_RNvC3abc3def!");
    stays("_RNvB_3abc");   /* a reference to itself, */
    stays("_RNvB99_3abc"); /* and to a later place */
    stays("_RINvC3abc3defKc110000000_E");
    stays("_RNvC3abcu9_99999999z");
    stays("_RC1aIC1bFGzzzzzzzzzz_EuE");      /* 62^10 lifetimes, in a part that is not printed, */
    stays("_RNvMIC1bFGzzzzzzzzzz_EuEC1a1c"); /* and in the path of an impl */
    static char deep[1 << 20] = "_R";
    memset(deep + 2, 'M', sizeof deep - 3);
    stays(deep);
    /* each pair contains the previous one twice, which gives 2^40 of them */
    char wide[1024] = "_RINvC3abc3defTuuE";
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (size_t last = 14 - 2, i = 0; i < 40; i++) {
        char pair[32], number[4] = "";
        const size_t to = last - 1, at = strlen(wide);
        snprintf(number, sizeof number, to >= 62 ? "%2$c%1$c" : "%1$c", digits[to % 62],
                 digits[to / 62]);
        snprintf(pair, sizeof pair, "TB%s_B%s_E", number, number);
        strcat(wide, pair);
        last = at - 2;
    }
    strcat(wide, "E");
    stays(wide);
}

/* Random letters of the grammar, and valid names with one letter changed, give a result or the name
 * itself. */
static void random_names_do_no_harm(void **state)
{
    (void)state;
    static const char letters[] = "CMXYNIBsuvtLKpGETADRQPOFSUabchjlz0123456789__._";
    static const char valid[] =
        "_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9rpositionDG_INtC3std2FnTRL0_hEEp6OutputuEL_E0";
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        char name[sizeof valid] = "_R";
        const bool changed = i % 2;
        if (changed) memcpy(name, valid, sizeof valid);
        for (size_t k = 2, n = 0; k < sizeof valid - 1 && n < (changed ? 3 : sizeof valid); n++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const size_t at = changed ? 2 + (size_t)(seed >> 40) % (sizeof valid - 3) : k++;
            name[at] = letters[(seed >> 33) % (sizeof letters - 1)];
        }
        char *text = mpr_demangle(name);
        assert_non_null(text);
        assert_true(strlen(text) < 4096);
        free(text);
    }
}

static void other_names_are_kept(void **state)
{
    (void)state;
    becomes("malloc", "malloc");
    becomes("_Z", "_Z");
    becomes("_ZN", "_ZN");
    becomes("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_cxx_lose_their_parameters),
        cmocka_unit_test(names_of_rust_lose_their_hash_and_escapes),
        cmocka_unit_test(names_of_rust_in_the_v0_scheme_are_demangled),
        cmocka_unit_test(invalid_names_of_rust_are_unchanged),
        cmocka_unit_test(random_names_do_no_harm),
        cmocka_unit_test(other_names_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
