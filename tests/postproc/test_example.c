/* The small report of docs/HACKING.md compiles and prints its table, also with one more line for
 * one more column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "error.h"
#include "html.h"
#include "render.h"

struct mpr_log_peaks;
void mpr_report_owners(struct mpr_document *doc, const struct mpr_log_peaks *log);
void mpr_report_owners_and_more(struct mpr_document *doc, const struct mpr_log_peaks *log);
#include "example.inc"
#include "example_more.inc"

typedef void reports(struct mpr_document *doc, const struct mpr_log_peaks *log);
typedef void writes(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);

static bool has(reports *report, writes *write, const char *part)
{
    struct mpr_peaks peaks;
    struct mpr_error error;
    const struct mpr_progress progress = { NULL, NULL };
    struct mpr_document doc = { 0 };
    char *text = NULL;
    size_t bytes;
    mpr_peaks_init(&peaks,
                   &(struct mpr_peaks_options){ .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK });
    assert_int_equal(mpr_peaks_add(&peaks, GOLDEN "/h200-graphs-eager.zst", &progress, &error), 0);
    mpr_peaks_finish(&peaks);
    report(&doc, &peaks.log[0]);
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    write(out, &doc, &(struct mpr_style){ 0 });
    assert_int_equal(fclose(out), 0);
    const bool found = strstr(text, part);
    free(text);
    mpr_doc_free(&doc);
    mpr_peaks_free(&peaks);
    return found;
}

static void documented_report_has_all_formats(void **state)
{
    (void)state;
    assert_true(has(mpr_report_owners, mpr_text_document, "share"));
    assert_true(has(mpr_report_owners, mpr_json_report, "\"owners\": ["));
    assert_true(has(mpr_report_owners, mpr_csv_report, "path,bytes,blocks\n"));
    assert_true(has(mpr_report_owners, mpr_html_document, "<th scope=\"col\">blocks</th>"));
}

static void one_line_adds_a_column_to_each_format(void **state)
{
    (void)state;
    static const struct {
        writes *write;
        const char *part;
    } formats[] = { { mpr_text_document, " allocs" },
                    { mpr_json_report, "\"allocations\":" },
                    { mpr_csv_report, "path,bytes,blocks,allocations\n" },
                    { mpr_html_document, "<th scope=\"col\">allocs</th>" } };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        assert_false(has(mpr_report_owners, formats[i].write, formats[i].part));
        assert_true(has(mpr_report_owners_and_more, formats[i].write, formats[i].part));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documented_report_has_all_formats),
        cmocka_unit_test(one_line_adds_a_column_to_each_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
