/* Lines whose paths differ in a number are grouped, and nothing is lost. */
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

enum { MOST = 400, MIB = 1 << 20 };

struct fixture {
    struct mpr_arena arena;
    struct mpr_line line[MOST];
    size_t lines, live;
};

static int begin(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return *state ? 0 : -1;
}

static int end(void **state)
{
    struct fixture *f = *state;
    mpr_arena_free(&f->arena);
    free(f);
    return 0;
}

/* A path with names separated by " > ". */
static void add(struct fixture *f, const char *path, uint64_t bytes)
{
    char *text = (char *)mpr_arena_text(&f->arena, path), *rest = text, *name;
    const struct mpr_frame **names = mpr_arena_alloc(&f->arena, 8 * sizeof *names);
    struct mpr_row row = {
        .path = { names, 0 }, .bytes = bytes, .blocks = 1, .own_peak = bytes + 1, .allocations = 2
    };
    while ((name = strsep(&rest, ">"))) {
        if (rest) name[strlen(name) - 1] = 0;
        names[row.path.depth++] = frame_of(&f->arena, name, false);
        if (!rest) break;
        rest++;
    }
    f->line[f->lines++] = mpr_line_of(&row);
}

static void add_numbered(struct fixture *f, const char *format, int number, uint64_t bytes)
{
    char path[100];
    snprintf(path, sizeof path, format, number);
    add(f, path, bytes);
}

static void group_lines(struct fixture *f)
{
    struct mpr_row before = { 0 }, after = { 0 };
    size_t rows = 0;
    for (size_t i = 0; i < f->lines; i++)
        before.bytes += f->line[i].row.bytes, before.allocations += f->line[i].row.allocations;
    f->live = mpr_lines_group(&f->arena, f->line, f->lines);
    for (size_t i = 0; i < f->live; i++) {
        after.bytes += f->line[i].row.bytes;
        after.allocations += f->line[i].row.allocations;
        rows += f->line[i].rows;
    }
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(rows, f->lines);
}

static const struct mpr_line *line_of(const struct fixture *f, const char *path)
{
    for (size_t i = 0; i < f->live; i++) {
        char text[300] = "";
        for (size_t k = 0; k < f->line[i].row.path.depth; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k ? " > " : "",
                     f->line[i].row.path.frame[k]->text);
        if (strcmp(text, path) == 0) return &f->line[i];
    }
    for (size_t i = 0; i < f->live; i++)
        print_message("there is: %s\n",
                      f->line[i].row.path.frame[f->line[i].row.path.depth - 1]->text);
    fail_msg("no line %s", path);
    return NULL;
}

static void sets_of_numbers_are_abbreviated(void **state)
{
    struct fixture *f = *state;
    static const uint64_t all[] = { 0, 1, 2, 3 }, some[] = { 0, 2, 5 },
                          several[] = { 0, 1, 2, 3, 4, 31 }, pair[] = { 3, 4, 7 };
    static const uint64_t many[] = { 1, 2, 4, 8, 16, 32, 64, 128 };
    assert_string_equal(mpr_number_set(&f->arena, all, 4), "{0..3}");
    assert_string_equal(mpr_number_set(&f->arena, some, 3), "{0,2,5}");
    assert_string_equal(mpr_number_set(&f->arena, several, 6), "{0..4, 31}");
    assert_string_equal(mpr_number_set(&f->arena, pair, 3), "{3,4,7}");
    assert_string_equal(mpr_number_set(&f->arena, many, 8), "{1..128, 8 of them}");
}

static void lines_that_differ_in_one_number_are_grouped(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 16; i++) add_numbered(f, "model > layers.%d.mlp", i, 22 * MIB);
    add(f, "model", 5);
    group_lines(f);
    const struct mpr_line *line = line_of(f, "model > layers.{0..15}.mlp");
    assert_int_equal(f->live, 2);
    assert_int_equal(line->row.bytes, 352 * MIB);
    assert_int_equal(line->row.blocks, 16);
    assert_int_equal(line->rows, 16);
    assert_int_equal(line->row.own_peak, 352 * MIB); /* at least the bytes that existed at once, */
    assert_int_equal(line->own_peaks, 352 * MIB + 16); /* at most the sum */
    assert_int_equal(line->sibling_most, 0);
}

static void two_similar_lines_are_grouped(void **state)
{
    struct fixture *f = *state;
    add(f, "layers.0", 2 * MIB);
    add(f, "layers.1", 4 * MIB);
    add(f, "capture 64", 1);
    add(f, "capture 256", 3);
    group_lines(f);
    assert_int_equal(f->live, 3);
    assert_int_equal(line_of(f, "layers.{0,1}")->row.bytes, 6 * MIB);
    line_of(f, "capture 64");
    assert_int_equal(line_of(f, "capture 256")->sibling_most, 0); /* it is next to it, not in it */
}

static void an_outlier_has_its_own_line(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 8; i++) add_numbered(f, "layers.%d", i, i == 5 ? 1700 : 256 + (uint64_t)i);
    group_lines(f);
    assert_int_equal(f->live, 2);
    const struct mpr_line *large = line_of(f, "layers.5");
    assert_int_equal(large->row.bytes, 1700);
    assert_int_equal(large->sibling_least, 256);
    assert_int_equal(large->sibling_most, 263);
    assert_int_equal(line_of(f, "layers.{0..4, 6, 7}")->rows, 7);
}

static void one_of_three_lines_may_be_an_outlier(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++) add_numbered(f, "layers.%d", i, i == 1 ? 1700 : 256);
    for (int i = 0; i < 3; i++) add_numbered(f, "heads.%d", i, i == 1 ? 500 : 256);
    group_lines(f);
    assert_int_equal(f->live, 3);
    assert_int_equal(line_of(f, "layers.1")->sibling_most, 256);
    assert_int_equal(line_of(f, "layers.{0,2}")->rows, 2);
    assert_int_equal(line_of(f, "heads.{0..2}")->row.bytes, 1012);
}

static void many_outliers_are_one_line(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 12; i++) add_numbered(f, "layers.%d", i, i % 4 ? 10 : 100);
    group_lines(f);
    assert_int_equal(f->live, 2);
    assert_int_equal(line_of(f, "layers.{0,4,8}")->row.bytes, 300);
    assert_int_equal(line_of(f, "layers.{0,4,8}")->sibling_most, 10);
}

static void a_repeated_number_is_one_number(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 4; i++) {
        char path[100];
        snprintf(path, sizeof path, "layer %d > [layers.%d.mlp] f (x.py:3)", i, i);
        add(f, path, 7);
    }
    group_lines(f);
    line_of(f, "layer {0..3} > [layers.{same}.mlp] f (x.py:3)");
    assert_int_equal(f->live, 1);
}

static void two_numbers_are_grouped_if_every_pair_exists(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 16; k++) {
            char path[100];
            snprintf(path, sizeof path, "step %d > layer %d", i, k);
            add(f, path, 7);
        }
    group_lines(f);
    assert_int_equal(f->live, 1);
    assert_int_equal(line_of(f, "step {0..3} > layer {0..15}")->row.bytes, 448);
}

/* Each pair of two layers and two batches exists. Lines that vary only with the batch are shown
 * separately. */
static void the_number_without_outliers_is_grouped(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 4; i++) {
        char path[100];
        snprintf(path, sizeof path, "layer %d > batch %d", i / 2, i % 2);
        add(f, path, i % 2 ? 64 : 1);
    }
    group_lines(f);
    assert_int_equal(f->live, 2);
    line_of(f, "layer {0,1} > batch 0");
    assert_int_equal(line_of(f, "layer {0,1} > batch 1")->row.bytes, 128);
}

static void pairs_that_are_missing_are_not_made_up(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 16 - i; k++) {
            char path[100];
            snprintf(path, sizeof path, "step %d > layer %d", i, k);
            add(f, path, 7);
        }
    group_lines(f);
    assert_int_equal(f->live, 4);
    line_of(f, "step 0 > layer {0..15}");
    line_of(f, "step 3 > layer {0..12}");
}

/* They would be shown with the same text: "{0..20, 8 of them}". */
static void sets_with_equal_ends_are_not_merged(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 4; i++) {
        char path[100];
        for (int k = 0; k < 8; k++) {
            snprintf(path, sizeof path, "step %d > layer %d", i,
                     k == 7 ? 20 : 2 * k + (k && i == 3));
            add(f, path, 7);
        }
    }
    group_lines(f);
    assert_int_equal(f->live, 2);
    line_of(f, "step {0..2} > layer {0..20, 8 of them}");
    line_of(f, "step 3 > layer {0..20, 8 of them}");
}

static void the_number_that_leaves_fewest_lines_is_grouped(void **state)
{
    struct fixture *f = *state;
    for (int k = 0; k < 8; k++) add_numbered(f, "capture > batch 131072 > layer %d", k, 7);
    add(f, "capture > batch 65536 > layer 0", 7);
    group_lines(f);
    assert_int_equal(f->live, 2);
    line_of(f, "capture > batch 131072 > layer {0..7}");
    line_of(f, "capture > batch 65536 > layer 0");
}

static void of_three_numbers_one_is_not_grouped(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 27; i++) {
        char path[100];
        snprintf(path, sizeof path, "a %d > b %d > c %d", i / 9, i / 3 % 3, i % 3);
        add(f, path, 7);
    }
    group_lines(f);
    assert_int_equal(f->live, 3);
    line_of(f, "a 1 > b {0..2} > c {0..2}");
}

static void other_paths_are_not_merged(void **state)
{
    struct fixture *f = *state;
    add(f, "a > layer 0", 1);
    add(f, "b > layer 1", 1);
    add(f, "a > layer 2 > x", 1);
    add(f, "f (a.py:1)", 1);
    add(f, "f (a.py:2)", 1);
    add(f, "f (a.py:3)", 1);
    group_lines(f);
    assert_int_equal(f->live, 6);
}

/* Names may have any bytes, including those that mark the place of a number. */
static void names_of_any_bytes_are_grouped(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 4; i++) add_numbered(f, "a\1 > b\2 %d", i, 7);
    for (int i = 0; i < 4; i++) add_numbered(f, "a\1%d\2", i, 7);
    for (int i = 0; i < 4; i++) add_numbered(f, "a %d\2", i, 7);
    group_lines(f);
    assert_int_equal(f->live, 12);
}

static void lines_are_ordered_by_size(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++) add_numbered(f, "small %d", i, 10);
    for (int i = 0; i < 3; i++) add_numbered(f, "tall %d", i, 20);
    add(f, "one", 50);
    group_lines(f);
    assert_string_equal(f->line[0].row.path.frame[0]->text, "tall {0..2}");
    assert_string_equal(f->line[1].row.path.frame[0]->text, "one");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(sets_of_numbers_are_abbreviated),
        TEST(lines_that_differ_in_one_number_are_grouped),
        TEST(two_similar_lines_are_grouped),
        TEST(an_outlier_has_its_own_line),
        TEST(one_of_three_lines_may_be_an_outlier),
        TEST(many_outliers_are_one_line),
        TEST(a_repeated_number_is_one_number),
        TEST(two_numbers_are_grouped_if_every_pair_exists),
        TEST(the_number_without_outliers_is_grouped),
        TEST(pairs_that_are_missing_are_not_made_up),
        TEST(sets_with_equal_ends_are_not_merged),
        TEST(the_number_that_leaves_fewest_lines_is_grouped),
        TEST(of_three_numbers_one_is_not_grouped),
        TEST(other_paths_are_not_merged),
        TEST(names_of_any_bytes_are_grouped),
        TEST(lines_are_ordered_by_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
