/* Names of XLA's ranges are shown without the numbers of a compilation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ranges.h"

static const char *plain(const char *name)
{
    static char text[256];
    if (!mpr_is_traceme(name, strlen(name))) return name;
    text[mpr_traceme_plain(name, strlen(name), text)] = 0;
    return text;
}

static void numbers_are_removed_from_names(void **state)
{
    (void)state;
    assert_string_equal(plain("XlaModule:#hlo_module=jit_step,program_id=78765#"),
                        "XlaModule jit_step");
    assert_string_equal(plain("XlaPass:#name=sort-rewriter,module=jit_step,program_id=0#"),
                        "XlaPass sort-rewriter, jit_step");
    assert_string_equal(
        plain("Thunk:#name=jit(step)/mul,hlo_op=mul.66.3,unique_hlo_op_id=4294967364#"),
        "Thunk jit(step)/mul, mul.66.3");
    assert_string_equal(plain("Execute#run_id=7#"), "Execute");
    assert_string_equal(plain("Thunk:#name=a,K9_z0=b#"), "Thunk a, b");
    assert_string_equal(plain("Execute#run_id=#"), "Execute");
}

static void a_comma_within_a_value_does_not_end_a_pair(void **state)
{
    (void)state;
    assert_string_equal(plain("Thunk:#name=f(a,b)[c=1, d],hlo_op=x#"), "Thunk f(a,b)[c=1, d], x");
    assert_string_equal(plain("Thunk:#name=a,,b,#"), "Thunk a,,b,");
}

static void other_names_are_unchanged(void **state)
{
    static const char *const name[] = { "",      "#",       "##",       "#a=b#",
                                        "step",  "step #3", "a#b#",     "Optimizer.step#AdamW.step",
                                        "a#b=c", "a#=b#",   "a#b#c=d#", "a# b=c#" };
    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        assert_false(mpr_is_traceme(name[i], strlen(name[i])));
        assert_string_equal(plain(name[i]), name[i]);
    }
}

static void set(struct mpr_ranges *r, uint32_t id, const char *name)
{
    mpr_ranges_set_name(r, id, (const uint8_t *)name, strlen(name));
}

static void names_that_differ_in_numbers_are_equal(void **state)
{
    struct mpr_ranges r;
    size_t bytes;
    (void)state;
    mpr_ranges_init(&r);
    set(&r, 1, "XlaModule:#hlo_module=jit_step,program_id=1#");
    set(&r, 2, "XlaModule:#hlo_module=jit_eval,program_id=2#");
    set(&r, 3, "XlaModule:#hlo_module=jit_step,program_id=3#");
    set(&r, 4, "step 4");
    set(&r, 3, "another name");
    assert_int_equal(mpr_ranges_name(&r, 1), 1);
    assert_int_equal(mpr_ranges_name(&r, 2), 2);
    assert_int_equal(mpr_ranges_name(&r, 3), 1);
    assert_int_equal(mpr_ranges_name(&r, 4), 4);
    assert_string_equal(mpr_texts_get(&r.names, 3, &bytes), "XlaModule jit_step");
    assert_string_equal(mpr_texts_get(&r.names, 4, &bytes), "step 4");
    mpr_ranges_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_removed_from_names),
        cmocka_unit_test(a_comma_within_a_value_does_not_end_a_pair),
        cmocka_unit_test(other_names_are_unchanged),
        cmocka_unit_test(names_that_differ_in_numbers_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
