/* Rows are grouped into lines that keep the sums, and no two lines look alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame_text.h"
#include "naming.h"

enum { ROWS = 500 };

static uint64_t state = 88172645463325252u;

static uint32_t random_below(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

static const char *name(struct mpr_arena *arena)
{
    static const char *const format[] = { "layer %u",
                                          "layers.%u.mlp",
                                          "bs=%u",
                                          "f (a.py:%u)",
                                          "malloc (libc.so.%u)",
                                          "<module> (a.py:%u)",
                                          "Linear.forward [h.%u] (linear.py:134)",
                                          "_find_and_load (<frozen importlib._bootstrap>:%u)",
                                          "libx.so+0x%u",
                                          "void g<std::vector<int>, %u>::h (x.cpp:1)",
                                          "\1%u",
                                          "" };
    char text[100];
    /* The formats are those above. NOLINTNEXTLINE */
    snprintf(text, sizeof text, format[random_below(sizeof format / sizeof *format)],
             random_below(6));
    return mpr_arena_text(arena, text);
}

static struct mpr_row random_row(struct mpr_arena *arena)
{
    struct mpr_row r = { .path.depth = random_below(5),
                         .bytes = random_below(4) ? random_below(1000000) : 0,
                         .blocks = random_below(10),
                         .allocations = random_below(100),
                         .inherited = random_below(2) };
    const struct mpr_frame **path = mpr_arena_alloc(arena, (r.path.depth + 1) * sizeof *path);
    for (size_t i = 0; i < r.path.depth; i++)
        path[i] = frame_of(arena, name(arena), random_below(2));
    r.path.frame = path;
    r.own_peak = r.bytes + random_below(1000);
    return r;
}

static void add(struct mpr_row *sum, const struct mpr_row *r)
{
    sum->bytes += r->bytes;
    sum->blocks += r->blocks;
    sum->allocations += r->allocations;
    sum->inherited += r->inherited;
}

static bool look_alike(const struct mpr_line *a, const struct mpr_line *b)
{
    if (a->row.path.depth != b->row.path.depth || strcmp(a->caller, b->caller) != 0) return false;
    return mpr_row_by_path(&a->row, &b->row) == 0;
}

static void check(struct mpr_arena *arena, const struct mpr_naming *naming, enum mpr_group by)
{
    struct mpr_row rows[ROWS], before = { 0 }, after = { 0 };
    size_t lines, live, stand_for = 0;
    uint64_t own_peaks = 0, sum_of_own_peaks = 0;
    for (size_t i = 0; i < ROWS; i++) {
        rows[i] = random_row(arena);
        add(&before, &rows[i]);
        own_peaks += rows[i].own_peak;
    }
    const struct mpr_line *line = mpr_naming_lines(arena, naming, by, rows, ROWS, &lines, &live);
    for (size_t i = 0; i < lines; i++) {
        add(&after, &line[i].row);
        stand_for += line[i].rows;
        sum_of_own_peaks += line[i].own_peaks;
        assert_true(i >= live || line[i].row.bytes);
        assert_true(line[i].row.own_peak >= line[i].row.bytes &&
                    line[i].row.own_peak <= line[i].own_peaks);
        for (size_t k = 0; k < i && i < live; k++) assert_false(look_alike(&line[i], &line[k]));
    }
    assert_int_equal(stand_for, ROWS);
    assert_int_equal(sum_of_own_peaks, own_peaks);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.blocks, before.blocks);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(after.inherited, before.inherited);
}

static void sums_are_kept_and_no_two_lines_look_alike(void **unused)
{
    (void)unused;
    struct mpr_arena arena = { 0 };
    struct mpr_user_frames *user_frames = mpr_user_frames_new();
    for (int i = 0; i < 40; i++) {
        const struct mpr_naming naming = { i & 1 ? user_frames : NULL, (i & 2) != 0 };
        check(&arena, &naming, MPR_GROUP_AUTO);
        check(&arena, &naming, MPR_GROUP_STACK);
        check(&arena, &naming, MPR_GROUP_PYTHON);
        check(&arena, &naming, MPR_GROUP_THREAD);
    }
    mpr_user_frames_free(user_frames);
    mpr_arena_free(&arena);
}

static void all_rows_are_shown_if_no_row_has_bytes(void **unused)
{
    (void)unused;
    struct mpr_arena arena = { 0 };
    const struct mpr_path two = path_of(&arena, (const char *const[]){ "a", "b" }, 2, false),
                          one = { two.frame, 1 };
    const struct mpr_row rows[] = { { .path = one, .own_peak = 5 },
                                    { .path = two, .own_peak = 6 } };
    size_t lines, live;
    const struct mpr_line *line = mpr_naming_lines(&arena, &(struct mpr_naming){ NULL, false },
                                                   MPR_GROUP_RANGE, rows, 2, &lines, &live);
    assert_int_equal(lines, 2);
    assert_int_equal(live, 2);
    assert_int_equal(line[0].row.own_peak, 6);
    mpr_naming_lines(&arena, &(struct mpr_naming){ NULL, false }, MPR_GROUP_RANGE, NULL, 0, &lines,
                     &live);
    assert_int_equal(lines, 0);
    mpr_arena_free(&arena);
}

/* At the peak its line has those bytes, and all allocations with that text. */
static void a_row_without_bytes_is_in_its_line(void **unused)
{
    (void)unused;
    struct mpr_arena arena = { 0 };
    const struct mpr_path path = path_of(&arena, (const char *const[]){ "a" }, 1, false);
    const struct mpr_row rows[] = {
        { .path = path, .own_peak = 9, .allocations = 5 },
        { .path = path, .bytes = 8, .blocks = 1, .own_peak = 8, .allocations = 1 }
    };
    size_t lines, live;
    const struct mpr_line *line = mpr_naming_lines(&arena, &(struct mpr_naming){ NULL, false },
                                                   MPR_GROUP_RANGE, rows, 2, &lines, &live);
    assert_int_equal(lines, 1);
    assert_int_equal(live, 1);
    assert_int_equal(line[0].row.bytes, 8);
    assert_int_equal(line[0].row.allocations, 6);
    assert_int_equal(line[0].own_peaks, 17);
    mpr_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sums_are_kept_and_no_two_lines_look_alike),
                                        cmocka_unit_test(all_rows_are_shown_if_no_row_has_bytes),
                                        cmocka_unit_test(a_row_without_bytes_is_in_its_line) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
