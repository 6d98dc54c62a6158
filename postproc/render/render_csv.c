/* Documents and timelines as CSV (RFC 4180, one header line).  Numbers are exact, and the elements
 * of a path are joined by " > ". */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "cells.h"
#include "document.h"
#include "render.h"
#include "timeline.h"
#include "utf8.h"

/* ---- fields */

/* Returns true if a spreadsheet would read the text as a formula.  In some languages it accepts the
 * full-width forms of the signs as well. */
static bool is_formula(const char *text)
{
    uint32_t code;
    do {
        if (!*text || !mpr_utf8_next(&text, &code)) return false;
    } while (code == ' ' || code == 0xa0 || code == 0x3000);
    if (code > 0xff00 && code < 0xff5f) code -= 0xff00 - 0x20;
    return code < 0x80 && strchr("=+-@", (char)code);
}

/* Writes a text.  A formula after a semicolon gets an apostrophe, which makes it a text, because
 * with some languages a semicolon ends a cell even between quotes. */
static void write_text(FILE *out, const char *text)
{
    while (*text) {
        const char *const start = text;
        uint32_t code;
        if (!mpr_utf8_next(&text, &code)) fputs("\xef\xbf\xbd", out);
        else if (code == '"') fputs("\"\"", out);
        else if (mpr_utf8_unsafe(code)) mpr_utf8_escape(out, code);
        else fwrite(start, 1, (size_t)(text - start), out);
        if (code == ';' && is_formula(text)) fputc('\'', out);
    }
}

static const struct mpr_cell_style csv = { write_text, " > " };

/* @begins: the first text of the value, or "" */
static void field(FILE *out, const struct mpr_value *v, const char *begins)
{
    fputc('"', out);
    if (is_formula(begins)) fputc('\'', out);
    mpr_cell_text(out, &csv, MPR_GROUP_RANGE, v);
    fputc('"', out);
}

static void text_field(FILE *out, const char *text)
{
    field(out, &(struct mpr_value){ .type = MPR_TEXT, .text = text }, text);
}

static void path_field(FILE *out, struct mpr_path path)
{
    field(out, &(struct mpr_value){ .type = MPR_PATH, .path = path },
          path.depth ? path.frame[0]->text : "");
}

/* ---- documents */

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
    case MPR_TEXT: text_field(out, v->text); return;
    case MPR_PATH: path_field(out, v->path); return;
    case MPR_WORD:
    case MPR_NUMBERS: mpr_cell_text(out, &csv, MPR_GROUP_RANGE, v); return;
    case MPR_TEXTS: return; /* in JSON only */
    }
}

/* @row: NULL writes the header line */
static void record(FILE *out, const struct mpr_table *t, const void *row)
{
    const char *comma = "";
    for (const struct mpr_column *c = t->column; c < t->column + t->columns; c++) {
        if (!mpr_column_is_in(c, MPR_IN_CSV)) continue;
        fputs(comma, out);
        comma = ",";
        if (!row) {
            fputs(c->key, out);
            continue;
        }
        const struct mpr_value v = mpr_table_cell(t, c, row);
        value(out, &v);
    }
    fputc('\n', out);
}

void mpr_csv_report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style)
{
    record(out, &(struct mpr_table){ .column = doc->csv, .columns = doc->csv_columns }, NULL);
    for (const struct mpr_item *i = doc->first; i; i = i->next) {
        if (i->kind != MPR_TABLE || !mpr_table_is_in(i->table, MPR_IN_CSV)) continue;
        const size_t shown = mpr_table_shown(i->table, style->top, MPR_IN_CSV);
        for (size_t k = 0; k < shown; k++)
            record(out, i->table, mpr_table_row(i->table, k, MPR_IN_CSV));
    }
}

/* ---- timelines: a record for each span and each band with bytes at the span's maximum */

static void span_fields(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_timeline *h,
                        const struct mpr_span *s)
{
    text_field(out, t->summary.path);
    fprintf(out,
            ",%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
            ",%" PRIu64 ",",
            t->summary.process.pid, mpr_heap_name(h->heap), s->start, s->time, s->max, s->min,
            s->close, s->allocs, s->frees);
}

static void heap_records(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_timeline *h)
{
    uint64_t *bytes = mpr_alloc(h->bands, sizeof *bytes);
    for (size_t i = 0, at = 0; i < h->spans; i++) {
        bool any = false;
        for (; at < h->span[i].end; at++) bytes[h->change[at].band] = h->change[at].bytes;
        for (size_t k = 0; k < h->bands; k++) {
            if (!bytes[k]) continue;
            span_fields(out, t, h, &h->span[i]);
            if (h->band[k].kind == MPR_BAND_OTHER) text_field(out, "everything else");
            else path_field(out, h->band[k].path);
            fprintf(out, ",%" PRIu64 "\n", bytes[k]);
            any = true;
        }
        if (any) continue;
        span_fields(out, t, h, &h->span[i]);
        fputs(",0\n", out);
    }
    free(bytes);
}

static void timeline(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style)
{
    (void)style;
    fputs("log,pid,heap,start_ns,time_of_max_ns,max_bytes,min_bytes,end_bytes,allocations,frees,"
          "path,bytes_at_max\n",
          out);
    for (size_t i = 0; i < t->heaps; i++) heap_records(out, t, &t->heap[i]);
}

const struct mpr_renderer mpr_render_csv = { mpr_csv_report, timeline };
