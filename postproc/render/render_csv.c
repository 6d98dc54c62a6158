/* A document's table as CSV (RFC 4180, one header line): exact numbers; a path's elements are
 * joined by " > ". */
#include <inttypes.h>

#include "csv.h"
#include "document.h"
#include "render.h"

static void value(FILE *out, const struct mpr_value *v)
{
    if (v->state != MPR_KNOWN) return;
    switch (v->type) {
    case MPR_BYTES:
    case MPR_COUNT:
    case MPR_TIME:
    case MPR_SPAN:
    case MPR_ADDRESS:
    case MPR_FLAG: fprintf(out, "%" PRIu64, v->number); return;
    case MPR_SIGNED:
    case MPR_CHANGE: fprintf(out, "%" PRId64, v->amount); return;
    case MPR_SHARE: fprintf(out, "%.6f", v->percent / 100); return;
    case MPR_WORD: fputs(v->text, out); return;
    case MPR_TEXT: mpr_csv_field(out, v->text); return;
    case MPR_PATH: mpr_csv_path(out, v->path); return;
    case MPR_TEXTS: return; /* in JSON only */
    case MPR_NUMBERS:
        for (size_t i = 0; i < v->count; i++)
            fprintf(out, "%s%" PRIu64, i ? ":" : "", v->numbers[i]);
        return;
    }
}

static void header(FILE *out, const struct mpr_document *doc)
{
    const char *before = "";
    for (size_t i = 0; i < doc->csv_columns; i++) {
        if (!mpr_column_in(&doc->csv[i], MPR_IN_CSV)) continue;
        fprintf(out, "%s%s", before, doc->csv[i].key);
        before = ",";
    }
    fputc('\n', out);
}

static void record(FILE *out, const struct mpr_table *t, const void *row)
{
    const char *before = "";
    for (size_t i = 0; i < t->columns; i++) {
        if (!mpr_column_in(&t->column[i], MPR_IN_CSV)) continue;
        const struct mpr_value v = mpr_table_cell(t, &t->column[i], row);
        fputs(before, out);
        value(out, &v);
        before = ",";
    }
    fputc('\n', out);
}

void mpr_csv_report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style)
{
    header(out, doc);
    for (const struct mpr_item *i = doc->first; i; i = i->next) {
        if (i->kind != MPR_TABLE || !mpr_table_in(i->table, MPR_IN_CSV)) continue;
        const size_t shown = mpr_table_shown(i->table, style->top, MPR_IN_CSV);
        for (size_t k = 0; k < shown; k++)
            record(out, i->table, mpr_table_row(i->table, k, MPR_IN_CSV));
    }
}
