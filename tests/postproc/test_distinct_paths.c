/* Stacks in a column are shown by the frames that differ, and no two different ones look alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cells.h"
#include "frame_text.h"

static struct mpr_arena arena;

#define TEXTS(...)                                                                                 \
    (const char *const[]){ __VA_ARGS__ },                                                          \
        sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *)

static struct mpr_value value_of(const char *const *text, size_t depth, bool calls)
{
    return mpr_value_path(path_of(&arena, text, depth, calls));
}
#define PATH(...)   value_of(TEXTS(__VA_ARGS__), true)
#define RANGES(...) value_of(TEXTS(__VA_ARGS__), false)

static void check(enum mpr_group by, struct mpr_value *value, size_t values,
                  const char *const *expected)
{
    struct mpr_user_frames *user_frames = mpr_user_frames_new();
    mpr_distinct_paths(&arena, user_frames, by, value, values);
    for (size_t i = 0; i < values; i++) {
        char text[200] = "";
        if (value[i].caller && *value[i].caller) sprintf(text, "%s > ", value[i].caller);
        for (size_t k = 0; k < value[i].path.depth; k++)
            sprintf(text + strlen(text), "%s%s", k ? " > " : "", value[i].path.frame[k]->text);
        assert_string_equal(text, expected[i]);
    }
    mpr_user_frames_free(user_frames);
}

static void single_calls_and_ranges_are_unchanged(void **state)
{
    (void)state;
    struct mpr_value value[] = { PATH("main (t.py:1)", "f (t.py:2)"), mpr_value_unknown };
    value[0].shortened = true;
    check(MPR_GROUP_RANGE, value, 1, (const char *const[]){ "main (t.py:1) > f (t.py:2)" });
    check(MPR_GROUP_RANGE, &value[1], 1, (const char *const[]){ "" });
}

/* A path of ranges is shown in full. */
static void all_names_of_native_stacks_are_shown_as_calls(void **state)
{
    (void)state;
    struct mpr_value stack[] = { PATH("main (a.c:1)", "fill (a.c:2)", "xmalloc (a.c:3)") };
    struct mpr_value ranges[] = { RANGES("step", "fill", "xmalloc") };
    check(MPR_GROUP_STACK, stack, 1, (const char *const[]){ "main > fill (a.c:2)" });
    check(MPR_GROUP_RANGE, ranges, 1, (const char *const[]){ "step > fill > xmalloc" });
}

static void stacks_that_look_alike_show_the_call_in_which_they_differ(void **state)
{
    (void)state;
    struct mpr_value value[] = {
        PATH("main (a.c:1)", "fill (a.c:2)", "xmalloc (a.c:3)"),
        PATH("main (a.c:9)", "fill (a.c:2)", "xmalloc (a.c:3)"),
        PATH("main (a.c:12)", "fill (a.c:2)", "xmalloc (a.c:3)"),
    };
    check(MPR_GROUP_STACK, value, 3,
          (const char *const[]){ "main (a.c:1) > fill (a.c:2)", "main (a.c:9) > fill (a.c:2)",
                                 "main (a.c:12) > fill (a.c:2)" });
}

/* It did not call itself. */
static void stacks_that_differ_in_their_last_call_show_it(void **state)
{
    (void)state;
    struct mpr_value value[] = {
        PATH("main (t.py:1)", "relu (torch/nn/functional.py:6)", "_Py_malloc"),
        PATH("main (t.py:1)", "relu (torch/nn/functional.py:9)", "_Py_malloc"),
    };
    check(MPR_GROUP_PYTHON, value, 2,
          (const char *const[]){ "main (t.py:1) > relu (torch/nn/functional.py:6)",
                                 "main (t.py:1) > relu (torch/nn/functional.py:9)" });
}

static void rows_of_one_stack_may_look_alike(void **state)
{
    (void)state;
    struct mpr_value value[] = { PATH("main (a.c:1)", "fill (a.c:2)"),
                                 PATH("main (a.c:1)", "fill (a.c:2)") };
    check(MPR_GROUP_STACK, value, 2,
          (const char *const[]){ "main > fill (a.c:2)", "main > fill (a.c:2)" });
}

/* Each differs from the first in the same call, and from the others elsewhere. */
static void a_number_is_added_if_nothing_else_differs(void **state)
{
    (void)state;
    struct mpr_value value[] = {
        PATH("main (a.c:1)", "fill (a.c:2)", "malloc (libc.so.6)"),
        PATH("main (a.c:1)", "fill (a.c:2)", "calloc (libc.so.6)"),
        PATH("main (a.c:9)", "fill (a.c:2)", "malloc (libc.so.6)"),
        PATH("main (a.c:9)", "fill (a.c:2)", "calloc (libc.so.6)"),
    };
    check(MPR_GROUP_STACK, value, 4,
          (const char *const[]){ "main #1 > fill (a.c:2) > malloc (libc.so.6)",
                                 "main > fill (a.c:2) > calloc (libc.so.6)",
                                 "main #2 > fill (a.c:2) > malloc (libc.so.6)",
                                 "main (a.c:9) > fill (a.c:2)" });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_calls_and_ranges_are_unchanged),
        cmocka_unit_test(all_names_of_native_stacks_are_shown_as_calls),
        cmocka_unit_test(stacks_that_look_alike_show_the_call_in_which_they_differ),
        cmocka_unit_test(stacks_that_differ_in_their_last_call_show_it),
        cmocka_unit_test(rows_of_one_stack_may_look_alike),
        cmocka_unit_test(a_number_is_added_if_nothing_else_differs),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpr_arena_free(&arena);
    return failed;
}
