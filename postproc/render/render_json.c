/* A document as JSON.  Keys are a contract: memprof-report(1) lists them, and a change of meaning
 * changes the schema's number. */
#include "document.h"
#include "json_document.h"
#include "render.h"
#include "reports.h"

static void known(struct mpr_json *j, const char *key, const struct mpr_value *v)
{
    switch (v->type) {
    case MPR_BYTES:
    case MPR_COUNT:
    case MPR_TIME:
    case MPR_SPAN:
    case MPR_ADDRESS: mpr_json_number(j, key, v->number); return;
    case MPR_SIGNED:
    case MPR_CHANGE: mpr_json_signed(j, key, v->amount); return;
    case MPR_SHARE: mpr_json_percent(j, key, v->percent); return;
    case MPR_FLAG: mpr_json_flag(j, key, v->number); return;
    case MPR_WORD:
    case MPR_TEXT: mpr_json_text(j, key, v->text); return;
    case MPR_PATH: mpr_json_path(j, key, v->path); return;
    case MPR_TEXTS: mpr_json_texts(j, key, v->texts, v->count); return;
    case MPR_NUMBERS: mpr_json_numbers(j, key, v->numbers, v->count); return;
    }
}

static void value(struct mpr_json *j, const char *key, const struct mpr_value *v)
{
    if (v->state == MPR_UNKNOWN) mpr_json_null(j, key);
    else if (v->state == MPR_KNOWN) known(j, key, v);
}

/* ---- tables */

static void fields(struct mpr_json *j, const struct mpr_table *t, const void *row)
{
    for (size_t i = 0; i < t->columns; i++) {
        const struct mpr_column *c = &t->column[i];
        if (!mpr_column_in(c, MPR_IN_JSON)) continue;
        const struct mpr_value v = mpr_table_cell(t, c, row);
        value(j, t->shape == MPR_LISTS ? NULL : c->key, &v);
    }
}

/* The first column is the key of the second. */
static void member(struct mpr_json *j, const struct mpr_table *t, const void *row)
{
    const char *key = NULL;
    for (size_t i = 0; i < t->columns; i++) {
        if (!mpr_column_in(&t->column[i], MPR_IN_JSON)) continue;
        const struct mpr_value v = mpr_table_cell(t, &t->column[i], row);
        if (key) value(j, key, &v);
        else key = v.text;
    }
}

static void one_row(struct mpr_json *j, const struct mpr_table *t, const void *row)
{
    if (t->shape == MPR_MEMBERS) {
        member(j, t, row);
        return;
    }
    mpr_json_open(j, NULL, t->shape == MPR_LISTS ? '[' : '{');
    fields(j, t, row);
    mpr_json_close(j, t->shape == MPR_LISTS ? ']' : '}');
}

static void name_omitted(struct mpr_json *j, const char *key, uint64_t number)
{
    char name[96];
    snprintf(name, sizeof name, "omitted_%s", key);
    mpr_json_number(j, name, number);
}

/* What --top left out: told also where it left out nothing. */
static void omitted(struct mpr_json *j, const struct mpr_table *t, size_t shown)
{
    const bool named = t->omitted;
    if (!named && !(t->all & MPR_IN_JSON)) name_omitted(j, t->key, t->rows - shown);
    for (size_t i = 0; i < t->columns && !(t->all & MPR_IN_JSON); i++) {
        const struct mpr_column *c = &t->column[i];
        if (!c->sums || !mpr_column_in(c, MPR_IN_JSON)) continue;
        const uint64_t sum = mpr_table_sum(t, c, shown, MPR_IN_JSON).number;
        if (!named) name_omitted(j, c->key, sum);
        else if (*t->omitted) mpr_json_number(j, t->omitted, sum);
    }
}

static void table(struct mpr_json *j, const struct mpr_table *t, size_t top)
{
    const bool members = t->shape == MPR_MEMBERS;
    const size_t shown = mpr_table_shown(t, top, MPR_IN_JSON);
    if (!mpr_table_in(t, MPR_IN_JSON)) return;
    if (t->shape == MPR_FACTS) {
        fields(j, t, t->row);
        return;
    }
    mpr_json_open(j, t->key, members ? '{' : '[');
    for (size_t i = 0; i < shown; i++) one_row(j, t, mpr_table_row(t, i, MPR_IN_JSON));
    mpr_json_close(j, members ? '}' : ']');
    omitted(j, t, shown);
}

/* ---- documents */

/* top: rows of a table at most; 0: all. */
static void document(struct mpr_json *j, const struct mpr_document *doc, size_t top)
{
    for (const struct mpr_item *i = doc->first; i; i = i->next) {
        switch (i->kind) {
        case MPR_OPEN: mpr_json_open(j, i->key, i->list ? '[' : '{'); break;
        case MPR_CLOSE: mpr_json_close(j, i->list ? ']' : '}'); break;
        case MPR_FACT: value(j, i->key, &i->value); break;
        case MPR_TABLE: table(j, i->table, top); break;
        case MPR_LINE: break;
        }
    }
}

void mpr_json_log(struct mpr_json *j, const struct mpr_summary *s, struct mpr_instant at)
{
    struct mpr_document doc = { 0 };
    mpr_report_fields(&doc, s);
    mpr_report_too_late_field(&doc, s, at);
    document(j, &doc, 0);
    mpr_doc_free(&doc);
}

void mpr_json_report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style)
{
    struct mpr_json j = { .out = out, .first = true };
    mpr_json_open(&j, NULL, '{');
    document(&j, doc, style->top);
    mpr_json_close(&j, '}');
    if (doc->json_ends_blank) fputc('\n', out);
}
