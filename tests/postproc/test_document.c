/* Documents made by hand are rendered correctly in all four formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "document.h"
#include "html.h"
#include "naming.h"
#include "render.h"

struct row {
    const char *name;
    struct mpr_path path;
    uint64_t bytes, blocks, time, address;
    int64_t growth;
    bool live;
};

#define OF(member) MPR_FIELD(row, member)

#define LABEL(label)                                                                               \
    {                                                                                              \
        .text = (label), .name = (label), .module = "", .path = "", .file = "", .object = ""       \
    }
static const struct mpr_frame frames[] = { LABEL("step"), LABEL("loss") };
static const struct mpr_frame *const step[] = { &frames[0], &frames[1] };

typedef void writes(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);

/* The caller frees the result. */
static char *text_of(writes *write, const struct mpr_document *doc, size_t top, bool color)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    write(out, doc, &(struct mpr_style){ .top = top, .color = color });
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect(writes *write, const struct mpr_document *doc, size_t top, const char *wanted)
{
    char *text = text_of(write, doc, top, false);
    assert_string_equal(text, wanted);
    free(text);
}

/* ---- values */

static struct mpr_value pool(const void *row, const void *context)
{
    static const uint64_t id[] = { 7, 1 };
    const struct row *r = row;
    (void)context;
    return r->live ? mpr_value_numbers(id, 2) : mpr_value_unknown;
}

static const char *const words[] = { "split", "idle" };

static const struct mpr_column every_type[] = {
    { .key = "log", .type = MPR_TEXT, MPR_CONTEXT(row, name), .only = MPR_IN_CSV },
    { .key = "path", .title = "path", MPR_PATH_FIELD(row, path), .width = 18 },
    { .key = "bytes",
      .title = "bytes",
      .type = MPR_BYTES,
      OF(bytes),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "share",
      .title = "share",
      .type = MPR_SHARE,
      OF(bytes),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "blocks",
      .title = "blocks",
      .type = MPR_COUNT,
      OF(blocks),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "time_ns", .title = "at", .type = MPR_TIME, OF(time) },
    { .key = "address", .title = "address", .type = MPR_ADDRESS, OF(address), .width = 10 },
    { .key = "growth_bytes", .title = "growth", .type = MPR_CHANGE, OF(growth) },
    { .key = "live", .title = "live", .type = MPR_FLAG, OF(live), .width = 4 },
    { .key = "pool", .title = "pool", .type = MPR_NUMBERS, .get = pool, .width = 4 },
    { .key = "state", .type = MPR_WORD, OF(blocks), .words = words },
    { .key = "name", .title = "name", .type = MPR_TEXT, OF(name), .unless = MPR_UNKNOWN_AT_0 },
};

static const struct row rows_of_every_type[] = {
    { "a", { step, 2 }, 3 << 20, 1, 1500000000, 0x7f00, 2048, true },
    { "", { NULL, 0 }, UINT64_MAX, 0, 0, 0, -2048, false },
};

static struct mpr_document document_of_every_type(void)
{
    struct mpr_document doc = { 0 };
    mpr_doc_table(&doc, &(struct mpr_table){ .key = "rows",
                                             .title = "all",
                                             .only = MPR_EVERYWHERE,
                                             MPR_COLUMNS(every_type),
                                             MPR_ROWS(rows_of_every_type, 2),
                                             .context = &rows_of_every_type[0],
                                             .whole = 4 << 20 });
    mpr_doc_csv(&doc, every_type);
    return doc;
}

static void text_has_each_type(void **state)
{
    (void)state;
    struct mpr_document doc = document_of_every_type();
    expect(
        mpr_text_document, &doc, 1,
        "\n"
        "all                        bytes    share    blocks            at   address      growth  live  pool  name\n"
        "  step > loss           3.00 MiB   75.0 %         1       1.500 s    0x7f00   +2.00 KiB  yes   7:1   a\n"
        "  (1 more)\n");
    mpr_doc_free(&doc);
}

static void text_has_unknown_values_as_a_dash_and_absent_ones_as_nothing(void **state)
{
    (void)state;
    struct mpr_document doc = { 0 };
    mpr_doc_table(
        &doc, &(struct mpr_table){ MPR_COLUMNS(every_type), MPR_ROWS(&rows_of_every_type[1], 1) });
    expect(
        mpr_text_document, &doc, 0,
        "  outside any range            -        -                 0.000 s         0   -2.00 KiB  no    -     -\n");
    mpr_doc_free(&doc);
}

static void a_text_that_was_never_set_is_absent(void **state)
{
    (void)state;
    static const struct row row = { .name = NULL };
    static const struct mpr_column columns[] = {
        { .key = "name", .title = "name", .type = MPR_TEXT, OF(name), .unless = MPR_UNKNOWN_AT_0 },
        { .key = "also", .title = "also", .type = MPR_TEXT, OF(name), .unless = MPR_ABSENT_AT_0 },
    };
    const struct mpr_table table = { .key = "rows", MPR_COLUMNS(columns), MPR_ROWS(&row, 1) };
    struct mpr_document doc = { 0 };
    mpr_doc_fact(&doc, "fact", mpr_value_known_text(NULL, MPR_UNKNOWN));
    mpr_doc_table(&doc, &table);
    expect(mpr_json_report, &doc, 0,
           "{\n  \"fact\": null,\n  \"rows\": [\n    {\n      \"name\": null\n    }\n  ],\n"
           "  \"omitted_rows\": 0\n}\n");
    mpr_doc_free(&doc);
}

static void json_has_each_type(void **state)
{
    (void)state;
    struct mpr_document doc = document_of_every_type();
    expect(
        mpr_json_report, &doc, 0,
        "{\n  \"rows\": [\n"
        "    {\n      \"path\": [\n        \"step\",\n        \"loss\"\n      ],\n      \"bytes\": 3145728,\n      \"share\": 0.750000,\n"
        "      \"blocks\": 1,\n      \"time_ns\": 1500000000,\n      \"address\": 32512,\n      \"growth_bytes\": 2048,\n      \"live\": true,\n"
        "      \"pool\": [7,1],\n      \"state\": \"idle\",\n      \"name\": \"a\"\n    },\n"
        "    {\n      \"path\": [],\n      \"bytes\": null,\n      \"share\": null,\n"
        "      \"time_ns\": 0,\n      \"address\": 0,\n      \"growth_bytes\": -2048,\n      \"live\": false,\n"
        "      \"pool\": null,\n      \"state\": \"split\",\n      \"name\": null\n    }\n"
        "  ],\n  \"omitted_rows\": 0\n}\n");
    mpr_doc_free(&doc);
}

static void csv_has_each_type(void **state)
{
    (void)state;
    struct mpr_document doc = document_of_every_type();
    expect(mpr_csv_report, &doc, 1,
           "log,path,bytes,share,blocks,time_ns,address,growth_bytes,live,pool,state,name\n"
           "\"a\",\"step > loss\",3145728,0.750000,1,1500000000,32512,2048,1,7:1,idle,\"a\"\n");
    mpr_doc_free(&doc);
}

static void a_page_has_each_type(void **state)
{
    (void)state;
    struct mpr_document doc = document_of_every_type();
    expect(
        mpr_html_document, &doc, 1,
        "<table><caption>all</caption>\n<thead><tr><th scope=\"col\">path</th><th scope=\"col\">bytes</th><th scope=\"col\">share</th>"
        "<th scope=\"col\">blocks</th><th scope=\"col\">at</th><th scope=\"col\">address</th><th scope=\"col\">growth</th>"
        "<th scope=\"col\">live</th><th scope=\"col\">pool</th><th scope=\"col\">name</th></tr></thead><tbody>\n"
        "<tr><th scope=\"row\">step &gt; loss</th><td>3.00 MiB</td><td>75.0 %</td><td>1</td><td>1.500 s</td><td>0x7f00</td>"
        "<td>+2.00 KiB</td><td>yes</td><td>7:1</td><td>a</td></tr>\n"
        "</tbody></table>\n<p>(1 more)</p>\n");
    mpr_doc_free(&doc);
}

/* ---- rows that are left out */

enum { MANY = 30 };

static const struct mpr_column summed[] = {
    { .key = "path", .title = "path", MPR_PATH_FIELD(row, path) },
    { .key = "bytes",
      .title = "bytes",
      .type = MPR_BYTES,
      OF(bytes),
      .sums = true,
      .unless = MPR_UNKNOWN_AT_MAX },
    { .title = "growth", .type = MPR_CHANGE, OF(growth) },
};

static const struct mpr_column summed_twice[] = {
    { .key = "path", .title = "path", MPR_PATH_FIELD(row, path) },
    { .key = "bytes",
      .title = "bytes",
      .type = MPR_BYTES,
      OF(bytes),
      .sums = true,
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "growth", .title = "growth", .type = MPR_CHANGE, OF(growth), .sums = true },
};

/* 30 KiB, 29 KiB, ... 1 KiB. */
static const struct row *many_rows(void)
{
    static struct row row[MANY];
    for (size_t i = 0; i < MANY; i++)
        row[i] = (struct row){ .path = { step, 2 },
                               .bytes = (MANY - i) << 10,
                               .growth = i % 2 ? 1024 : -2048 };
    return row;
}

static size_t lines(const char *text)
{
    size_t count = 0;
    for (; *text; text++) count += *text == '\n';
    return count;
}

/* Checks the end of the text, its number of lines, and a part of it. */
static void assert_end(writes *write, const struct mpr_table *table, size_t top,
                       size_t wanted_lines, const char *wanted)
{
    struct mpr_document doc = { .csv = table->column, .csv_columns = table->columns };
    mpr_doc_table(&doc, table);
    char *text = text_of(write, &doc, top, false);
    assert_int_equal(lines(text), wanted_lines);
    assert_true(strlen(text) >= strlen(wanted));
    assert_string_equal(text + strlen(text) - strlen(wanted), wanted);
    free(text);
    mpr_doc_free(&doc);
}

static void people_see_twenty_rows_and_the_sum_of_the_rest(void **state)
{
    (void)state;
    const struct mpr_table t = {
        .key = "rows", .title = "rows", MPR_COLUMNS(summed), MPR_ROWS(many_rows(), MANY)
    };
    assert_end(mpr_text_document, &t, 0, 2 + 20 + 1, "\n  (10 more, 55.00 KiB)\n");
    assert_end(mpr_text_document, &t, 29, 2 + 29 + 1, "\n  (1 more, 1.00 KiB)\n");
    assert_end(mpr_text_document, &t, 30, 2 + 30, "    1.00 KiB   +1.00 KiB\n");
    assert_end(mpr_html_document, &t, 0, 2 + 20 + 2, "<p>(10 more, 55.00 KiB)</p>\n");
}

static void a_table_may_set_the_number_of_rows_for_people(void **state)
{
    (void)state;
    struct mpr_table t = {
        .title = "rows", MPR_COLUMNS(summed), MPR_ROWS(many_rows(), MANY), .top = 3
    };
    assert_end(mpr_text_document, &t, 0, 2 + 3 + 1, "\n  (27 more, 378.00 KiB)\n");
    assert_end(mpr_text_document, &t, 4, 2 + 4 + 1, "\n  (26 more, 351.00 KiB)\n");
    t.all = MPR_IN_TEXT;
    assert_end(mpr_text_document, &t, 4, 2 + 30, " +1.00 KiB\n");
    t = (struct mpr_table){
        .title = "rows", MPR_COLUMNS(summed), MPR_ROWS(many_rows(), MANY), .idle = 25
    };
    assert_end(mpr_text_document, &t, 0, 2 + 5 + 1, "\n  (25 more, 325.00 KiB)\n");
}

static void json_has_the_number_of_rows_that_top_left_out(void **state)
{
    (void)state;
    struct mpr_table t = { .key = "rows", MPR_COLUMNS(summed), MPR_ROWS(many_rows(), MANY) };
    const size_t row = 7;
    assert_end(mpr_json_report, &t, 0, 2 + 30 * row + 4,
               "  ],\n  \"omitted_rows\": 0,\n  \"omitted_bytes\": 0\n}\n");
    assert_end(mpr_json_report, &t, 2, 2 + 2 * row + 4,
               "  ],\n  \"omitted_rows\": 28,\n  \"omitted_bytes\": 415744\n}\n");
    t.omitted = "rows_omitted_bytes";
    assert_end(mpr_json_report, &t, 2, 2 + 2 * row + 3,
               "  ],\n  \"rows_omitted_bytes\": 415744\n}\n");
    t.omitted = "";
    assert_end(mpr_json_report, &t, 2, 2 + 2 * row + 2, "    }\n  ]\n}\n");
    t.omitted = NULL;
    t.all = MPR_IN_JSON;
    assert_end(mpr_json_report, &t, 2, 2 + 30 * row + 2, "    }\n  ]\n}\n");
}

static void csv_has_all_records_or_the_top_ones(void **state)
{
    (void)state;
    const struct mpr_table t = {
        .only = MPR_IN_CSV, MPR_COLUMNS(summed), MPR_ROWS(many_rows(), MANY), .idle = 25
    };
    assert_end(mpr_csv_report, &t, 0, 1 + 30, "\"step > loss\",1024\n");
    assert_end(mpr_csv_report, &t, 2, 1 + 2, "\"step > loss\",30720\n\"step > loss\",29696\n");
}

static void a_partial_table_does_not_count_the_rows_left_out(void **state)
{
    (void)state;
    const struct mpr_table t = {
        .title = "rows", MPR_COLUMNS(summed), MPR_ROWS(many_rows(), MANY), .partial = true
    };
    assert_end(mpr_text_document, &t, 2, 2 + 2, "  29.00 KiB   +1.00 KiB\n");
    assert_end(mpr_html_document, &t, 2, 2 + 2 + 1, "</tr>\n</tbody></table>\n");
}

static void several_sums_are_in_their_columns(void **state)
{
    (void)state;
    const struct mpr_table t = {
        .title = "rows", MPR_COLUMNS(summed_twice), MPR_ROWS(many_rows(), MANY), .top = 28
    };
    assert_end(mpr_text_document, &t, 0, 2 + 28 + 1,
               "\n  (2 more)                                    3.00 KiB   -1.00 KiB\n");
}

static void a_total_has_all_rows_except_unknown_values(void **state)
{
    (void)state;
    static const struct row row[] = { { .path = { step, 1 }, .bytes = 1024 },
                                      { .path = { step, 1 }, .bytes = UINT64_MAX },
                                      { .path = { step, 1 }, .bytes = 2048 } };
    struct mpr_document doc = { 0 };
    mpr_doc_table(&doc, &(struct mpr_table){ MPR_COLUMNS(summed), MPR_ROWS(row, 3), .total = "sum",
                                             .top = 1 });
    mpr_doc_table(&doc,
                  &(struct mpr_table){ MPR_COLUMNS(summed), MPR_ROWS(&row[1], 1), .total = "sum" });
    expect(mpr_text_document, &doc, 0,
           "  step                                        1.00 KiB         0 B\n"
           "  (2 more)\n"
           "  sum                                         3.00 KiB\n"
           "  step                                               -         0 B\n"
           "  sum                                                -\n");
    mpr_doc_free(&doc);
}

/* ---- text of any origin */

static const char nasty[] = "=\033[31m\n\",<b>&\xff\xe2\x80\xae|";
static const struct mpr_frame nasty_frames[] = { LABEL(nasty), LABEL("b") };
static const struct mpr_frame *const nasty_path[] = { &nasty_frames[0], &nasty_frames[1] };

static const struct mpr_column names[] = {
    { .key = "name", .title = "name", .type = MPR_TEXT, OF(name) },
    { .key = "path", .title = "path", MPR_PATH_FIELD(row, path), .width = MPR_WIDE },
};

static struct mpr_document hostile_document(void)
{
    static const struct row row[] = { { .name = nasty, .path = { nasty_path, 2 } } };
    struct mpr_document doc = { 0 };
    mpr_doc_fact(&doc, "fact", mpr_value_text(nasty));
    mpr_doc_line(&doc, "a line of %s", nasty);
    mpr_doc_table(&doc, &(struct mpr_table){ .key = "rows",
                                             .only = MPR_EVERYWHERE,
                                             MPR_COLUMNS(names),
                                             MPR_ROWS(row, 1),
                                             .all = MPR_IN_JSON });
    mpr_doc_csv(&doc, names);
    return doc;
}

#define SEEN    "=\\x1b[31m\\x0a\",<b>&\\xff\\u{202e}|"
#define IN_JSON "=\\u001b[31m\\u000a\\\",<b>&\\ufffd\\u202e|"
#define IN_CSV  "'=\\x1b[31m\\x0a\"\",<b>&\xef\xbf\xbd\\u{202e}|"
#define IN_HTML "=\\x1b[31m\\x0a&quot;,&lt;b>&amp;\xef\xbf\xbd\\u{202e}|"

static void names_are_harmless_in_each_format(void **state)
{
    (void)state;
    struct mpr_document doc = hostile_document();
    expect(mpr_text_document, &doc, 0, "a line of " SEEN "\n  " SEEN "  " SEEN " > b\n");
    expect(mpr_json_report, &doc, 0,
           "{\n  \"fact\": \"" IN_JSON "\",\n  \"rows\": [\n    {\n      \"name\": \"" IN_JSON
           "\",\n      \"path\": [\n        \"" IN_JSON
           "\",\n        \"b\"\n      ]\n    }\n  ]\n}\n");
    expect(mpr_csv_report, &doc, 0, "name,path\n\"" IN_CSV "\",\"" IN_CSV " > b\"\n");
    expect(
        mpr_html_document, &doc, 0,
        "<p>a line of " IN_HTML
        "</p>\n<table><thead><tr><th scope=\"col\">name</th><th scope=\"col\">path</th></tr></thead><tbody>\n"
        "<tr><th scope=\"row\">" IN_HTML "</th><td>" IN_HTML
        " &gt; b</td></tr>\n</tbody></table>\n");
    mpr_doc_free(&doc);
}

/* ---- the layout of text */

static const struct mpr_column narrow[] = {
    { .title = "name", .type = MPR_TEXT, OF(name), .width = 4 },
    { .title = "bytes", .type = MPR_BYTES, OF(bytes) },
    { .title = "", .type = MPR_TEXT, OF(name), .lead = " = " },
    { .title = "", .type = MPR_TEXT, OF(name), .below = true },
};

static void wide_values_move_no_other_column(void **state)
{
    (void)state;
    static const struct row row[] = { { .name = "a", .bytes = 1 },
                                      { .name = "a long name", .bytes = 1 },
                                      { .name = "a name far too long", .bytes = 1 } };
    struct mpr_document doc = { 0 };
    mpr_doc_table(&doc,
                  &(struct mpr_table){
                      .title = "names", MPR_COLUMNS(narrow), MPR_ROWS(row, 3), .flush = true });
    expect(mpr_text_document, &doc, 0,
           "\n"
           "names      bytes\n"
           "a            1 B = a\n    a\n"
           "a long name  1 B = a long name\n    a long name\n"
           "a name far too long 1 B = a name far too long\n    a name far too long\n");
    mpr_doc_free(&doc);
}

static bool is_live(const void *row) { return ((const struct row *)row)->live; }

static const struct mpr_column estimates[] = {
    { .title = "path", MPR_PATH_FIELD(row, path), .width = 16 },
    { .title = "bytes", .type = MPR_BYTES, OF(bytes), .estimate = true },
    { .title = "blocks", .type = MPR_COUNT, OF(blocks) },
    { .title = "at", .type = MPR_TIME, OF(time) },
};

static void estimates_times_and_places_are_formatted(void **state)
{
    (void)state;
    static const struct row row[] = {
        { .path = { step, 1 }, .bytes = 1, .blocks = 1234, .time = 1, .live = true }, { .bytes = 1 }
    };
    struct mpr_document doc = { 0 };
    mpr_doc_table(&doc,
                  &(struct mpr_table){ MPR_COLUMNS(estimates), MPR_ROWS(row, 2),
                                       .estimated = is_live, .tick = 1, .by = MPR_GROUP_STACK });
    expect(mpr_text_document, &doc, 0,
           "  step                    ~1 B     1,234       0.000000001 s\n"
           "  (no call stack)          1 B         0       0.000000000 s\n");
    expect(
        mpr_html_document, &doc, 0,
        "<table><thead><tr><th scope=\"col\">path</th><th scope=\"col\">bytes</th><th scope=\"col\">blocks</th><th scope=\"col\">at</th></tr>"
        "</thead><tbody>\n<tr><th scope=\"row\">step</th><td>~1 B</td><td>1,234</td><td>0.000000001 s</td></tr>\n"
        "<tr><th scope=\"row\">(no call stack)</th><td>1 B</td><td>0</td><td>0.000000000 s</td></tr>\n</tbody></table>\n");
    mpr_doc_free(&doc);
}

static void people_may_see_rows_in_another_order(void **state)
{
    (void)state;
    static const struct row row[] = { { .name = "a" }, { .name = "b" } };
    static const struct mpr_column name[] = {
        { .key = "name", .title = "name", .type = MPR_WORD, OF(name) }
    };
    static const size_t order[] = { 1, 0 };
    struct mpr_document doc = { 0 };
    mpr_doc_table(
        &doc, &(struct mpr_table){
                  .only = MPR_EVERYWHERE, MPR_COLUMNS(name), MPR_ROWS(row, 2), .order = order });
    mpr_doc_csv(&doc, name);
    expect(mpr_text_document, &doc, 0, "  b\n  a\n");
    expect(mpr_csv_report, &doc, 0, "name\na\nb\n");
    mpr_doc_free(&doc);
}

static void lines_have_tones_if_color_is_on(void **state)
{
    (void)state;
    struct mpr_document doc = { 0 };
    mpr_doc_add(&doc, MPR_STRONG, "a");
    mpr_doc_add(&doc, MPR_STRONG, "b");
    mpr_doc_line(&doc, "c %d", 1);
    mpr_doc_gap(&doc);
    mpr_doc_add(&doc, MPR_WARN, "d");
    mpr_doc_end(&doc);
    char *text = text_of(mpr_text_document, &doc, 0, true);
    assert_string_equal(text, "\033[1mab\033[0mc 1\n\n\033[33;1md\033[0m\n");
    free(text);
    expect(mpr_text_document, &doc, 0, "abc 1\n\nd\n");
    expect(mpr_html_document, &doc, 0,
           "<p><strong>a</strong><strong>b</strong>c 1</p>\n<p><strong>d</strong></p>\n");
    expect(mpr_json_report, &doc, 0, "{}\n");
    mpr_doc_free(&doc);
}

/* ---- the shape of JSON */

static void json_has_objects_lists_pairs_and_members(void **state)
{
    (void)state;
    static const struct row row[] = { { .name = "a", .bytes = 1 }, { .name = "b", .bytes = 2 } };
    static const struct mpr_column pair[] = {
        { .key = "name", .title = "n", .type = MPR_TEXT, OF(name) },
        { .key = "bytes", .title = "b", .type = MPR_BYTES, OF(bytes) }
    };
    struct mpr_document doc = { 0 };
    mpr_doc_list(&doc, "logs");
    mpr_doc_open(&doc, NULL);
    mpr_doc_facts(&doc, pair, &row[0]);
    mpr_doc_fact(&doc, "absent", mpr_value_absent);
    mpr_doc_close(&doc);
    mpr_doc_close(&doc);
    mpr_doc_table(&doc, &(struct mpr_table){ .key = "pairs",
                                             .shape = MPR_LISTS,
                                             MPR_COLUMNS(pair),
                                             MPR_ROWS(row, 1),
                                             .all = MPR_IN_JSON });
    mpr_doc_table(&doc, &(struct mpr_table){ .key = "members",
                                             .shape = MPR_MEMBERS,
                                             MPR_COLUMNS(pair),
                                             MPR_ROWS(row, 2),
                                             .all = MPR_IN_JSON });
    expect(
        mpr_json_report, &doc, 0,
        "{\n  \"logs\": [\n    {\n      \"name\": \"a\",\n      \"bytes\": 1\n    }\n  ],\n"
        "  \"pairs\": [\n    [\n      \"a\",\n      1\n    ]\n  ],\n  \"members\": {\n    \"a\": 1,\n    \"b\": 2\n  }\n}\n");
    mpr_doc_free(&doc);
}

static void an_empty_table_is_valid_in_each_format(void **state)
{
    (void)state;
    struct mpr_document doc = { 0 };
    mpr_doc_table(&doc, &(struct mpr_table){ .key = "rows",
                                             .title = "rows",
                                             .only = MPR_EVERYWHERE,
                                             MPR_COLUMNS(summed),
                                             MPR_ROWS((const struct row *)NULL, 0),
                                             .total = "sum" });
    mpr_doc_csv(&doc, summed);
    expect(mpr_text_document, &doc, 0, "");
    expect(mpr_json_report, &doc, 0,
           "{\n  \"rows\": [],\n  \"omitted_rows\": 0,\n  \"omitted_bytes\": 0\n}\n");
    expect(mpr_csv_report, &doc, 0, "path,bytes\n");
    mpr_doc_free(&doc);
}

/* ---- people see other rows and columns than programs */

struct site {
    struct mpr_path path;
    uint64_t bytes, peak, first_ns, last_ns, all_bytes, error;
    int64_t growth;
    bool estimated;
};

#define OF_SITE(member) MPR_FIELD(site, member)

static const struct mpr_column site_columns[] = {
    { .key = "path", .title = "path", MPR_PATH_FIELD(site, path), .width = 18 },
    { .key = "bytes",
      .title = "bytes",
      .type = MPR_BYTES,
      OF_SITE(bytes),
      .share = MPR_SHARE_FIRST,
      .sums = true,
      .estimate = true },
    { .key = "peak_bytes",
      .title = "peak",
      .type = MPR_BYTES,
      OF_SITE(peak),
      .merge = MPR_MERGE_PEAK },
    { .key = "first_ns",
      .title = "from",
      .type = MPR_TIME,
      OF_SITE(first_ns),
      .merge = MPR_MERGE_MIN },
    { .key = "last_ns", .title = "to", .type = MPR_TIME, OF_SITE(last_ns), .merge = MPR_MERGE_MAX },
    { .key = "all_bytes",
      .title = "in all",
      .type = MPR_BYTES,
      OF_SITE(all_bytes),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "growth_bytes", .title = "growth", .type = MPR_CHANGE, OF_SITE(growth) },
    { .key = "error_bytes",
      .title = "error",
      .type = MPR_BYTES,
      OF_SITE(error),
      .merge = MPR_MERGE_SQUARES },
    { .key = "estimated", .type = MPR_FLAG, OF_SITE(estimated), .unless = MPR_OMITTED_AT_0 },
};

static struct mpr_row row_of_site(const void *row)
{
    const struct site *s = row;
    return (struct mpr_row){ .path = s->path, .bytes = s->bytes, .own_peak = s->peak };
}

static bool is_estimated_site(const void *row) { return ((const struct site *)row)->estimated; }

static void rows_with_one_path_are_one_line_for_people(void **state)
{
    (void)state;
    static const struct site row[] = {
        { { step, 2 }, 1024, 4096, 5000000, 6000000, 2048, 3, 1, false },
        { { step, 1 }, 512, 512, 1000000, 2000000, UINT64_MAX, 0, 5, false },
        { { step, 2 }, 512, 1024, 2000000, 9000000, 1024, 4, -3, true },
        { { step, 1 }, 256, 256, 1000000, 2000000, 1024, 0, 5, false },
    };
    struct mpr_document doc = { 0 };
    mpr_doc_table(&doc, &(struct mpr_table){ .key = "rows",
                                             .title = "sites",
                                             MPR_COLUMNS(site_columns),
                                             MPR_ROWS(row, 4),
                                             .whole = 4096,
                                             .estimated = is_estimated_site,
                                             .lines = { .merged = true, .row_of = row_of_site } });
    expect(
        mpr_text_document, &doc, 0,
        "\n"
        "sites                      bytes    share        peak          from            to      in all      growth       error\n"
        "  step > loss          ~1.50 KiB   37.5 %   ≥4.00 KiB       0.002 s       0.009 s    3.00 KiB        -2 B         5 B\n"
        "  step                     768 B   18.8 %       768 B       0.001 s       0.002 s           -       +10 B         0 B\n");
    char *json = text_of(mpr_json_report, &doc, 0, false);
    assert_non_null(strstr(json, "\"bytes\": 1024"));
    assert_non_null(strstr(json, "\"omitted_bytes\": 0"));
    assert_null(strstr(json, "share"));
    assert_null(strstr(json, "\"estimated\": false"));
    free(json);
    mpr_doc_free(&doc);
}

/* Lines are grouped, sorted and ranked according to the table and its columns. */

static void count_rows(struct mpr_arena *arena, void *line, const void *const *row, size_t rows)
{
    struct site *s = line;
    (void)arena;
    (void)row;
    s->all_bytes = rows;
}

static int by_first(const void *left, const void *right)
{
    const struct site *a = left, *b = right;
    return a->first_ns < b->first_ns ? -1 : a->first_ns > b->first_ns;
}

static struct mpr_row row_with_end(const void *row)
{
    const struct site *s = row;
    return (struct mpr_row){ .path = s->path, .bytes = s->bytes, .end_bytes = s->last_ns };
}

static const struct mpr_column ranked_columns[] = {
    { .key = "path", .title = "path", MPR_PATH_FIELD(site, path), .width = 18 },
    { .key = "rows", .title = "rows", .type = MPR_COUNT, OF_SITE(all_bytes) },
    { .key = "end_bytes",
      .title = "at end",
      .type = MPR_BYTES,
      OF_SITE(last_ns),
      .sorted_by = MPR_ORDER_END,
      .if_sorted = true },
};

static void lines_are_joined_sorted_and_ranked(void **state)
{
    (void)state;
    static const struct site row[] = {
        { .path = { step, 2 }, .bytes = 4, .first_ns = 2, .last_ns = 8 },
        { .path = { step, 2 }, .bytes = 4, .first_ns = 2, .last_ns = 8 },
        { .path = { step, 1 }, .bytes = 1, .first_ns = 1, .last_ns = 1, .all_bytes = 1 },
    };
    struct mpr_table t = {
        .title = "sites",
        .only = MPR_FOR_PEOPLE,
        MPR_COLUMNS(ranked_columns),
        MPR_ROWS(row, 3),
        .lines = { .merged = true, .row_of = row_with_end, .join = count_rows, .compare = by_first }
    };
    struct mpr_document doc = { 0 };
    mpr_doc_table(&doc, &t);
    expect(mpr_text_document, &doc, 0,
           "\n"
           "sites                     rows\n"
           "  step                       1\n"
           "  step > loss                2\n");
    mpr_doc_free(&doc);
    const struct mpr_naming naming = { .unfold = true, .order = MPR_ORDER_END };
    doc.naming = &naming;
    mpr_doc_table(&doc, &t);
    expect(mpr_text_document, &doc, 0,
           "\n"
           "sites                     rows      at end\n"
           "  step                       1         1 B\n"
           "  step > loss                2        16 B\n");
    mpr_doc_free(&doc);
}

static struct mpr_value name_for_people(const void *row, const void *context)
{
    (void)row;
    (void)context;
    return mpr_value_text("a longer name");
}

static const struct mpr_column arranged[] = {
    { .key = "growth_bytes", .title = "growth", .type = MPR_CHANGE, OF(growth), .after = "blocks" },
    { .key = "name",
      .title = "name",
      .type = MPR_TEXT,
      OF(name),
      MPR_SHOWN(MPR_TEXT, name_for_people),
      .width = 4,
      .fits = true },
    { .key = "bytes", .title = "bytes", .type = MPR_BYTES, OF(bytes), .if_any = true },
    { .key = "blocks",
      .title = "blocks",
      .type = MPR_COUNT,
      OF(blocks),
      .sums = true,
      .sums_in = MPR_IN_JSON },
};

static void columns_for_people_may_have_another_order_and_other_values(void **state)
{
    (void)state;
    static const struct row row[] = { { .name = "a", .blocks = 2, .growth = 1 },
                                      { .name = "b", .blocks = 3 } };
    struct mpr_document doc = { 0 };
    mpr_doc_table(&doc, &(struct mpr_table){ .key = "rows",
                                             .title = "rows",
                                             .only = MPR_EVERYWHERE,
                                             MPR_COLUMNS(arranged),
                                             MPR_ROWS(row, 2) });
    mpr_doc_csv(&doc, arranged);
    expect(mpr_text_document, &doc, 1,
           "\n"
           "rows               blocks      growth\n"
           "  a longer name         2        +1 B\n"
           "  (1 more)\n");
    expect(mpr_csv_report, &doc, 0, "growth_bytes,name,bytes,blocks\n1,\"a\",0,2\n0,\"b\",0,3\n");
    char *json = text_of(mpr_json_report, &doc, 1, false);
    assert_non_null(strstr(json, "\"omitted_blocks\": 3"));
    free(json);
    mpr_doc_free(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_each_type),
        cmocka_unit_test(text_has_unknown_values_as_a_dash_and_absent_ones_as_nothing),
        cmocka_unit_test(a_text_that_was_never_set_is_absent),
        cmocka_unit_test(json_has_each_type),
        cmocka_unit_test(csv_has_each_type),
        cmocka_unit_test(a_page_has_each_type),
        cmocka_unit_test(people_see_twenty_rows_and_the_sum_of_the_rest),
        cmocka_unit_test(a_table_may_set_the_number_of_rows_for_people),
        cmocka_unit_test(json_has_the_number_of_rows_that_top_left_out),
        cmocka_unit_test(csv_has_all_records_or_the_top_ones),
        cmocka_unit_test(a_partial_table_does_not_count_the_rows_left_out),
        cmocka_unit_test(several_sums_are_in_their_columns),
        cmocka_unit_test(a_total_has_all_rows_except_unknown_values),
        cmocka_unit_test(names_are_harmless_in_each_format),
        cmocka_unit_test(wide_values_move_no_other_column),
        cmocka_unit_test(estimates_times_and_places_are_formatted),
        cmocka_unit_test(people_may_see_rows_in_another_order),
        cmocka_unit_test(lines_have_tones_if_color_is_on),
        cmocka_unit_test(json_has_objects_lists_pairs_and_members),
        cmocka_unit_test(an_empty_table_is_valid_in_each_format),
        cmocka_unit_test(rows_with_one_path_are_one_line_for_people),
        cmocka_unit_test(lines_are_joined_sorted_and_ranked),
        cmocka_unit_test(columns_for_people_may_have_another_order_and_other_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
