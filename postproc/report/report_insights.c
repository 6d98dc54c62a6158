/* Findings: what was measured, the advice, and the report that shows more. */
#include "insights.h"

#include <string.h>

#include "basename.h"
#include "report_rows.h"
#include "reports.h"
#include "utf8.h"

/* ---- fields */

/* A finding and its sentences. */
struct row {
    struct mpr_finding finding;
    struct mpr_finding_text text;
};

#define OF(member)      MPR_FIELD(row, finding.member)
#define OF_TEXT(member) MPR_FIELD(row, text.member)

// clang-format off
static const struct mpr_column columns[] = {
    { .key = "log", .type = MPR_TEXT, MPR_CONTEXT(mpr_summary, path), .only = MPR_IN_CSV },
    { .key = "finding", .type = MPR_WORD, OF(kind), .words = mpr_finding_keys },
    { .key = "where", .type = MPR_WORD, OF_TEXT(where) },
    { .key = "saves_at_most_bytes", .type = MPR_BYTES, OF(bytes) },
    { .key = "estimated", .type = MPR_FLAG, OF(estimated), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_JSON },
    { .key = "possible", .type = MPR_FLAG, OF(weak), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_JSON },
    { .key = "what", .type = MPR_TEXT, OF_TEXT(what) },
    { .key = "path", MPR_PATH_FIELD(row, finding.path), .unless = MPR_ABSENT_AT_0 },
    { .key = "change", .type = MPR_TEXT, OF_TEXT(change) },
    { .key = "report", .type = MPR_TEXT, OF_TEXT(report) },
};

static const struct mpr_column fact_columns[] = {
    { .key = "number", .type = MPR_WORD, MPR_FIELD(mpr_fact, key) },
    { .key = "value", .type = MPR_COUNT, MPR_FIELD(mpr_fact, value) },
};
// clang-format on

static const struct row *rows_of(struct mpr_document *doc, const struct mpr_insights *insights)
{
    struct row *row = mpr_arena_alloc(&doc->arena, insights->findings * sizeof *row);
    for (size_t i = 0; i < insights->findings; i++)
        row[i] = (struct row){ insights->finding[i],
                               mpr_finding_text(&doc->arena, &insights->finding[i]) };
    return row;
}

/* Returns the number of findings that --top leaves. */
static size_t shown(const struct mpr_document *doc, const struct mpr_insights *insights)
{
    return doc->top && doc->top < insights->findings ? doc->top : insights->findings;
}

void mpr_report_finding_fields(struct mpr_document *doc, const struct mpr_insights *insights)
{
    const size_t count = shown(doc, insights);
    const struct row *row = rows_of(doc, insights);
    mpr_doc_list(doc, "findings");
    for (size_t i = 0; i < count; i++) {
        const struct mpr_finding *f = &row[i].finding;
        mpr_doc_open(doc, NULL);
        mpr_doc_facts(doc, columns, &row[i]);
        mpr_doc_rows(doc, fact_columns, f->fact, f->facts, .key = "numbers", .only = MPR_IN_JSON,
                     .all = MPR_IN_JSON, .shape = MPR_MEMBERS);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
    if (doc->top)
        mpr_doc_fact(doc, "omitted_findings",
                     mpr_value_number(MPR_COUNT, insights->findings - count));
}

/* ---- lines */

const char *mpr_report_finding_words(struct mpr_document *doc, const struct mpr_finding *f)
{
    const char *what = mpr_finding_text(&doc->arena, f).what;
    if (!f->path.frame) return what;
    return mpr_arena_format(&doc->arena, "%s: %s", what, mpr_report_path_words(doc, f->path));
}

const char *mpr_report_folder(struct mpr_document *doc, const char *path)
{
    const int folder = (int)(mpr_basename(path) - path);
    if (!folder) return ".";
    return mpr_arena_format(&doc->arena, "%.*s", folder > 1 ? folder - 1 : folder, path);
}

/* The path is the log's, or the folder of its run if the report compares processes. */
const char *mpr_report_finding_command(struct mpr_document *doc,
                                       const struct mpr_insights *insights,
                                       const struct mpr_finding *f)
{
    const char *report = mpr_finding_text(&doc->arena, f).report,
               *path = insights->peaks.log[0].summary.path;
    const bool of_run = strcmp(report, "processes") == 0 || strcmp(report, "ranks") == 0 ||
                        (f->kind == MPR_FINDING_OTHER_PROCESS && insights->family);
    if (of_run) path = mpr_report_folder(doc, path);
    return mpr_arena_format(&doc->arena, "memprof-report %s %s", report,
                            mpr_shell_word(&doc->arena, path));
}

void mpr_report_findings(struct mpr_document *doc, const struct mpr_insights *insights, size_t max)
{
    enum { HANG = 20 }; /* columns before the sentence */
    for (size_t i = 0; i < insights->findings && i < max; i++) {
        const struct mpr_finding *f = &insights->finding[i];
        const struct mpr_finding_text text = mpr_finding_text(&doc->arena, f);
        mpr_doc_add(doc, MPR_STRONG, "%12s",
                    mpr_arena_format(&doc->arena, "%s%s", f->estimated ? "~" : "",
                                     mpr_doc_size(doc, f->bytes)));
        mpr_doc_add_plain(doc, "  %-4s  %s", text.where, mpr_report_finding_words(doc, f));
        mpr_doc_end_wrapped(doc, HANG);
        mpr_doc_add_plain(doc, "%*stry: %s", HANG, "", text.change);
        mpr_doc_end_wrapped(doc, HANG + 5);
        mpr_doc_command(doc, "%*ssee: %s", HANG, "", mpr_report_finding_command(doc, insights, f));
    }
}

void mpr_report_insights(struct mpr_document *doc, const struct mpr_insights *insights)
{
    const struct mpr_log_peaks *log = &insights->peaks.log[0];
    const size_t count = shown(doc, insights);
    const struct row *row = rows_of(doc, insights);
    mpr_report_schema(doc, "memprof.insights/1");
    mpr_report_log(doc, &log->summary);
    mpr_report_finding_fields(doc, insights);
    mpr_doc_rows(doc, columns, row, insights->findings, .only = MPR_IN_CSV,
                 .context = &log->summary, .folded = { NULL, "finding", "saves_at_most_bytes" });
    mpr_doc_csv(doc, columns);
    mpr_doc_gap(doc);
    if (insights->findings) mpr_doc_line(doc, "findings (at most this much less at the peak)");
    else mpr_doc_line(doc, "no findings");
    mpr_report_findings(doc, insights, count);
    if (count < insights->findings) mpr_doc_line(doc, "  (%zu more)", insights->findings - count);
}
