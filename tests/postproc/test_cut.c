/* Paths in a column are cut in their middle, stay different, and are as wide as a terminal shows
 * them. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame_text.h"
#include "text.h"
#include "utf8.h"

enum { MOST = 40 };

static int in_utf8(void **state)
{
    (void)state;
    return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

static struct mpr_arena arena;

static int free_arena(void **state)
{
    (void)state;
    mpr_arena_free(&arena);
    return 0;
}

/* Makes a path from "step > f (t.py:3)". A name without a source is a range. */
static struct mpr_value path_as(const char *text, const char *caller)
{
    const struct mpr_frame **frame = mpr_arena_alloc(&arena, 8 * sizeof *frame);
    size_t depth = 0;
    for (const char *end; text; text = end ? end + strlen(" > ") : NULL) {
        end = strstr(text, " > ");
        const int bytes = (int)(end ? (size_t)(end - text) : strlen(text));
        frame[depth++] = frame_of(&arena, mpr_arena_format(&arena, "%.*s", bytes, text), false);
    }
    return (struct mpr_value){ .type = MPR_PATH, .path = { frame, depth }, .caller = caller };
}

static struct mpr_value path(const char *text) { return path_as(text, ""); }

static const char *whole(const struct mpr_value *source)
{
    return mpr_frame_path_text(&arena, source->path);
}

static void cut_to(const struct mpr_value *source, size_t width, const char *expected)
{
    char **cut = mpr_cut_paths(source, 1, width);
    assert_string_equal(*cut, expected);
    free(*cut);
    free(cut);
}

static void cuts(const char *text, size_t width, const char *expected)
{
    const struct mpr_value source = path(text);
    cut_to(&source, width, expected);
}

static void widths_are_those_of_a_terminal(void **state)
{
    (void)state;
    assert_int_equal(mpr_utf8_columns("layer"), 5);
    assert_int_equal(mpr_utf8_columns("\u5c64"), 2);       /* CJK */
    assert_int_equal(mpr_utf8_columns("\uac00\uff21"), 4); /* Hangul, a wide A */
    assert_int_equal(mpr_utf8_columns("e\u0301"), 1);      /* e and an acute accent */
    assert_int_equal(mpr_utf8_columns("\u00e9…"), 2);
}

static size_t escaped(uint32_t code) { return code < 0x80 ? 1 : strlen("\\u{00}"); }

/* In ASCII output a byte that is not UTF-8 is written as \xff, even if a character has this
 * number. */
static void an_invalid_byte_has_the_width_of_its_escape(void **state)
{
    (void)state;
    assert_int_equal(mpr_utf8_columns("a\xff"), 2);
    mpr_utf8_set_width(escaped);
    assert_int_equal(mpr_utf8_columns("a\xff"), 5);
    assert_int_equal(mpr_utf8_columns("a\u00ff"), 7);
    mpr_utf8_set_width(NULL);
}

/* Folders are removed from the longest word first, from the first of equally long words, and only
 * as many as necessary. */
static void folders_in_a_command_are_cut_before_its_words(void **state)
{
    const struct mpr_value command = {
        .type = MPR_TEXT,
        .text = "python3 /home/me/job/train.py --data=/data/long/folder/of/a/set --to /var/x/out",
        .caller = "",
        .lead = strlen("python3")
    };
    static const struct {
        size_t width;
        const char *text;
    } as[] = {
        { 62, "python3 /home/me/job/train.py --data=…/set --to /var/x/out" },
        { 48, "python3 …/train.py --data=…/set --to /var/x/out" },
        { 43, "python3 …/train.py --data=…/set --to …/out" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof as / sizeof *as; i++) cut_to(&command, as[i].width, as[i].text);
}

static void the_middle_is_cut(void **state)
{
    (void)state;
    cuts("forward", 7, "forward");
    cuts("a_long_function (file.c:12)", 20, "a_long_… (file.c:12)");
    cuts("step > forward > layer > torch:MulBackward0", 36, "step > forward… > torch:MulBackward0");
    cuts("step > forward > torch:AddmmBackward0", 24, "… > torch:AddmmBackward0");
    cuts("step > forward > torch:AddmmBackward0", 20, "step…:AddmmBackward0");
    cuts("\u5c64\u5c64\u5c64\u5c64\u5c64\u5c64\u5c64\u5c64\u5c64\u5c64", 16,
         "\u5c64\u5c64…\u5c64\u5c64\u5c64\u5c64\u5c64"); /* no half characters */
    /* Marks stay with their letter. */
    cuts("aaaaaaaaaaaaaaaae\u0301\u0301bbbbbbb", 13, "aaaa…e\u0301\u0301bbbbbbb");
}

static size_t pieces_left_out(const char *text)
{
    size_t count = 0;
    while ((text = strstr(text, "…"))) text += strlen("…"), count++;
    return count;
}

/* Cuts all paths, and checks that they fit and that they stay different. */
static void check(const struct mpr_value *path, size_t paths, size_t width,
                  const char *const *expected)
{
    char **text = mpr_cut_paths(path, paths, width);
    for (size_t i = 0; i < paths; i++) {
        if (width) assert_true(mpr_utf8_columns(text[i]) <= width);
        assert_true(pieces_left_out(text[i]) <= 1);
        for (size_t k = 0; k < i; k++) assert_string_not_equal(text[i], text[k]);
        if (expected) assert_string_equal(text[i], expected[i]);
    }
    for (size_t i = 0; i < paths; i++) free(text[i]);
    free(text);
}

static void callers_that_differ_are_shown(void **state)
{
    (void)state;
    const struct mpr_value alike[] = {
        path_as("make_buffer (pool.c:40)", "read_the_whole_configuration"),
        path_as("make_buffer (pool.c:40)", "read_the_whole_of_another_request"),
    };
    check(alike, 2, 40,
          (const char *const[]){ "read_the_whole_c…make_buffer (pool.c:40)",
                                 "read_the_whole_o…make_buffer (pool.c:40)" });
}

/* Grouped numbers, the place and the method are kept. At most one piece is left out. */
static void distinguishing_parts_are_not_cut(void **state)
{
    (void)state;
    cuts("warm up > capture bs={1..512} > layer {0..15}", 36,
         "warm up > …={1..512} > layer {0..15}");
    cuts("[model.layers.{0..15}.mlp.up_proj] generate (generate.py:25)", 40,
         "…s.{0..15}.mlp.up_proj] (generate.py:25)");
    cuts("LlamaForCausalLM.forward (modeling.py:7)", 30, "Llam…M.forward (modeling.py:7)");
}

static void a_place_is_cut_before_the_function_that_it_called(void **state)
{
    (void)state;
    const struct mpr_value some[] = {
        path("[model.layers.{0..15}.mlp.up_proj] <module> (gen.py:7) > LlamaForCausalLM.cuda"),
        path("[model.layers.{0..15}.mlp.up_proj] <module> (gen.py:9) > LlamaForCausalLM.cuda"),
        path("a (gen.py:9) > Linear.reset_parameters"),
        path("a (gen.py:9) > Embedding.reset_parameters"),
    };
    check(some, 4, 45,
          (const char *const[]){ "[model.layers.{0..15}.mlp.up_proj] (gen.py:7)",
                                 "[model.layers.{0..15}.mlp.up_proj] (gen.py:9)",
                                 "a (gen.py:9) > Linear.reset_parameters",
                                 "a (gen.py:9) > Embedding.reset_parameters" });
    check(some, 2, 36,
          (const char *const[]){ "[mod…{0..15}.mlp.up_proj] (gen.py:7)",
                                 "[mod…{0..15}.mlp.up_proj] (gen.py:9)" });
    check(some + 2, 2, 24, NULL);
}

/* The names of classes are removed before the function, but not template arguments. */
static void a_function_is_kept_without_its_classes(void **state)
{
    (void)state;
    const struct mpr_value some[] = {
        path_as("app::Server::make_session (leak.cpp:23)", "app::Server::handle"),
        path("app::Cache<std::string, app::Row>::get (leak.cpp:9)"),
        path("app::Map::operator[] (leak.cpp:14)"),
        path_as("main (leak.cpp:40)", "app::start"),
    };
    check(some, 4, 60,
          (const char *const[]){ "app::Server::make_session (leak.cpp:23)", whole(&some[1]),
                                 whole(&some[2]), "app::start > main (leak.cpp:40)" });
    check(some, 4, 28,
          (const char *const[]){ "make_session (leak.cpp:23)", "get (leak.cpp:9)",
                                 "app::Map::o…[] (leak.cpp:14)", "main (leak.cpp:40)" });
    const struct mpr_value alike[] = { path("app::reader::read (io.cpp:9)"),
                                       path("app::writer::read (io.cpp:9)") };
    check(alike, 2, 20, NULL);
}

/* The module and the line of code are kept. The function between them is removed first, then the
 * beginning. */
static void the_end_of_a_module_path_is_kept(void **state)
{
    (void)state;
    const struct mpr_value some[] = {
        path("[model.layers.{0..15}.mlp.up_proj] generate (generate.py:25)"),
        path("[model.layers.3.mlp.up_proj] generate (generate.py:25)"),
        path("[model.embed_tokens] generate (generate.py:25)"),
    };
    check(some, 3, 60, (const char *const[]){ whole(&some[0]), whole(&some[1]), whole(&some[2]) });
    check(some, 3, 44,
          (const char *const[]){ "[mod…s.{0..15}.mlp.up_proj] (generate.py:25)",
                                 "[mod….layers.3.mlp.up_proj] (generate.py:25)",
                                 "[model.embed_tokens] (generate.py:25)" });
    check(some, 1, 36, (const char *const[]){ "[mode….mlp.up_proj] (generate.py:25)" });
}

static void lines_that_would_look_alike_are_cut_at_another_place(void **state)
{
    (void)state;
    const struct mpr_value some[] = {
        path(
            "main > a_long_name_of_a_function_that_reads > jq_next > jv_mem_alloc (libjq.so.1.0.4)"),
        path(
            "main > a_long_name_of_a_function_that_reads > jv_sort > jv_mem_alloc (libjq.so.1.0.4)"),
        path(
            "main > a_long_name_of_a_function_that_writes > jv_sort > jv_mem_alloc (libjq.so.1.0.4)"),
        path("short"),
    };
    check(some, 4, 40, NULL);
    check(some, 4, 24, NULL);
    check(some, 4, 0,
          (const char *const[]){ whole(&some[0]), whole(&some[1]), whole(&some[2]), "short" });
}

static void a_layer_is_kept_at_the_start(void **state)
{
    (void)state;
    cuts("main (t.py:1) > Linear._apply [0] (module.py:965) > cuda.<lambda> (module.py:1097)", 40,
         "[0] main… cuda.<lambda> (module.py:1097)");
}

static void the_start_of_a_path_is_kept_if_there_is_room(void **state)
{
    (void)state;
    const struct mpr_value command = {
        .type = MPR_TEXT,
        .text = "    python3 -m vllm serve /data/llama --port 8000 --max-model-len 32768",
        .caller = "",
        .lead = 11
    };
    cut_to(&command, 33, "    python3 -m vllm serve …/llam…");
    char **text = mpr_cut_paths(&command, 1, 16);
    assert_null(strstr(text[0], "python3"));
    free(text[0]);
    free(text);
}

static void callers_are_cut_first_unless_they_differ(void **state)
{
    (void)state;
    const struct mpr_value roomy[] = { path_as("build_index (srv.cpp:19)", "main"),
                                       path("load (srv.cpp:7)") };
    check(roomy, 2, 40,
          (const char *const[]){ "main > build_index (srv.cpp:19)", "load (srv.cpp:7)" });
    check(roomy, 2, 28, (const char *const[]){ "build_index (srv.cpp:19)", "load (srv.cpp:7)" });
    const struct mpr_value alike[] = { path_as("build_index (srv.cpp:19)", "main"),
                                       path_as("build_index (srv.cpp:19)", "reload") };
    check(alike, 2, 28, NULL);
}

/* A hundred paths that each differ at another place, with too few columns to show it. */
static void any_number_of_similar_paths_is_distinguished(void **state)
{
    (void)state;
    char name[MOST][200];
    struct mpr_value some[MOST];
    for (int i = 0; i < MOST; i++) {
        memset(name[i], 'x', 160);
        name[i][160] = 0;
        name[i][10 + i % 8 * 18] = (char)('a' + i / 8);
        some[i] = path(name[i]);
    }
    check(some, MOST, 30, NULL);
    check(some, MOST, 20, NULL);
}

static void paths_without_frames_are_not_cut(void **state)
{
    (void)state;
    free(mpr_cut_paths(NULL, 0, 40));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_those_of_a_terminal),
        cmocka_unit_test(an_invalid_byte_has_the_width_of_its_escape),
        cmocka_unit_test(folders_in_a_command_are_cut_before_its_words),
        cmocka_unit_test(the_middle_is_cut),
        cmocka_unit_test(callers_that_differ_are_shown),
        cmocka_unit_test(distinguishing_parts_are_not_cut),
        cmocka_unit_test(a_place_is_cut_before_the_function_that_it_called),
        cmocka_unit_test(a_function_is_kept_without_its_classes),
        cmocka_unit_test(the_end_of_a_module_path_is_kept),
        cmocka_unit_test(lines_that_would_look_alike_are_cut_at_another_place),
        cmocka_unit_test(a_layer_is_kept_at_the_start),
        cmocka_unit_test(the_start_of_a_path_is_kept_if_there_is_room),
        cmocka_unit_test(callers_are_cut_first_unless_they_differ),
        cmocka_unit_test(any_number_of_similar_paths_is_distinguished),
        cmocka_unit_test(paths_without_frames_are_not_cut),
    };
    return cmocka_run_group_tests(tests, in_utf8, free_arena);
}
