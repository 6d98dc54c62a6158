/* What text says of the rows that it leaves out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "document.h"
#include "render.h"

struct row { const char *name; uint64_t bytes; };

static const struct mpr_column columns[] = {
    { .title = "name", .type = MPR_TEXT, MPR_FIELD(row, name), .width = 8 },
    { .title = "bytes", .type = MPR_BYTES, MPR_FIELD(row, bytes), .sums = true },
};

#define HEADING "\nname             bytes\n"
#define ROW_A "  a           4.00 KiB\n"
#define ROW_B "  b           2.00 KiB\n"
#define ROW_C "  c           1.00 KiB\n"

static const struct row rows[] = { { "a", 4096 }, { "b", 2048 }, { "c", 1024 } };
static const struct mpr_table usual = { .title = "name", MPR_COLUMNS(columns), MPR_ROWS(rows, 3) };

static void check_text(const struct mpr_table *table, size_t top, const char *expected)
{
    const struct mpr_style style = { .path = 40, .top = top };
    struct mpr_document doc = { 0 };
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    mpr_doc_table(&doc, table);
    mpr_text_document(out, &doc, &style);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    mpr_doc_free(&doc);
    free(text);
}

static void rows_left_out_are_told_by_their_sum(void **state)
{
    (void)state;
    check_text(&usual, 1, HEADING ROW_A "  (2 more, 3.00 KiB)\n");
}

static void all_rows_leave_nothing_to_tell(void **state)
{
    (void)state;
    check_text(&usual, 3, HEADING ROW_A ROW_B ROW_C);
}

static void nobody_knows_how_many_rows_a_part_leaves_out(void **state)
{
    struct mpr_table table = usual;
    (void)state;
    table.partial = true;
    check_text(&table, 1, HEADING ROW_A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_left_out_are_told_by_their_sum),
        cmocka_unit_test(all_rows_leave_nothing_to_tell),
        cmocka_unit_test(nobody_knows_how_many_rows_a_part_leaves_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
