/* Sentences of findings have the right values, plurals, optional parts and variants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "insights.h"
#include "reports.h"

enum { MIB = 1 << 20 };

static struct mpr_arena arena;

static int end(void **state)
{
    (void)state;
    mpr_arena_free(&arena);
    arena = (struct mpr_arena){ 0 };
    return 0;
}

static struct mpr_finding communicators(uint64_t count)
{
    return (struct mpr_finding){
        .kind = MPR_FINDING_IDLE_COMMUNICATORS,
        .heap = mpf_heap_gpu(MPF_HEAP_DEVICE, 1),
        .fact = { { .key = "communicators", .value = count },
                  { .key = "communicator_bytes", .type = MPR_FACT_BYTES, .value = 100 * MIB },
                  { .key = "largest", .type = MPR_FACT_TEXT, .text = "0x{9f}", .detail = true } },
        .facts = 3,
    };
}

static void one_and_several_use_singular_and_plural(void **state)
{
    struct mpr_finding f = communicators(1);
    (void)state;
    assert_string_equal(
        mpr_finding_text(&arena, &f).what,
        "1 communicator ran no NCCL operation and holds 100.00 MiB; the largest is NCCL "
        "0x{9f}");
    f = communicators(2);
    assert_string_equal(
        mpr_finding_text(&arena, &f).what,
        "2 communicators ran no NCCL operation and hold 100.00 MiB; the largest is NCCL "
        "0x{9f}");
    assert_string_equal(mpr_finding_text(&arena, &f).where, "gpu1");
}

static struct mpr_finding workers(uint64_t min, uint64_t max)
{
    return (struct mpr_finding){
        .kind = MPR_FINDING_WORKERS,
        .heap = MPF_HEAP_HOST,
        .fact = { { .key = "workers", .value = 2000 },
                  { .key = "least_bytes", .type = MPR_FACT_BYTES, .value = min },
                  { .key = "most_bytes", .type = MPR_FACT_BYTES, .value = max },
                  { .key = "all_bytes", .type = MPR_FACT_BYTES, .value = 9 * MIB },
                  { .key = "parent_bytes", .type = MPR_FACT_BYTES, .value = 0 } },
        .facts = 5,
    };
}

static void a_range_of_equal_values_is_one_value(void **state)
{
    struct mpr_finding f = workers(3 * MIB, 3 * MIB + 1);
    (void)state;
    assert_string_equal(mpr_finding_text(&arena, &f).what,
                        "2,000 forked workers hold about the same memory each, 3.00 MiB of the "
                        "host, 9.00 MiB in all; their parent holds 0 B");
    f = workers(3 * MIB, 4 * MIB);
    f.variant = MPR_VARIANT_AT_A_TIME;
    assert_string_equal(mpr_finding_text(&arena, &f).what,
                        "2,000 forked workers at a time hold about the same memory each, 3.00 MiB "
                        "to 4.00 MiB of the host, 9.00 MiB in all; their parent holds 0 B");
}

static void a_part_without_its_value_is_left_out(void **state)
{
    struct mpr_finding f = {
        .kind = MPR_FINDING_GROWTH,
        .heap = MPF_HEAP_HOST,
        .bytes = 40 * MIB,
        .fact = { { .key = "kept_bytes", .type = MPR_FACT_BYTES, .value = MIB },
                  { .key = "instances", .value = 80 },
                  { .key = "range", .type = MPR_FACT_TEXT, .text = "step [1]" },
                  { .key = "place_bytes",
                    .type = MPR_FACT_BYTES,
                    .estimated = true,
                    .value = 30 * MIB },
                  { .key = "sites_bytes", .type = MPR_FACT_BYTES, .value = 40 * MIB } },
        .facts = 5,
    };
    (void)state;
    assert_string_equal(
        mpr_finding_text(&arena, &f).what,
        "the median instance of step [1] keeps 1.00 MiB of host/heap; half of the 80 instances keep 40.00 MiB together, ~75 % of it in one place");
    f.facts = 4;
    assert_string_equal(
        mpr_finding_text(&arena, &f).what,
        "the median instance of step [1] keeps 1.00 MiB of host/heap; half of the 80 instances keep 40.00 MiB together");
}

/* A text of a finding, such as the path of a mapped file, is not one of its numbers. */
static void numbers_leave_out_what_only_sentences_use(void **state)
{
    struct mpr_finding f = communicators(2);
    struct mpr_insights insights = { .finding = &f, .findings = 1 };
    struct mpr_document doc = { .top = 0 };
    size_t known = 0, absent = 0;
    (void)state;
    mpr_report_finding_fields(&doc, &insights);
    for (const struct mpr_item *item = doc.first; item; item = item->next) {
        const struct mpr_table *t = item->kind == MPR_TABLE ? item->table : NULL;
        if (!t || !t->key || strcmp(t->key, "numbers") != 0) continue;
        for (size_t i = 0; i < t->rows; i++) {
            const struct mpr_value v =
                mpr_table_cell(t, &t->column[1], mpr_table_row(t, i, MPR_IN_JSON));
            known += v.state == MPR_KNOWN;
            absent += v.state == MPR_ABSENT;
        }
    }
    assert_int_equal(known, 2);
    assert_int_equal(absent, 1);
    mpr_doc_free(&doc);
}

/* A variant number beyond the last alternative of a sentence selects the last one. */
static void variants_select_sentences(void **state)
{
    struct mpr_finding f = {
        .kind = MPR_FINDING_GROWTH,
        .heap = MPF_HEAP_MMAP,
        .fact = { { .key = "grown_bytes", .type = MPR_FACT_BYTES, .value = 8 * MIB },
                  { .key = "a_second_bytes", .type = MPR_FACT_BYTES, .value = MIB },
                  { .key = "grown_in_ns", .type = MPR_FACT_SPAN, .value = 8000000000 } },
        .facts = 3,
        .variant = MPR_VARIANT_STEADY,
    };
    const char steady[] = "host/mmap grew steadily, by 8.00 MiB in 8.00 s, 1.00 MiB a second";
    (void)state;
    assert_string_equal(mpr_finding_text(&arena, &f).what, steady);
    assert_non_null(strstr(mpr_finding_text(&arena, &f).change, "queue"));
    f.variant = MPR_VARIANT_STEADY_UNNAMED;
    assert_string_equal(mpr_finding_text(&arena, &f).what, steady);
    assert_non_null(strstr(mpr_finding_text(&arena, &f).change, "call stacks"));
    f.variant = MPR_VARIANT_SHORT_RUN;
    assert_string_equal(mpr_finding_text(&arena, &f).what,
                        "host/mmap grew by 8.00 MiB in 8.00 s of a short run");
}

/* The parts of templates are nested correctly. A finding without values has no leftover markup. */
static void templates_are_well_formed(void **state)
{
    (void)state;
    for (int kind = 0; kind < MPR_FINDING_KINDS; kind++)
        for (int variant = 0; variant < 4; variant++) {
            const struct mpr_finding f = { .kind = (enum mpr_finding_kind)kind,
                                           .variant = (enum mpr_finding_variant)variant };
            const struct mpr_finding_text text = mpr_finding_text(&arena, &f);
            assert_true(*text.what && *text.change && *text.report);
            assert_null(strpbrk(text.what, "{}[]<>|"));
            assert_null(strpbrk(text.change, "{}[]<>|"));
            assert_null(strpbrk(text.report, "{}[]<>|"));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_and_several_use_singular_and_plural, end),
        cmocka_unit_test_teardown(a_range_of_equal_values_is_one_value, end),
        cmocka_unit_test_teardown(a_part_without_its_value_is_left_out, end),
        cmocka_unit_test_teardown(numbers_leave_out_what_only_sentences_use, end),
        cmocka_unit_test_teardown(variants_select_sentences, end),
        cmocka_unit_test_teardown(templates_are_well_formed, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
