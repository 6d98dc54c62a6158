/* Frames have readable texts and are grouped by their fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame.h"

static struct mpr_arena arena;

static int free_arena(void **state)
{
    (void)state;
    mpr_arena_free(&arena);
    return 0;
}

static void reads(struct mpr_frame fields, const char *text)
{
    assert_string_equal(mpr_frame_new(&arena, fields)->text, text);
}

static void the_text_has_the_known_parts(void **state)
{
    (void)state;
    const struct mpr_frame call = {
        .kind = MPR_FRAME_PYTHON, .name = "f", .module = "layers.3", .file = "t.py", .line = 3
    };
    struct mpr_frame first = call, backward = call, anywhere = call;
    first.module_first = backward.is_backward = true;
    anywhere.line = MPR_ANY_LINE;
    reads(call, "f [layers.3] (t.py:3)");
    reads(first, "[layers.3] f (t.py:3)");
    reads(backward, "backward of f [layers.3] (t.py:3)");
    reads(anywhere, "f [layers.3] (t.py)");
    reads((struct mpr_frame){ .kind = MPR_FRAME_NATIVE, .name = "f", .object = "libfoo.so" },
          "f (libfoo.so)");
    reads((struct mpr_frame){ .kind = MPR_FRAME_NATIVE, .name = "f" }, "f");
    reads((struct mpr_frame){ .kind = MPR_FRAME_LABEL, .name = "NCCL", .text = "NCCL 0x1" },
          "NCCL 0x1");
    reads((struct mpr_frame){ .kind = MPR_FRAME_RANGE }, "");
}

/* Another text gives another name only if the name is the whole text. */
static void numbers_are_replaced_if_they_are_counted(void **state)
{
    (void)state;
    const struct mpr_frame *range = mpr_frame_named(&arena, MPR_FRAME_RANGE, "step 3"),
                           *thread = mpr_frame_new(&arena, (struct mpr_frame){ .text = "worker (7)",
                                                                               .name = "worker" }),
                           *call =
                               mpr_frame_new(&arena, (struct mpr_frame){ .kind = MPR_FRAME_PYTHON,
                                                                         .name = "conv_1",
                                                                         .module = "0",
                                                                         .file = "t.py",
                                                                         .line = 3 });
    assert_string_equal(mpr_frame_renumbered(&arena, range, "step *")->name, "step *");
    assert_string_equal(mpr_frame_renumbered(&arena, thread, "worker (*)")->name, "worker");
    assert_string_equal(mpr_frame_numbered(call), "0");
    assert_string_equal(mpr_frame_renumbered(&arena, call, "*")->text, "conv_1 [*] (t.py:3)");
}

/* Tables of frames outlive the frames' arena, and other frames may get the same addresses. */
static void ids_of_removed_frames_are_not_reused(void **state)
{
    (void)state;
    struct mpr_arena first = { 0 }, second = { 0 };
    const uint64_t gone = mpr_frame_named(&first, MPR_FRAME_LABEL, "a")->id;
    mpr_arena_free(&first);
    assert_true(mpr_frame_named(&second, MPR_FRAME_LABEL, "b")->id != gone);
    mpr_arena_free(&second);
}

static void a_frame_of_many_paths_is_copied_once(void **state)
{
    (void)state;
    struct mpr_arena from = { 0 };
    const char *const name[] = { "a", "b" };
    const struct mpr_path path = mpr_frame_labels(&from, name, 2);
    struct mpr_frame_copies copies = { .arena = &arena };
    const struct mpr_path whole = mpr_frame_copy_path(&copies, path),
                          part = mpr_frame_copy_path(&copies, (struct mpr_path){ path.frame, 1 });
    mpr_frame_copies_free(&copies);
    mpr_arena_free(&from);
    assert_ptr_equal(whole.frame[0], part.frame[0]);
    assert_string_equal(mpr_frame_path_text(&arena, whole), "a > b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_has_the_known_parts),
        cmocka_unit_test(numbers_are_replaced_if_they_are_counted),
        cmocka_unit_test(ids_of_removed_frames_are_not_reused),
        cmocka_unit_test(a_frame_of_many_paths_is_copied_once),
    };
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
