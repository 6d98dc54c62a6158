/* The live table has the same content as an array indexed by key, at random, also when lines are
 * full and blocks are displaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "blocks.h"

enum { KEYS = 3800, STEPS = 400000 };

static uint64_t key_of(uint32_t n) { return mpr_block_key(0x7f0000000000 + 32 * (uint64_t)n, 1); }

static void toggle(struct mpr_blocks *b, uint32_t *live, uint32_t n, uint32_t size)
{
    struct mpr_block block;
    bool existed;
    if (live[n]) {
        assert_true(mpr_blocks_take(b, key_of(n), &block));
        assert_int_equal(block.key, key_of(n));
        assert_int_equal(block.packed, live[n]);
        live[n] = 0;
    } else {
        assert_false(mpr_blocks_take(b, key_of(n), &block));
        struct mpr_block *made = mpr_blocks_insert(b, key_of(n), &existed);
        assert_non_null(made);
        assert_false(existed);
        made->packed = live[n] = size;
        assert_int_equal(mpr_blocks_insert(b, key_of(n), &existed)->packed, size);
        assert_true(existed);
    }
}

/* On average half of the keys are live, so the first table is as full as possible without
 * growing. */
static void random_changes_agree_with_an_array(void **state)
{
    (void)state;
    static uint32_t live[KEYS];
    struct mpr_blocks b;
    mpr_blocks_init(&b);
    srand(1);
    for (uint32_t step = 1; step <= STEPS; step++) toggle(&b, live, (uint32_t)rand() % KEYS, step);
    for (uint32_t n = 0; n < KEYS; n++)
        if (live[n]) toggle(&b, live, n, 0);
    assert_int_equal(b.live, 0);
    for (size_t line = 0; line <= b.mask; line++)
        for (unsigned i = 0; i < MPR_LINE; i++) assert_int_equal(b.line[line].at[i].key, 0);
    mpr_blocks_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_changes_agree_with_an_array) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
