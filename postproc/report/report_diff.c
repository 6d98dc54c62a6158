/* The differences between two sides: the verdict, a line for each account, then the rows that
 * changed in each account. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "diff.h"
#include "report_rows.h"
#include "reports.h"
#include "units.h"

enum { TOP = 10 }; /* for people, rows of each table */

static const char *const of_words[] = { [MPR_DIFF_DEVICE] = "device",
                                        [MPR_DIFF_HEAP] = "heap",
                                        [MPR_DIFF_COMMS] = "communicators",
                                        [MPR_DIFF_GRAPHS] = "graphs" };
static const char *const kind_words[] = { [MPR_DIFF_GREW] = "grew",
                                          [MPR_DIFF_SHRANK] = "shrank",
                                          [MPR_DIFF_NOISE] = "noise",
                                          [MPR_DIFF_UNMATCHED] = "unmatched" };

/* ---- values */

/* Returns "+17.5 %", "+120 %", "x12.0", "new" or "gone", so that it fits the column. */
static const char *percent(struct mpr_document *doc, const struct mpr_diff_row *r)
{
    const int64_t base = r->base.bytes, now = r->now.bytes;
    if (base == now) return "";
    if (!base) return "new";
    if (!now) return "gone";
    const double share = 100.0 * ((double)now - (double)base) / (double)llabs(base);
    return share >= 1000 ? mpr_arena_format(&doc->arena, "x%.1f", (double)now / (double)base)
                         : mpr_arena_format(&doc->arena, "%+.*f %%", fabs(share) < 99.95, share);
}

/* Returns the larger one of the differences between the runs of a side. */
static int64_t runs_apart(const struct mpr_diff_row *r)
{
    const int64_t base = mpr_signed_sub(r->base.max, r->base.min),
                  now = mpr_signed_sub(r->now.max, r->now.min);
    return base > now ? base : now;
}

/* Returns the text with the standard error of the change: "noise, +-1.05 MiB". */
static const char *with_error(struct mpr_document *doc, const char *text, double variance)
{
    struct mpr_number error;
    if (variance == 0) return text;
    return mpr_arena_format(&doc->arena, "%s%s+-%s", text, *text ? ", " : "",
                            mpr_units_size(&error, mpr_standard_error(variance)));
}

static const char *row_note(struct mpr_document *doc, const struct mpr_diff_row *r)
{
    const char *note = r->kind == MPR_DIFF_NOISE
                           ? "noise"
                           : mpr_report_siblings(doc, r->sibling_least, r->sibling_most);
    return with_error(doc, note, r->variance);
}

static const char *account_note(struct mpr_document *doc, const struct mpr_diff_account *a)
{
    const char *note =
        a->inside ? mpr_arena_format(&doc->arena, "inside %s", mpr_heap_name(a->inside)) : "";
    if (!a->total.change) return note;
    return with_error(doc, a->total.kind == MPR_DIFF_NOISE ? "noise" : note, a->total.variance);
}

#define ROW(function, ...) MPR_VALUE(function, mpr_diff_row, r, __VA_ARGS__)
ROW(row_path, mpr_value_shortened(r->path, r->caller))
ROW(row_kind, mpr_value_text(kind_words[r->kind]))
/* The error is absent if the change is exact. */
ROW(row_error, r->variance > 0 ? mpr_value_number(MPR_BYTES, mpr_standard_error(r->variance))
                               : mpr_value_absent)
ROW(row_percent, mpr_value_text(percent(doc, r)))
ROW(row_apart, mpr_value_amount(MPR_SIGNED, runs_apart(r)))
ROW(row_note_text, mpr_value_text(row_note(doc, r)))
MPR_VALUE_IN(row_of_what, mpr_diff_row, r, mpr_diff_account, a,
             mpr_value_text(of_words[a->subject]))

#define ACCOUNT(function, ...) MPR_VALUE(function, mpr_diff_account, a, __VA_ARGS__)
ACCOUNT(account_of_what, mpr_value_text(of_words[a->subject]))
ACCOUNT(account_noise, mpr_value_flag(a->total.kind == MPR_DIFF_NOISE))
ACCOUNT(account_note_text, mpr_value_text(account_note(doc, a)))

/* ---- columns */

#define OF_ROW(member)     MPR_FIELD(mpr_diff_row, member)
#define OF_ACCOUNT(member) MPR_FIELD(mpr_diff_account, member)

// clang-format off
/* columns of a row, or of an account, which begins with its total */
#define CHANGE_COLUMNS                                                                             \
    { .key = "base_bytes", .title = "base", .type = MPR_SIGNED, OF_ROW(base.bytes), .width = 12,      \
      .sums = true, .sums_in = MPR_FOR_PEOPLE, .estimate = true },                                 \
    { .key = "new_bytes", .title = "new", .type = MPR_SIGNED, OF_ROW(now.bytes), .width = 11,         \
      .lead = " -> ", .sums = true, .sums_in = MPR_FOR_PEOPLE, .estimate = true, .spare = 3 },     \
    { .key = "change_bytes", .title = "change", .type = MPR_CHANGE, OF_ROW(change), .width = 13,   \
      .sums = true, .sums_in = MPR_FOR_PEOPLE, .estimate = true },                                 \
    { .key = "base_least_bytes", .type = MPR_SIGNED, OF_ROW(base.min) },                         \
    { .key = "base_most_bytes", .type = MPR_SIGNED, OF_ROW(base.max) },                           \
    { .key = "new_least_bytes", .type = MPR_SIGNED, OF_ROW(now.min) },                           \
    { .key = "new_most_bytes", .type = MPR_SIGNED, OF_ROW(now.max) },                             \
    { .title = "", .type = MPR_TEXT, .get = row_percent, .width = 7, .spare = 2 },                 \
    { .title = "run spread", .type = MPR_SIGNED, .get = row_apart, .width = 13, .spare = 1 }

static const struct mpr_column account_columns[] = {
    { .key = "of", .get = account_of_what },
    { .key = "name", .title = "", .type = MPR_TEXT, OF_ACCOUNT(name), .width = MPR_WIDE },
    { .key = "inside", .type = MPR_TEXT, OF_ACCOUNT(inside), .unless = MPR_ABSENT_AT_0 },
    CHANGE_COLUMNS,
    { .key = "noise", .get = account_noise },
    { .key = "change_error_bytes", .type = MPR_BYTES, .get = row_error },
    { .title = "", .type = MPR_TEXT, .get = account_note_text },
};

enum { PATH = 36 }; /* width of a path */
static const struct mpr_column row_columns[] = {
    { .key = "of", .get = row_of_what, .only = MPR_IN_CSV },
    { .key = "heap", .type = MPR_TEXT, MPR_CONTEXT(mpr_diff_account, name), .only = MPR_IN_CSV },
    { .key = "kind", .get = row_kind },
    { .key = "path", MPR_PATH_FIELD(mpr_diff_row, path), .only = MPR_IN_JSON },
    { .key = "site", MPR_PATH_FIELD(mpr_diff_row, path), .only = MPR_IN_CSV },
    { .title = "", .type = MPR_PATH, .get = row_path, .width = PATH },
    { .key = "caller", .type = MPR_TEXT, OF_ROW(caller), .unless = MPR_UNKNOWN_AT_0 },
    CHANGE_COLUMNS,
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(estimated), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_JSON },
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(estimated), .only = MPR_IN_CSV },
    { .key = "change_error_bytes", .type = MPR_BYTES, .get = row_error },
    { .title = "", .type = MPR_TEXT, .get = row_note_text },
};
// clang-format on

static bool is_estimated(const void *row) { return ((const struct mpr_diff_row *)row)->estimated; }

/* ---- tables for people */

/* Adds a table for people. With one run on each side, it has no column for differences between
 * the runs of a side. */
static void table(struct mpr_document *doc, const struct mpr_diff *diff, struct mpr_table t)
{
    struct mpr_column *column = mpr_arena_alloc(&doc->arena, t.columns * sizeof *column);
    memcpy(column, t.column, t.columns * sizeof *column);
    for (size_t i = 0; diff->peaks.logs == 2 && i < t.columns; i++)
        if (column[i].get == row_apart) column[i].title = NULL;
    t.only = MPR_FOR_PEOPLE;
    t.column = column;
    t.top = TOP;
    t.estimated = is_estimated;
    mpr_doc_table(doc, &t);
}

static void row_table(struct mpr_document *doc, const struct mpr_diff *diff, const char *title,
                      const struct mpr_diff_row *row, size_t rows, enum mpr_group by)
{
    table(doc, diff,
          (struct mpr_table){
              .title = title, MPR_COLUMNS(row_columns), MPR_ROWS(row, rows), .by = by });
}

static void account_table(struct mpr_document *doc, const struct mpr_diff *diff)
{
    const struct mpr_log_peaks *log = diff->peaks.log;
    const char *title = mpr_instant_is_peak(log->at)              ? "at the peak"
                        : log->at.from == log[diff->base].at.from ? "at that time"
                                                                  : "at these times";
    table(doc, diff,
          (struct mpr_table){ .title = title,
                              MPR_COLUMNS(account_columns),
                              MPR_ROWS(diff->account, diff->accounts),
                              .all = MPR_FOR_PEOPLE });
}

/* Merges the rows of noise, which are first, to one. Returns the remaining number of rows. */
static size_t merge_noise(struct mpr_document *doc, struct mpr_diff_row *row, size_t rows)
{
    size_t noise = 0;
    while (noise < rows && row[noise].kind == MPR_DIFF_NOISE) noise++;
    if (noise < 2) return rows;
    for (size_t i = 1; i < noise; i++) {
        row->base.bytes = mpr_signed_add(row->base.bytes, row[i].base.bytes);
        row->now.bytes = mpr_signed_add(row->now.bytes, row[i].now.bytes);
        row->change = mpr_signed_add(row->change, row[i].change);
        row->estimated |= row[i].estimated;
        row->variance += row[i].variance;
    }
    const char *lines = mpr_arena_format(&doc->arena, "%zu lines", noise);
    row->path = mpr_frame_labels(&doc->arena, &lines, 1);
    row->caller = "";
    memmove(row + 1, row + noise, (rows - noise) * sizeof *row);
    return rows - noise + 1;
}

/* Adds a table for each kind of row. Rows are sorted by kind. */
static void changes(struct mpr_document *doc, const struct mpr_diff *diff,
                    const struct mpr_diff_account *a)
{
    size_t rows;
    const char *by = a->subject == MPR_DIFF_HEAP ? mpr_group_word(a->by) : "";
    struct mpr_diff_row *row = mpr_diff_rows(&doc->arena, diff, a, mpr_report_naming(doc), &rows);
    for (enum mpr_diff_kind kind = MPR_DIFF_GREW; kind <= MPR_DIFF_SHRANK; kind++) {
        size_t count = 0;
        while (count < rows && row[count].kind == kind) count++;
        row_table(doc, diff,
                  mpr_arena_format(&doc->arena, "%s %s%s%s", a->name, kind_words[kind],
                                   *by ? ", by " : "", by),
                  row, count, a->by);
        row += count;
        rows -= count;
    }
    rows = merge_noise(doc, row, rows);
    row_table(doc, diff, mpr_arena_format(&doc->arena, "%s, noise or unmatched", a->name), row,
              rows, a->by);
}

/* ---- sides */

static void side(struct mpr_document *doc, const char *key, const struct mpr_log_peaks *log,
                 size_t logs)
{
    mpr_doc_list(doc, key);
    for (size_t i = 0; i < logs; i++) {
        const struct mpr_instant at = mpr_report_shown_instant(&log[i].summary, log[i].at);
        mpr_doc_open(doc, NULL);
        mpr_report_log_fields(doc, &log[i].summary);
        mpr_doc_fact(doc, "at_ns", mpr_value_known(MPR_TIME, at.from, MPR_PEAK_TIME));
        mpr_report_too_late_field(doc, &log[i].summary, log[i].at);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
    for (size_t i = 0; i < logs; i++) {
        const struct mpr_summary *s = &log[i].summary;
        const struct mpr_instant at = mpr_report_shown_instant(s, log[i].at);
        mpr_doc_add_plain(doc, "%-5s", i ? "" : key);
        mpr_doc_add(doc, MPR_STRONG, "%s", s->path);
        mpr_doc_add_plain(doc, "  %s", mpr_report_label(doc, s));
        if (!mpr_instant_is_peak(at))
            mpr_doc_add_plain(doc, "  at %s", mpr_doc_instant(doc, at.from, at.to - at.from + 1));
        mpr_doc_end(doc);
        mpr_report_too_late_line(doc, s, log[i].at);
        mpr_report_recording(doc, &s->recording);
        if (!s->incomplete) continue;
        mpr_doc_add(doc, MPR_WARN,
                    "warning: this log is incomplete; memprof-report log info tells why");
        mpr_doc_end(doc);
    }
}

/* ---- all */

static struct mpr_value note_text(const void *row, const void *context)
{
    (void)context;
    return mpr_value_text(*(const char *const *)row);
}

static const struct mpr_column note_columns[] = { { .key = "note", .get = note_text } };

/* Says that nothing differs, with the total of each account. Graphs and communicators may have
 * negative bytes, because they are measured around calls. */
static void same(struct mpr_document *doc, const struct mpr_diff *diff)
{
    struct mpr_number n;
    if (!diff->accounts) {
        mpr_doc_line(doc, "no allocations were recorded");
        return;
    }
    mpr_doc_add_plain(doc, diff->peaks.logs > 2 ? "the runs that represent the sides do not differ"
                                                : "nothing differs");
    for (size_t i = 0; i < diff->accounts; i++) {
        const struct mpr_diff_account *a = &diff->account[i];
        mpr_doc_add_plain(doc, "%s %s %s%s", i ? "," : ":", a->name, a->inside ? "~" : "",
                          mpr_units_signed(&n, a->total.now.bytes));
    }
    mpr_doc_end(doc);
}

static void text(struct mpr_document *doc, const struct mpr_diff *diff)
{
    bool any = false, all_noise = true, sums_differ = false;
    for (size_t i = 0; i < diff->accounts; i++) {
        const struct mpr_diff_account *a = &diff->account[i];
        any |= a->rows != 0;
        sums_differ |= a->total.change && a->total.kind != MPR_DIFF_NOISE;
        for (size_t k = 0; k < a->rows; k++) all_noise &= a->row[k].kind == MPR_DIFF_NOISE;
    }
    if (*diff->peaks.log[0].choice.source || diff->names_differ || diff->notes || !any || all_noise)
        mpr_doc_gap(doc); /* a table has its own gap */
    mpr_report_choice(doc, &diff->peaks.log[0].choice);
    if (diff->names_differ)
        mpr_doc_line(doc, "the runs do not have the same kinds of names: --by chooses one for all");
    for (size_t i = 0; i < diff->notes; i++) mpr_doc_line(doc, "%s", diff->note[i]);
    if (!any) {
        same(doc, diff);
        return;
    }
    if (all_noise)
        mpr_doc_line(doc, "%s %s",
                     sums_differ ? "every change of a line of the heaps" : "every change",
                     diff->peaks.logs > 2 ? "is at most the difference between the runs of one side"
                                          : "is at most the random error of the samples");
    account_table(doc, diff);
    for (size_t i = 0; i < diff->accounts; i++) changes(doc, diff, &diff->account[i]);
}

void mpr_report_diff(struct mpr_document *doc, const struct mpr_diff *diff,
                     const struct mpr_verdict *verdict)
{
    const struct mpr_log_peaks *log = diff->peaks.log;
    mpr_report_schema(doc, "memprof.diff/1");
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_name[log[0].choice.by]));
    side(doc, "base", log, diff->base);
    side(doc, "new", log + diff->base, diff->peaks.logs - diff->base);
    mpr_doc_gap(doc);
    mpr_report_verdict(doc, diff, verdict);
    mpr_doc_objects(doc, "devices", note_columns, diff->note, diff->notes);
    mpr_doc_list(doc, "accounts");
    for (const struct mpr_diff_account *a = diff->account; a < diff->account + diff->accounts;
         a++) {
        mpr_doc_open(doc, NULL);
        mpr_doc_facts(doc, account_columns, a);
        mpr_doc_rows(doc, row_columns, a->row, a->rows, .key = "rows",
                     .only = MPR_IN_JSON | MPR_IN_CSV, .context = a,
                     .folded = { a->name, NULL, "new_bytes", "base_bytes" });
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
    text(doc, diff);
    mpr_doc_csv(doc, row_columns);
}
