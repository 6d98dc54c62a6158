/* Blocks are counted by the time slices in which they were allocated and freed, and joining slices
 * loses nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc_free_matrix.h"
#include "blocks.h"
#include "mpf/event.h"

enum { CELL = 3, OTHER = 7 };

static uint64_t key(uint64_t addr) { return mpr_block_key(addr, MPF_HEAP_HOST); }

static const struct mpr_alloc_free_table *table_of(const struct mpr_alloc_free_matrix *matrix)
{
    return &matrix->heap[MPF_HEAP_HOST]->table;
}

/* Returns the bytes of a cell's blocks that were allocated and freed in these slices. */
static uint64_t bytes_of(const struct mpr_alloc_free_matrix *matrix, uint32_t cell, uint32_t born,
                         uint32_t gone)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < table_of(matrix)->entries; i++) {
        const struct mpr_alloc_free_entry *f = &table_of(matrix)->entry[i];
        if (f->group == cell && f->allocated == born && f->freed == gone) sum += f->bytes;
    }
    return sum;
}

static void few_changes_have_a_slice_each(void **state)
{
    struct mpr_alloc_free_matrix *matrix = mpr_alloc_free_matrix_new();
    (void)state;
    mpr_alloc_free_matrix_add(matrix, key(1), 64, CELL, 100);
    mpr_alloc_free_matrix_add(matrix, key(2), 32, OTHER, 200);
    mpr_alloc_free_matrix_remove(matrix, key(1), 300);
    mpr_alloc_free_matrix_remove(matrix, key(9), 400); /* its allocation was not seen */
    mpr_alloc_free_matrix_finish(matrix);
    assert_int_equal(bytes_of(matrix, CELL, 0, 2), 64);
    assert_int_equal(bytes_of(matrix, OTHER, 1, MPR_NEVER_FREED), 32);
    assert_int_equal(table_of(matrix)->entries, 2);
    assert_int_equal(table_of(matrix)->slices, 3);
    assert_int_equal(table_of(matrix)->time[2], 300);
    mpr_alloc_free_matrix_free(matrix);
}

/* N blocks, of which every other one is freed at once and the others stay live. */
static void joined_slices_hold_the_same_bytes(void **state)
{
    enum { BLOCKS = 100000 };
    struct mpr_alloc_free_matrix *matrix = mpr_alloc_free_matrix_new();
    uint64_t born = 0, live_bytes = 0, time = 0, blocks = 0;
    (void)state;
    for (uint64_t i = 1; i <= BLOCKS; i++) {
        mpr_alloc_free_matrix_add(matrix, key(i), i, CELL + i % 2, time += 10);
        if (i % 2) mpr_alloc_free_matrix_remove(matrix, key(i), time += 10);
    }
    mpr_alloc_free_matrix_finish(matrix);
    const struct mpr_alloc_free_table *t = table_of(matrix);
    for (uint32_t i = 0; i < t->entries; i++) {
        born += t->entry[i].bytes;
        blocks += t->entry[i].blocks;
        if (t->entry[i].freed == MPR_NEVER_FREED) live_bytes += t->entry[i].bytes;
        else
            assert_true(t->entry[i].freed >= t->entry[i].allocated &&
                        t->entry[i].freed < t->slices);
    }
    assert_int_equal(blocks, BLOCKS);
    assert_int_equal(born, (uint64_t)BLOCKS * (BLOCKS + 1) / 2);
    assert_int_equal(live_bytes, (uint64_t)(BLOCKS / 2) * (BLOCKS / 2 + 1));
    assert_true(t->slices <= MPR_MATRIX_SLICES && t->slices > MPR_MATRIX_SLICES / 4);
    for (uint32_t i = 1; i < t->slices; i++) { assert_true(t->time[i] > t->time[i - 1]); }
    mpr_alloc_free_matrix_free(matrix);
}

/* The same for blocks that were known before. */
static void an_excluded_heap_has_no_counts(void **state)
{
    struct mpr_alloc_free_matrix *matrix = mpr_alloc_free_matrix_new();
    (void)state;
    mpr_alloc_free_matrix_add(matrix, key(1), 64, CELL, 100);
    mpr_alloc_free_matrix_add(matrix, key(2), 64, CELL, 200);
    mpr_alloc_free_matrix_drop_heap(matrix, MPF_HEAP_HOST);
    mpr_alloc_free_matrix_remove(matrix, key(1), 300);
    mpr_alloc_free_matrix_finish(matrix);
    assert_int_equal(table_of(matrix)->entries, 0);
    mpr_alloc_free_matrix_free(matrix);
}

static void a_heap_without_blocks_has_no_counts(void **state)
{
    struct mpr_alloc_free_matrix *matrix = mpr_alloc_free_matrix_new();
    (void)state;
    mpr_alloc_free_matrix_finish(matrix);
    assert_null(matrix->heap[MPF_HEAP_HOST]);
    mpr_alloc_free_matrix_free(matrix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_changes_have_a_slice_each),
        cmocka_unit_test(joined_slices_hold_the_same_bytes),
        cmocka_unit_test(an_excluded_heap_has_no_counts),
        cmocka_unit_test(a_heap_without_blocks_has_no_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
