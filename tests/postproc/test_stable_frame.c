/* Lines of two runs are matched, and no byte is lost between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diff.h"
#include "frame_text.h"

static int begin(void **state)
{
    *state = calloc(1, sizeof(struct mpr_arena));
    return *state ? 0 : -1;
}

static int end(void **state)
{
    mpr_arena_free(*state);
    free(*state);
    return 0;
}

/* ---- names */

static void becomes_of(struct mpr_arena *arena, const struct mpr_frame *frame, const char *expected)
{
    assert_string_equal(mpr_frame_stable(arena, "prog-1.3", frame)->text, expected);
}

static void becomes(struct mpr_arena *arena, const char *text, const char *expected)
{
    becomes_of(arena, frame_of(arena, text, true), expected);
}

static void lines_and_versions_are_left_out(void **state)
{
    becomes(*state, "f (a.c:12)", "f (a.c)");
    becomes(*state, "ns::f<int> (b.hpp:3)", "ns::f<int> (b.hpp)");
    becomes(*state, "f (libfoo.so.1.2)", "f (libfoo.so)");
    becomes(*state, "f.constprop.0 (a.c:12)", "f (a.c)");
    becomes(*state, "f.isra.0.cold (prog)", "f (prog)");
    becomes(*state, "ns::f [clone .part.0] (a.c:1)", "ns::f (a.c)");
    becomes(*state, "Linear.forward [layers.3] (linear.py:134)",
            "Linear.forward [layers.3] (linear.py)");
    becomes(*state, "[0.1] main (t.py:3)", "[0.1] main (t.py)");
    becomes(*state, "backward of f (t.py:3)", "backward of f (t.py)");
    becomes(*state, "f (<frozen importlib._bootstrap>:488)", "f (<frozen importlib._bootstrap>)");
    const struct mpr_frame *library = mpr_frame_new(
        *state, (struct mpr_frame){ .kind = MPR_FRAME_OBJECT, .object = "libcudart.so.12" });
    becomes_of(*state, library, "libcudart.so");
}

static void names_of_ranges_are_unchanged(void **state)
{
    static const char *const names[] = {
        "",           "step 3", "layers.3.mlp", "f (prog)",
        "load (a:b)", "12:30",  "libfoo.so",    "load.part.2 (c.d)"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        becomes_of(*state, frame_of(*state, names[i], false), names[i]);
    becomes(*state, "libfoo.so.1+0x12", "libfoo.so.1+0x12");
}

/* In Python's "Model.part.f", "part" is a class. */
static void only_compilers_of_native_code_add_to_names(void **state)
{
    becomes(*state, "Model.part.f (m.py:3)", "Model.part.f (m.py)");
}

static void the_program_itself_is_not_named(void **state)
{
    becomes(*state, "f (prog-1.3)", "f");
    becomes(*state, "f.cold (prog-1.3)", "f");
}

static void numbers_of_one_run_are_left_out(void **state)
{
    const struct mpr_frame *thread =
        mpr_frame_new(*state, (struct mpr_frame){ .text = "worker (4243)", .name = "worker" });
    becomes_of(*state, thread, "worker");
}

static void function_is(struct mpr_arena *arena, const struct mpr_frame *frame,
                        const char *expected)
{
    assert_string_equal(
        mpr_frame_stable_function(arena, mpr_frame_stable(arena, "prog-1.3", frame)), expected);
}

/* The part of a call that remains if its source file was renamed. A library is not a source
 * file. */
static void functions_are_compared_without_their_files(void **state)
{
    static const char *const call[][2] = {
        { "f (a.c:12)", "f" },
        { "ns::f<int>.cold (b.hpp:3)", "ns::f<int>" },
        { "f (libfoo.so.1.2)", "f (libfoo.so)" },
        { "f (prog-1.3)", "f" },
        { "prog+0x12", "prog+0x12" },
        { "M.forward [layers.3] (m.py:134)", "M.forward [layers.3]" },
        { "backward of f (m.py:1)", "backward of f" },
    };
    for (size_t i = 0; i < sizeof call / sizeof *call; i++)
        function_is(*state, frame_of(*state, call[i][0], true), call[i][1]);
    function_is(*state, frame_of(*state, "load (cache)", false), "load (cache)");
}

/* ---- pairs */

enum { RUNS = 3, OLDER = 2 };

static void add(struct mpr_pairs *pairs, size_t run, const char *const *path, size_t depth,
                int64_t bytes)
{
    mpr_pairs_run(pairs, run, "prog");
    mpr_pairs_add(pairs, path_of(pairs->arena, path, depth, true), bytes, false, 0);
}

static void lines_that_moved_are_matched(void **state)
{
    static const char *const before[] = { "step", "f (a.c:12)" }, *const after[] = { "step",
                                                                                     "f (a.c:15)" };
    struct mpr_pairs pairs;
    mpr_pairs_begin(&pairs, *state, RUNS, OLDER);
    add(&pairs, 0, before, 2, 10);
    add(&pairs, 1, before, 2, 11);
    add(&pairs, 2, after, 2, 20);
    assert_int_equal(pairs.pairs, 1);
    assert_string_equal(pairs.pair->path.frame[1]->text, "f (a.c:15)");
    assert_int_equal(pairs.pair->bytes[0], 10);
    assert_int_equal(pairs.pair->bytes[1], 11);
    assert_int_equal(pairs.pair->bytes[2], 20);
    mpr_pairs_free(&pairs);
}

/* If one function allocates at two places, the places cannot be matched. */
static void places_in_one_function_are_merged(void **state)
{
    static const char *const first[] = { "f (a.c:12)" }, *const second[] = { "f (a.c:40)" };
    struct mpr_pairs pairs;
    mpr_pairs_begin(&pairs, *state, RUNS, OLDER);
    add(&pairs, 0, first, 1, 1);
    add(&pairs, 2, first, 1, 2);
    add(&pairs, 2, second, 1, 30);
    add(&pairs, 2, second, 1, 400);
    assert_int_equal(pairs.pairs, 1);
    assert_string_equal(pairs.pair->path.frame[0]->text, "f (a.c)");
    assert_int_equal(pairs.pair->bytes[2], 432);
    mpr_pairs_free(&pairs);
}

/* The common frame is still a call. Only numbers in a module's path are grouped. */
static void a_function_without_its_line_is_still_a_call(void **state)
{
    static const char *const text[][2] = { { "conv_1 (net.py:3)", "conv_1 (net.py:4)" },
                                           { "f [layers.0] (t.py:3)", "f [layers.0] (t.py:4)" } };
    static const char *const numbered[] = { "", "layers.0" };
    for (size_t i = 0; i < 2; i++) {
        struct mpr_pairs pairs;
        mpr_pairs_begin(&pairs, *state, RUNS, OLDER);
        add(&pairs, 2, &text[i][0], 1, 1);
        add(&pairs, 2, &text[i][1], 1, 1);
        assert_int_equal(pairs.pairs, 1);
        assert_string_equal(mpr_frame_numbered(pairs.pair->path.frame[0]), numbered[i]);
        mpr_pairs_free(&pairs);
    }
}

/* Both belong to one function, but are different bytes. */
static void the_backward_pass_of_a_function_is_separate(void **state)
{
    static const char *const forward[] = { "f (t.py:3)" }, *const backward[] = {
        "backward of f (t.py:3)"
    };
    struct mpr_pairs pairs;
    mpr_pairs_begin(&pairs, *state, RUNS, OLDER);
    add(&pairs, 0, forward, 1, 1);
    add(&pairs, 0, backward, 1, 1);
    mpr_pairs_join(&pairs);
    assert_int_equal(pairs.pairs, 2);
    mpr_pairs_free(&pairs);
}

static void different_paths_are_not_matched(void **state)
{
    static const char *const paths[][2] = { { "f (a.c:1)", "g (a.c:2)" },
                                            { "g (a.c:2)", "f (a.c:1)" },
                                            { "f (b.c:1)", "g (a.c:2)" } };
    struct mpr_pairs pairs;
    mpr_pairs_begin(&pairs, *state, RUNS, OLDER);
    for (size_t i = 0; i < 3; i++) add(&pairs, i, paths[i], 2, 1);
    add(&pairs, 0, paths[0], 1, 1);
    add(&pairs, 0, paths[0], 0, 1);
    assert_int_equal(pairs.pairs, 5);
    mpr_pairs_free(&pairs);
}

/* ---- remaining lines: the last name of a path is the caller */

static void leave(struct mpr_pairs *pairs, struct mpr_arena *arena)
{
    mpr_pairs_begin(pairs, arena, 2, 1);
}

static void leftover(struct mpr_pairs *pairs, size_t run, const char *call, const char *caller,
                     int64_t bytes)
{
    add(pairs, run, (const char *const[]){ call, caller }, 2, bytes);
}

static const struct mpr_call_pair *pair_with(const struct mpr_pairs *pairs, const char *call,
                                             const char *caller)
{
    for (size_t i = 0; i < pairs->pairs; i++)
        if (strcmp(pairs->pair[i].path.frame[0]->text, call) == 0 &&
            strcmp(pairs->pair[i].path.frame[1]->text, caller) == 0)
            return &pairs->pair[i];
    return NULL;
}

static void has(const struct mpr_pairs *pairs, const char *call, const char *caller, int64_t base,
                int64_t now)
{
    const struct mpr_call_pair *pair = pair_with(pairs, call, caller);
    assert_non_null(pair);
    assert_int_equal(pair->bytes[0], base);
    assert_int_equal(pair->bytes[1], now);
}

static void a_renamed_file_is_matched(void **state)
{
    struct mpr_pairs pairs;
    leave(&pairs, *state);
    leftover(&pairs, 0, "f (a.c:12)", "main", 10);
    leftover(&pairs, 0, "g (a.c:30)", "main", 20);
    leftover(&pairs, 1, "g (b.c:31)", "start", 22);
    leftover(&pairs, 1, "f (b.c:13)", "main", 11);
    mpr_pairs_join(&pairs);
    assert_int_equal(pairs.pairs, 2);
    has(&pairs, "f (b.c:13)", "main", 10, 11);
    has(&pairs, "g (b.c:31)", "start", 20, 22);
    mpr_pairs_free(&pairs);
}

static void the_caller_decides_among_several_candidates(void **state)
{
    struct mpr_pairs pairs;
    leave(&pairs, *state);
    leftover(&pairs, 0, "f (a.c:12)", "left", 10);
    leftover(&pairs, 0, "f (a.c:12)", "right", 20);
    leftover(&pairs, 1, "f (b.c:13)", "right", 21);
    leftover(&pairs, 1, "f (b.c:13)", "other", 5);
    mpr_pairs_join(&pairs);
    assert_int_equal(pairs.pairs, 3);
    has(&pairs, "f (b.c:13)", "right", 20, 21);
    has(&pairs, "f (a.c:12)", "left", 10, 0);
    has(&pairs, "f (b.c:13)", "other", 0, 5);
    mpr_pairs_free(&pairs);
}

/* Two files have a function with the same name, so that of the third file cannot be matched. A
 * function without bytes also counts. */
static void ambiguous_lines_are_not_matched(void **state)
{
    struct mpr_pairs pairs;
    leave(&pairs, *state);
    leftover(&pairs, 0, "init (a.c:1)", "main", 10);
    leftover(&pairs, 0, "init (b.c:1)", "main", 20);
    leftover(&pairs, 1, "init (b.c:1)", "main", 20);
    leftover(&pairs, 1, "init (c.c:1)", "main", 9);
    leftover(&pairs, 0, "done (a.c:1)", "main", 4);
    leftover(&pairs, 0, "done (b.c:1)", "main", 0);
    leftover(&pairs, 1, "done (c.c:1)", "main", 4);
    leftover(&pairs, 0, "f (liba.so)", "main", 3);
    leftover(&pairs, 1, "f (libb.so)", "main", 3);
    mpr_pairs_join(&pairs);
    assert_int_equal(pairs.pairs, 8);
    has(&pairs, "init (a.c:1)", "main", 10, 0);
    has(&pairs, "init (c.c:1)", "main", 0, 9);
    has(&pairs, "init (b.c:1)", "main", 20, 20);
    mpr_pairs_free(&pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_and_versions_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(names_of_ranges_are_unchanged, begin, end),
        cmocka_unit_test_setup_teardown(only_compilers_of_native_code_add_to_names, begin, end),
        cmocka_unit_test_setup_teardown(the_program_itself_is_not_named, begin, end),
        cmocka_unit_test_setup_teardown(numbers_of_one_run_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(functions_are_compared_without_their_files, begin, end),
        cmocka_unit_test_setup_teardown(a_renamed_file_is_matched, begin, end),
        cmocka_unit_test_setup_teardown(the_caller_decides_among_several_candidates, begin, end),
        cmocka_unit_test_setup_teardown(ambiguous_lines_are_not_matched, begin, end),
        cmocka_unit_test_setup_teardown(lines_that_moved_are_matched, begin, end),
        cmocka_unit_test_setup_teardown(places_in_one_function_are_merged, begin, end),
        cmocka_unit_test_setup_teardown(a_function_without_its_line_is_still_a_call, begin, end),
        cmocka_unit_test_setup_teardown(the_backward_pass_of_a_function_is_separate, begin, end),
        cmocka_unit_test_setup_teardown(different_paths_are_not_matched, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
