/* Numbers in names are grouped if they count things of one kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame_text.h"
#include "numbered_names.h"

/* Checks the text with # for each number, of a range's name or of the parts of a call that may have
 * numbers. */
static void becomes(const char *text_of_frame, const char *expected)
{
    struct mpr_arena arena = { 0 };
    struct mpr_name_number numbers[8];
    char text[200] = "";
    size_t at = 0;
    const struct mpr_frame *frame = frame_of(&arena, text_of_frame, false);
    const char *name = mpr_frame_numbered(frame);
    const size_t found = mpr_numbers_find(frame, numbers, 8);
    for (size_t i = 0; i < found; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s#",
                 (int)(numbers[i].from - at), name + at);
        assert_int_equal(numbers[i].number, strtoul(name + numbers[i].from, NULL, 10));
        at = numbers[i].to;
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s", name + at);
    assert_string_equal(text, expected);
    mpr_arena_free(&arena);
}

static void stays(const char *name) { becomes(name, name); }

/* Checks that the call has no number to group. */
static void has_none(const char *call) { becomes(call, ""); }

static void indices_of_modules_are_grouped(void **state)
{
    (void)state;
    becomes("layers.3", "layers.#");
    becomes("model.layers.12.mlp.up_proj", "model.layers.#.mlp.up_proj");
    becomes("features.0.1", "features.#.#");
    becomes("layer1.0.conv1", "layer1.#.conv1");
    becomes("h[3]", "h[#]");
    becomes("batch 131072", "batch #");
    becomes("step 3 of 20", "step # of 20");
    becomes("bs=8", "bs=#");
    becomes("capture bs=8, seq=128", "capture bs=#, seq=#");
    becomes("step:8", "step:#");
    becomes("stage_3", "stage_#");
    becomes("stage-3", "stage-#");
    becomes("rank#3", "rank##");
    becomes("7", "#");
    becomes("capture 3, pool 0:1", "capture #, pool 0:1");
    becomes("torch:FSDP::post_backward_reduce (layers.3)",
            "torch:FSDP::post_backward_reduce (layers.#)");
    becomes("FSDP::all_gather (model.layers.3.mlp)", "FSDP::all_gather (model.layers.#.mlp)");
}

static void a_module_is_grouped_by_its_index(void **state)
{
    (void)state;
    becomes("Linear.forward [layers.3.mlp] (linear.py:134)", "layers.#.mlp");
    becomes("[0] main (gold.py:3)", "#");
    becomes("[0.1] f2 (x.py:3)", "#.#");
}

static void numbers_that_are_names_are_not_grouped(void **state)
{
    (void)state;
    stays("torch:AddmmBackward0");
    stays("file.py:88");
    stays("conv2d");
    stays("float16");
    stays("pid 4242");
    stays("version 3");
    stays("python3.11");
    stays("libfoo.so.1.2");
    stays("libpython3.11.so.1.0");
    stays("torch 2.13");
    stays("numpy-1.26");
    stays("at 12:30:45");
    stays("2026-11-22");
    stays("lr=0.001");
    stays("pool 0:3");
    stays("epoch 01");
    stays("request 12345678901");
    stays("read 3rd");
}

static void calls_outside_of_modules_have_no_grouped_numbers(void **state)
{
    (void)state;
    has_none("torch::f (libtorch.so.3)");
    has_none("libjq.so.1.0.4+0x1bd87");
    has_none("0x7f001234");
    has_none("f (file.py:88)");
    has_none("stage_3 (a.c:10)");
    has_none("<listcomp> (<string>:3)");
    has_none("jv_mem_alloc (libjq.so.1.0.4)");
    has_none("A::operator[] (a.cpp:3)");
    has_none("to_string[abi:cxx11] (a.cpp:3)");
    has_none("f<int[3]> (a.cpp:3)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_of_modules_are_grouped),
        cmocka_unit_test(a_module_is_grouped_by_its_index),
        cmocka_unit_test(numbers_that_are_names_are_not_grouped),
        cmocka_unit_test(calls_outside_of_modules_have_no_grouped_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
