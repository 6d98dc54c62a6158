/* Modules are compared by all memory below them, whatever the number of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "frame_text.h"
#include "module_outliers.h"

enum { MOST = 100, MIB = 1 << 20 };

struct fixture {
    struct mpr_arena arena;
    struct mpr_row row[MOST];
    size_t rows, found;
    const struct mpr_module_outlier *tree;
    uint64_t whole;
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

/* Adds a block of `mib` MiB allocated in a method of the module, below a range. */
static void add(struct fixture *f, const char *method, const char *module, uint64_t mib)
{
    const char *const path[] = { "step",
                                 mpr_arena_format(&f->arena, "%s [%s] (t.py:7)", method, module),
                                 "gelu (torch/nn/functional.py:9)" };
    f->row[f->rows++] = (struct mpr_row){ .path = path_of(&f->arena, path, 3, false),
                                          .bytes = mib * MIB,
                                          .blocks = 1 };
    f->whole += mib * MIB;
}

static void layers(struct fixture *f, int count, const char *format, uint64_t mib)
{
    for (int i = 0; i < count; i++) {
        char module[40];
        snprintf(module, sizeof module, format, i);
        add(f, "Block.forward", module, mib);
    }
}

static void find(struct fixture *f)
{
    f->tree = mpr_module_outliers(&f->arena, f->row, f->rows, f->whole, &f->found);
}

static void all_memory_below_a_module_is_one_sum(void **state)
{
    struct fixture *f = *state;
    layers(f, 6, "layers.%d.up", 128);
    layers(f, 6, "layers.%d", 64);
    add(f, "Block.forward", "layers.5.attn.0", 100);
    add(f, "Block.forward", "layers.5.attn.1", 100);
    find(f);
    assert_int_equal(f->found, 1);
    assert_string_equal(f->tree->module, "layers.5");
    assert_int_equal(f->tree->bytes, 392 * (uint64_t)MIB);
    assert_int_equal(f->tree->blocks, 4);
    assert_int_equal(f->tree->siblings, 5);
    assert_int_equal(f->tree->sibling_least, 192 * MIB);
    assert_int_equal(f->tree->sibling_most, 192 * MIB);
}

static void twice_the_median_is_not_an_outlier(void **state)
{
    struct fixture *f = *state;
    layers(f, 4, "layers.%d", 64);
    add(f, "Block.forward", "layers.3.up", 64);
    find(f);
    assert_int_equal(f->found, 0);
}

static void of_two_modules_none_is_an_outlier(void **state)
{
    struct fixture *f = *state;
    layers(f, 2, "layers.%d", 64);
    add(f, "Block.forward", "layers.1", 640);
    find(f);
    assert_int_equal(f->found, 0);
}

static void small_parts_of_the_heap_are_not_reported(void **state)
{
    struct fixture *f = *state;
    layers(f, 4, "layers.%d", 1);
    add(f, "Block.forward", "layers.3", 10);
    find(f);
    assert_int_equal(f->found, 1);
    f->whole *= 20;
    find(f);
    assert_int_equal(f->found, 0);
}

/* An expert is compared with the experts of its own layer. */
static void modules_are_compared_within_their_own_layer(void **state)
{
    struct fixture *f = *state;
    layers(f, 4, "layers.0.experts.%d", 10);
    layers(f, 4, "layers.1.experts.%d", 30);
    layers(f, 4, "layers.2.experts.%d", 10);
    add(f, "Block.forward", "layers.1.experts.2", 60);
    find(f);
    assert_int_equal(f->found, 2);
    assert_string_equal(f->tree[0].module, "layers.1");
    assert_int_equal(f->tree[0].bytes, 180 * MIB);
    assert_string_equal(f->tree[1].module, "layers.1.experts.2");
    assert_int_equal(f->tree[1].sibling_most, 30 * MIB);
}

static void numbers_outside_of_modules_are_ignored(void **state)
{
    struct fixture *f = *state;
    static const char *const name[][2] = { { "layer 1" },
                                           { "layer 2" },
                                           { "layer 3", "main (t.py:3)" } };
    for (size_t i = 0; i < 3; i++)
        f->row[f->rows++] = (struct mpr_row){ .path = path_of(&f->arena, name[i], 1 + i / 2, false),
                                              .bytes = i < 2 ? MIB : 9 * MIB };
    f->row[f->rows++] = (struct mpr_row){ .bytes = MIB };
    find(f);
    assert_int_equal(f->found, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_memory_below_a_module_is_one_sum),
        TEST(twice_the_median_is_not_an_outlier),
        TEST(of_two_modules_none_is_an_outlier),
        TEST(small_parts_of_the_heap_are_not_reported),
        TEST(modules_are_compared_within_their_own_layer),
        TEST(numbers_outside_of_modules_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
