/* No document: columns as arrays, of more numbers than should be held twice.
 *
 * Columns: entry i of every array belongs to span i. */
#include <stdlib.h>

#include "alloc.h"
#include "json.h"
#include "json_document.h"
#include "mpf/sample.h"
#include "peaks.h"
#include "timelines.h"

static void column(struct mpr_json *j, const char *key, const struct mpr_heap_line *h,
                   size_t offset, uint64_t *scratch)
{
    for (size_t i = 0; i < h->spans; i++)
        scratch[i] = *(const uint64_t *)(const void *)((const char *)&h->span[i] + offset);
    mpr_json_numbers(j, key, scratch, h->spans);
}

static void spans(struct mpr_json *j, const struct mpr_heap_line *h, uint64_t *scratch)
{
    static const struct {
        const char *key;
        size_t offset;
    } field[] = {
        { "start_ns", offsetof(struct mpr_span, start) },
        { "time_of_max_ns", offsetof(struct mpr_span, time) },
        { "max_bytes", offsetof(struct mpr_span, max) },
        { "min_bytes", offsetof(struct mpr_span, min) },
        { "close_bytes", offsetof(struct mpr_span, close) },
        { "allocations", offsetof(struct mpr_span, allocs) },
        { "frees", offsetof(struct mpr_span, frees) },
    };
    mpr_json_open(j, "spans", '{');
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        column(j, field[i].key, h, field[i].offset, scratch);
    mpr_json_close(j, '}');
}

/* The band's bytes at each span's maximum. */
static void band_bytes(struct mpr_json *j, const struct mpr_heap_line *h, size_t band,
                       uint64_t *scratch)
{
    uint64_t bytes = 0;
    size_t at = 0;
    for (size_t i = 0; i < h->spans; i++) {
        for (; at < h->span[i].end; at++) {
            if (h->change[at].band == band) bytes = h->change[at].bytes;
        }
        scratch[i] = bytes;
    }
    mpr_json_numbers(j, "bytes_at_max", scratch, h->spans);
}

static void bands(struct mpr_json *j, const struct mpr_heap_line *h, uint64_t *scratch)
{
    mpr_json_open(j, "bands", '[');
    for (size_t i = 0; i < h->bands; i++) {
        const struct mpr_band *b = &h->band[i];
        mpr_json_open(j, NULL, '{');
        mpr_json_flag(j, "everything_else", b->kind == MPR_BAND_OTHER);
        mpr_json_path(j, "path", b->path);
        mpr_json_number(j, "largest_bytes", b->largest);
        band_bytes(j, h, i, scratch);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

static void heap(struct mpr_json *j, const struct mpr_heap_line *h)
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

/* ---- devices */

static void part(struct mpr_json *j, const struct mpr_account_part *p, size_t instants)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "part", p->key);
    mpr_json_signeds(j, "bytes", p->bytes, instants);
    mpr_json_close(j, '}');
}

static void instant(struct mpr_json *j, const struct mpr_account_instant *i)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_number(j, "time_ns", i->time);
    mpr_json_number(j, "since_ns", i->since);
    mpr_json_text(j, "kind", mpr_account_kind[i->kind]);
    mpr_json_number(j, "bytes", i->used);
    mpr_json_flag(j, "measured", i->measured);
    mpr_json_close(j, '}');
}

static void device(struct mpr_json *j, const struct mpr_device_account *a)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_number(j, "index", a->index);
    mpr_json_text(j, "name", a->name);
    mpr_json_known(j, "total_bytes", a->total, MPF_UNKNOWN);
    mpr_json_open(j, "instants", '[');
    for (size_t i = 0; i < a->instants; i++) instant(j, &a->instant[i]);
    mpr_json_close(j, ']');
    mpr_json_open(j, "parts", '[');
    for (size_t i = 0; i < a->parts; i++) part(j, &a->part[i], a->instants);
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
}

void mpr_timeline_json(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style)
{
    struct mpr_json j = { out, 0, true };
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
