/* Pairs of strings: what is written is read; what is cut is damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mpf/frame.h"
#include "mpf/header.h"

static void pairs_come_back_in_order(void **state)
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

static void a_full_buffer_is_told(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_come_back_in_order),
        cmocka_unit_test(a_full_buffer_is_told),
        cmocka_unit_test(an_unterminated_string_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
