/* Short texts are appended to a buffer without overflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"

static const char *size(uint64_t bytes)
{
    static char buf[32];
    struct mp_text t = MP_TEXT(buf);
    mp_text_size(&t, bytes);
    return buf;
}

static void numbers_are_decimal(void **state)
{
    (void)state;
    char buf[32];
    struct mp_text t = MP_TEXT(buf);
    mp_text_u64(&t, 0);
    mp_text_str(&t, " ");
    mp_text_u64(&t, UINT64_MAX);
    assert_string_equal(buf, "0 18446744073709551615");
    assert_false(t.full);
}

static void sizes_have_one_decimal_of_a_unit(void **state)
{
    (void)state;
    assert_string_equal(size(0), "0 B");
    assert_string_equal(size(1023), "1023 B");
    assert_string_equal(size(1536), "1.5 KiB");
    assert_string_equal(size((uint64_t)3 << 30), "3.0 GiB");
}

static void text_that_does_not_fit_is_cut_and_marked(void **state)
{
    (void)state;
    char buf[6];
    struct mp_text t = MP_TEXT(buf);
    mp_text_str(&t, "abc");
    mp_text_str(&t, "defg");
    assert_string_equal(buf, "abcde");
    assert_true(t.full);
}

static unsigned version(const char *text)
{
    unsigned part[2];
    return mp_text_version(text, part) ? part[0] * 1000 + part[1] : 0;
}

static void versions_are_parsed_as_two_numbers(void **state)
{
    (void)state;
    assert_int_equal(version("3.12.1 (main, Jan 1 2024)"), 3012);
    assert_int_equal(version("2.11.0+cu130"), 2011);
    assert_int_equal(version("10.99rc1"), 10099);
    static const char *const none[] = { "",     "3",   "3.",    "three.two",   "v3.12",
                                        "3-12", ".12", "2.100", "4294967299.1" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_int_equal(version(none[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_decimal),
        cmocka_unit_test(sizes_have_one_decimal_of_a_unit),
        cmocka_unit_test(text_that_does_not_fit_is_cut_and_marked),
        cmocka_unit_test(versions_are_parsed_as_two_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
