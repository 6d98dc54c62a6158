/* Pairs of strings are read as they were written, and truncated ones are detected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mpf/frame.h"
#include "mpf/header.h"

static void pairs_are_read_in_order(void **state)
{
    (void)state;
    char buf[128];
    struct mpf_pairs p;
    mpf_pairs_init(&p, buf, sizeof buf);
    mpf_pairs_add(&p, "argv", "a b");
    mpf_pairs_add(&p, "argv", "");
    mpf_pairs_add_u64(&p, "pid", UINT64_MAX);
    const char *at = buf, *end = buf + mpf_pairs_bytes(&p), *key, *value;
    static const char *const expected[][2] = { { "argv", "a b" },
                                               { "argv", "" },
                                               { "pid", "18446744073709551615" } };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mpf_pairs_next(&at, end, &key, &value), 1);
        assert_string_equal(key, expected[i][0]);
        assert_string_equal(value, expected[i][1]);
    }
    assert_int_equal(mpf_pairs_next(&at, end, &key, &value), 0);
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    char buf[8];
    struct mpf_pairs p;
    mpf_pairs_init(&p, buf, sizeof buf);
    mpf_pairs_add(&p, "key", "val");
    assert_int_equal(mpf_pairs_bytes(&p), 8);
    mpf_pairs_add(&p, "", "");
    assert_int_equal(mpf_pairs_bytes(&p), 0);
}

static void an_unterminated_string_is_damage(void **state)
{
    (void)state;
    static const char whole[] = "key\0value";
    const char *key, *value;
    for (size_t n = 1; n < sizeof whole; n++) {
        const char *at = whole;
        assert_int_equal(mpf_pairs_next(&at, whole + n, &key, &value), MPF_ERR_DAMAGED);
    }
}

static void an_identity_is_read_completely_or_not_at_all(void **state)
{
    (void)state;
    static const uint8_t bytes[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                       0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10 },
                         none[16];
    uint8_t read[17] = { [16] = 7 };
    char buf[64];
    struct mpf_pairs p;
    mpf_pairs_init(&p, buf, sizeof buf);
    mpf_pairs_add_hex(&p, "id", bytes);
    assert_string_equal(buf + strlen("id") + 1, "0123456789abcdeffedcba9876543210");
    assert_true(mpf_hex_read(buf + strlen("id") + 1, read));
    assert_memory_equal(read, bytes, 16);
    assert_true(mpf_hex_read("01234567-89ab-CDEF-fedc-BA9876543210 ", read));
    assert_memory_equal(read, bytes, 16);
    assert_true(mpf_hex_read("0123456789abcdeffedcba9876543210ffff", read));
    assert_memory_equal(read, bytes, 16);
    assert_int_equal(read[16], 7);
    static const char *const wrong[] = { "",
                                         "0123456789abcdeffedcba987654321",
                                         "0123456789abcdeffedcba987654321g",
                                         "0123456789abcdef/edcba9876543210",
                                         "0123456789abcdef:edcba9876543210",
                                         "0123456789abcdef`edcba9876543210" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(mpf_hex_read(wrong[i], read));
        assert_memory_equal(read, none, 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_read_in_order),
        cmocka_unit_test(a_full_buffer_is_an_error),
        cmocka_unit_test(an_unterminated_string_is_damage),
        cmocka_unit_test(an_identity_is_read_completely_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
