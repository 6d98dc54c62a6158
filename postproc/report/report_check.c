/* The limits of runs: a line for each limit that is exceeded. */
#include <string.h>

#include "check.h"
#include "readings.h"
#include "report_rows.h"
#include "reports.h"

const char *mpr_report_limit(struct mpr_document *doc, const struct mpr_check_row *r)
{
    if (r->limit.kind == MPR_LIMIT_DEVICE)
        return mpr_arena_format(&doc->arena, "%s used bytes", r->limit.account);
    if (!*r->limit.name) return r->limit.account;
    return mpr_arena_format(&doc->arena, "%s \"%s\" of %s", mpr_limit_words[r->limit.kind],
                            r->limit.name, r->limit.account);
}

const char *mpr_report_broken(struct mpr_document *doc, const struct mpr_check_row *r)
{
    const char *about = r->is_approximate ? "~" : "";
    const char *allowed =
        r->limit.bytes ? mpr_arena_format(&doc->arena, "limit %s (%s), %s%s too much",
                                          mpr_doc_size(doc, r->limit.bytes), r->limit.from, about,
                                          mpr_doc_size(doc, r->over))
                       : mpr_arena_format(&doc->arena, "none is allowed (%s)", r->limit.from);
    const char *text = mpr_arena_format(&doc->arena, "%s: %s%s, %s", mpr_report_limit(doc, r),
                                        about, mpr_doc_size(doc, r->bytes), allowed);
    size_t lines, live;
    if (r->limit.kind == MPR_LIMIT_RSS || r->limit.kind == MPR_LIMIT_CGROUP)
        return mpr_arena_format(&doc->arena, "%s; reached %s", text,
                                mpr_report_reached(doc, &r->reached));
    if (*r->grown)
        return mpr_arena_format(&doc->arena, "%s; largest growth: %s+%s in %s", text,
                                r->grown_estimated ? "~" : "", mpr_doc_size(doc, r->grown_bytes),
                                r->grown);
    if (!r->rows) return text; /* it is a line itself */
    const struct mpr_line *largest = mpr_naming_lines(&doc->arena, mpr_report_naming(doc), r->by,
                                                      r->row, r->rows, &lines, &live);
    return mpr_arena_format(&doc->arena, "%s; %s %s%s in %s", text,
                            largest->row.bytes >= r->bytes / 2 ? "most of it" : "the largest part",
                            largest->row.estimated ? "~" : "",
                            mpr_doc_size(doc, largest->row.bytes),
                            mpr_report_call_words(doc, largest->row.path, largest->caller));
}

/* ---- fields */

#define OF(member) MPR_FIELD(mpr_check_row, member)

MPR_VALUE(of_what, mpr_check_row, r, mpr_value_text(mpr_limit_words[r->limit.kind]))
MPR_VALUE(is_broken, mpr_check_row, r, mpr_value_flag(r->over))
/* A spreadsheet would take "--max" for a formula. */
MPR_VALUE(csv_from, mpr_check_row, r, mpr_value_text(r->limit.from + strspn(r->limit.from, "-")))

static const struct mpr_column columns[] = {
    { .key = "log", .type = MPR_TEXT, OF(log) },
    { .key = "of", .get = of_what },
    { .key = "name", .type = MPR_TEXT, OF(limit.name), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "heap", .type = MPR_TEXT, OF(limit.account) },
    { .key = "limit_bytes", .type = MPR_BYTES, OF(limit.bytes) },
    { .key = "bytes", .type = MPR_BYTES, OF(bytes) },
    { .key = "over_bytes", .type = MPR_BYTES, OF(over) },
    { .key = "broken", .get = is_broken },
    { .key = "heap_absent", .type = MPR_FLAG, OF(absent) },
    { .key = "unmatched", .type = MPR_FLAG, OF(unmatched) },
    { .key = "from", .type = MPR_TEXT, OF(limit.from), .only = MPR_IN_JSON },
    { .key = "from", .type = MPR_TEXT, .get = csv_from, .only = MPR_IN_CSV },
    { .key = "optional", .type = MPR_FLAG, OF(limit.optional) },
    { .key = "not_found", .type = MPR_FLAG, OF(not_found) },
    { .key = "nearest",
      .type = MPR_TEXT,
      OF(nearest),
      .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_JSON },
};

/* ---- lines */

/* A limit that matches nothing may have a misspelt or outdated name. */
static void not_found_line(struct mpr_document *doc, const struct mpr_check_row *r)
{
    const char *quote = r->absent ? "" : "\"";
    mpr_doc_add(doc, MPR_WARN, "NOT FOUND");
    mpr_doc_add_plain(doc, " %s (%s)", mpr_report_limit(doc, r), r->limit.from);
    if (*r->nearest)
        mpr_doc_add_plain(
            doc, "; did you mean %s%s%s%s?",
            !r->absent && r->nearest_is_line && r->limit.kind != MPR_LIMIT_LINE ? "line " : "",
            quote, r->nearest, quote);
    mpr_doc_end(doc);
}

/* A limit that matches nothing in this log is kept if it is optional or matches in another log. */
static void note_line(struct mpr_document *doc, const struct mpr_check_row *r)
{
    const bool sampled = r->limit.kind == MPR_LIMIT_RSS || r->limit.kind == MPR_LIMIT_CGROUP;
    if (r->absent && sampled)
        mpr_doc_line(doc, "note: %s has no sample of %s", r->log, r->limit.account);
    else if (r->absent)
        mpr_doc_line(doc, "note: %s has no %s, which counts as 0 B", r->log, r->limit.account);
    if (r->unmatched)
        mpr_doc_line(doc, "note: %s has no %s (%s)", r->log, mpr_report_limit(doc, r),
                     r->limit.from);
}

/* Notes on limits of the budget that match nothing in some logs, then on those of a base. */
static void notes(struct mpr_document *doc, const struct mpr_check *check)
{
    for (size_t limit = 0; limit < check->budget->limits && limit < check->budget_rows; limit++) {
        const struct mpr_check_row *r = &check->row[limit];
        size_t logs = 0, lacking = 0;
        for (size_t i = limit; i < check->budget_rows; i += check->budget->limits, logs++)
            lacking += check->row[i].absent || check->row[i].unmatched;
        if (r->not_found) not_found_line(doc, r);
        else if (logs == 1) note_line(doc, r);
        else if (lacking)
            mpr_doc_line(doc, "note: %zu of %zu logs have no %s (%s)", lacking, logs,
                         mpr_report_limit(doc, r), r->limit.from);
    }
    for (size_t i = check->budget_rows; i < check->rows; i++) note_line(doc, &check->row[i]);
}

static void sum_line(struct mpr_document *doc, const struct mpr_check *check)
{
    if (!check->rows) mpr_doc_line(doc, "no limits: nothing was checked");
    else if (check->broken && check->not_found)
        mpr_doc_line(doc, "%zu of %zu limits exceeded, %zu not found", check->broken, check->rows,
                     check->not_found);
    else if (check->broken)
        mpr_doc_line(doc, "%zu of %zu limits exceeded", check->broken, check->rows);
    else if (check->not_found == check->rows)
        mpr_doc_line(doc, check->rows == 1 ? "the limit was not found: nothing was checked"
                                           : "no limit was found: nothing was checked");
    else if (check->not_found)
        mpr_doc_line(doc, "%zu of %zu limits not found, the other%s kept", check->not_found,
                     check->rows, check->rows - check->not_found == 1 ? " one is" : "s are");
    else if (check->rows == 1) mpr_doc_line(doc, "the limit is kept");
    else mpr_doc_line(doc, "all %zu limits are kept", check->rows);
}

void mpr_report_check(struct mpr_document *doc, const struct mpr_check *check)
{
    mpr_report_schema(doc, "memprof.check/1");
    mpr_doc_fact(doc, "broken", mpr_value_number(MPR_COUNT, check->broken));
    mpr_doc_fact(doc, "not_found", mpr_value_number(MPR_COUNT, check->not_found));
    mpr_doc_rows(doc, columns, check->row, check->rows, .key = "limits",
                 .only = MPR_IN_JSON | MPR_IN_CSV, .all = MPR_EVERYWHERE);
    for (const struct mpr_check_row *r = check->row; r < check->row + check->rows; r++) {
        if (!r->over) continue;
        mpr_doc_add(doc, MPR_WARN, "OVER LIMIT");
        mpr_doc_add_plain(doc, " %s", mpr_report_broken(doc, r));
        if (strcmp(check->row[0].log, check->row[check->rows - 1].log) != 0)
            mpr_doc_add_plain(doc, "  [%s]", r->log);
        mpr_doc_end(doc);
    }
    notes(doc, check);
    sum_line(doc, check);
    mpr_doc_csv(doc, columns);
}
