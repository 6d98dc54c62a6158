/* Documents and timelines as JSON.  Other programs rely on the keys: memprof-report(1) lists them,
 * and if a meaning changes, so does the number of the schema. */
#include <stdlib.h>

#include "alloc.h"
#include "document.h"
#include "json.h"
#include "mpf/sample.h"
#include "peaks.h"
#include "render.h"
#include "reports.h"
#include "timeline.h"

/* ---- tables */

static void value(struct mpr_json *j, const char *key, const struct mpr_value *v)
{
    if (v->omitted) return;
    if (v->state == MPR_UNKNOWN) mpr_json_null(j, key);
    if (v->state != MPR_KNOWN) return;
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

/* Writes a row.  In an MPR_MEMBERS table the first column is the key of the second. */
static void fields(struct mpr_json *j, const struct mpr_table *t, const void *row)
{
    const char *member = NULL;
    for (size_t i = 0; i < t->columns; i++) {
        const struct mpr_column *c = &t->column[i];
        if (!mpr_column_is_in(c, MPR_IN_JSON)) continue;
        const struct mpr_value v = mpr_table_cell(t, c, row);
        if (t->shape == MPR_MEMBERS && !member) member = v.text;
        else value(j, member ? member : t->shape == MPR_LISTS ? NULL : c->key, &v);
    }
}

static void named_omitted(struct mpr_json *j, const char *key, uint64_t number)
{
    char name[96];
    snprintf(name, sizeof name, "omitted_%s", key);
    mpr_json_number(j, name, number);
}

/* Writes the number and the sums of the rows that --top omitted, even if there are none. */
static void omitted(struct mpr_json *j, const struct mpr_table *t, size_t shown)
{
    if (t->all & MPR_IN_JSON) return;
    if (!t->omitted) named_omitted(j, t->key, t->rows - shown);
    for (size_t i = 0; i < t->columns; i++) {
        const struct mpr_column *c = &t->column[i];
        if (!mpr_column_has_sum(c, MPR_IN_JSON)) continue;
        const uint64_t sum = mpr_table_sum(t, c, shown, MPR_IN_JSON).number;
        if (!t->omitted) named_omitted(j, c->key, sum);
        else if (*t->omitted) mpr_json_number(j, t->omitted, sum);
    }
}

static void table(struct mpr_json *j, const struct mpr_table *t, size_t top)
{
    const bool members = t->shape == MPR_MEMBERS, lists = t->shape == MPR_LISTS;
    const size_t shown = mpr_table_shown(t, top, MPR_IN_JSON);
    if (!mpr_table_is_in(t, MPR_IN_JSON)) return;
    if (t->shape == MPR_FACTS) {
        fields(j, t, t->row);
        return;
    }
    mpr_json_open(j, t->key, members ? '{' : '[');
    for (size_t i = 0; i < shown; i++) {
        if (!members) mpr_json_open(j, NULL, lists ? '[' : '{');
        fields(j, t, mpr_table_row(t, i, MPR_IN_JSON));
        if (!members) mpr_json_close(j, lists ? ']' : '}');
    }
    mpr_json_close(j, members ? '}' : ']');
    omitted(j, t, shown);
}

/* ---- documents */

void mpr_json_document(struct mpr_json *j, const struct mpr_document *doc, size_t top)
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
    mpr_report_log_fields(&doc, s);
    mpr_report_too_late_field(&doc, s, at);
    mpr_json_document(j, &doc, 0);
    mpr_doc_free(&doc);
}

void mpr_json_report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style)
{
    struct mpr_json j = { .out = out, .first = true };
    mpr_json_open(&j, NULL, '{');
    mpr_json_document(&j, doc, style->top);
    mpr_json_close(&j, '}');
    if (doc->json_ends_blank) fputc('\n', out);
}

/* ---- timelines: entry i of every array belongs to span i */

static void spans(struct mpr_json *j, const struct mpr_heap_timeline *h, uint64_t *scratch)
{
    static const struct {
        const char *key;
        size_t offset;
    } field[] = {
        { "start_ns", offsetof(struct mpr_span, start) },
        { "time_of_max_ns", offsetof(struct mpr_span, time) },
        { "max_bytes", offsetof(struct mpr_span, max) },
        { "min_bytes", offsetof(struct mpr_span, min) },
        { "end_bytes", offsetof(struct mpr_span, close) },
        { "allocations", offsetof(struct mpr_span, allocs) },
        { "frees", offsetof(struct mpr_span, frees) },
    };
    mpr_json_open(j, "spans", '{');
    for (size_t k = 0; k < sizeof field / sizeof *field; k++) {
        for (size_t i = 0; i < h->spans; i++)
            scratch[i] =
                *(const uint64_t *)(const void *)((const char *)&h->span[i] + field[k].offset);
        mpr_json_numbers(j, field[k].key, scratch, h->spans);
    }
    mpr_json_close(j, '}');
}

static void bands(struct mpr_json *j, const struct mpr_heap_timeline *h, uint64_t *scratch)
{
    mpr_json_open(j, "bands", '[');
    for (size_t band = 0; band < h->bands; band++) {
        const struct mpr_band *b = &h->band[band];
        uint64_t bytes = 0;
        for (size_t i = 0, at = 0; i < h->spans; i++) {
            for (; at < h->span[i].end; at++)
                if (h->change[at].band == band) bytes = h->change[at].bytes;
            scratch[i] = bytes;
        }
        mpr_json_open(j, NULL, '{');
        mpr_json_flag(j, "everything_else", b->kind == MPR_BAND_OTHER);
        mpr_json_path(j, "path", b->path);
        mpr_json_number(j, "largest_bytes", b->largest);
        mpr_json_numbers(j, "bytes_at_max", scratch, h->spans);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

static void heap(struct mpr_json *j, const struct mpr_heap_timeline *h)
{
    uint64_t *scratch = mpr_alloc(h->spans, sizeof *scratch);
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "heap", mpr_heap_name(h->heap));
    if (h->inside) mpr_json_text(j, "inside", mpr_heap_name(h->inside));
    mpr_json_number(j, "peak_bytes", h->peak_bytes);
    mpr_json_number(j, "peak_time_ns", h->peak_time);
    mpr_json_number(j, "end_bytes", h->end_bytes);
    mpr_json_number(j, "width_ns", h->width_ns);
    mpr_json_flag(j, "every_change", h->width_ns == 1);
    spans(j, h, scratch);
    bands(j, h, scratch);
    mpr_json_close(j, '}');
    free(scratch);
}

static void device(struct mpr_json *j, const struct mpr_device_account *a)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_number(j, "index", a->index);
    mpr_json_text(j, "name", a->name);
    mpr_json_known(j, "total_bytes", a->total, MPF_UNKNOWN);
    mpr_json_open(j, "instants", '[');
    for (const struct mpr_account_instant *i = a->instant; i < a->instant + a->instants; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_number(j, "time_ns", i->time);
        mpr_json_number(j, "since_ns", i->since);
        mpr_json_text(j, "kind", mpr_account_kind[i->kind]);
        mpr_json_number(j, "bytes", i->used);
        mpr_json_flag(j, "measured", i->measured);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_json_open(j, "parts", '[');
    for (size_t i = 0; i < a->parts; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "part", a->part[i].key);
        mpr_json_signeds(j, "bytes", a->part[i].bytes, a->instants);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
}

static void timeline(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style)
{
    struct mpr_json j = { .out = out, .first = true };
    (void)style;
    mpr_json_open(&j, NULL, '{');
    mpr_json_text(&j, "schema", "memprof.timeline/1");
    mpr_json_text(&j, "by", mpr_group_name[t->choice.by]);
    if (*t->choice.source) mpr_json_text(&j, "ranges_from", t->choice.source);
    mpr_json_number(&j, "from_ns", t->options.from);
    mpr_json_known(&j, "to_ns", t->options.to, UINT64_MAX);
    mpr_json_log(&j, &t->summary, MPR_INSTANT_PEAK);
    mpr_json_open(&j, "heaps", '[');
    for (size_t i = 0; i < t->heaps; i++) heap(&j, &t->heap[i]);
    mpr_json_close(&j, ']');
    mpr_json_open(&j, "devices", '[');
    for (size_t i = 0; i < t->accounts; i++) device(&j, &t->account[i]);
    mpr_json_close(&j, ']');
    mpr_json_close(&j, '}');
}

const struct mpr_renderer mpr_render_json = { mpr_json_report, timeline };
