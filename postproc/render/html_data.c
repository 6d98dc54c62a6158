/* No document: what the page's scripts draw from, packed.
 *
 * A blob's columns stand one behind the other, each with one number for each element: gzip sees
 * like beside like. */
#include "html_data.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "blob.h"
#include "html_comms.h"
#include "html_differences.h"
#include "html_findings.h"
#include "html_segments.h"
#include "html_steps.h"
#include "insights.h"
#include "json.h"
#include "json_document.h"
#include "matching.h"
#include "mpf/sample.h"
#include "naming.h"
#include "page.def"
#include "timeline_result.h"

/* A log has three parts: "b3" is JSON, "b3-levels" has the columns that the page needs of each log,
 * "b3-details" those that only a run that is shown needs: they are read when it is chosen. */
static void blob(FILE *out, struct mpr_blob *b, size_t log, const char *what)
{
    fprintf(out, "<script type=\"application/gzip\" id=\"b%zu-%s\">", log, what);
    mpr_blob_write(b, out);
    fputs("</script>\n", out);
}

/* ---- blobs */

#define PLAIN(member, of)      mpr_blob_number(b, k->member)
#define SUM(member, of)        mpr_blob_number(b, k->member - p->member)
#define SIGNED_SUM(member, of) mpr_blob_delta(b, k->member, p->member)
#define SINCE(member, of)      mpr_blob_number(b, k->member - k->of)
#define UNDER(member, of)      mpr_blob_number(b, k->of - k->member)
#define ABOUT(member, of)      mpr_blob_delta(b, k->member, k->of)
#define COLUMN(name, coding, member, of)                                                           \
    p = &none;                                                                                     \
    for (size_t i = 0; i < rows; p = &row[i++]) {                                                  \
        k = &row[i];                                                                               \
        coding(member, of);                                                                        \
    }
/* Writes how many rows of a type there are, and them column by column. */
#define COLUMNS(name, type, list)                                                                  \
    static void name(struct mpr_blob *b, const struct type *row, size_t rows)                      \
    {                                                                                              \
        static const struct type none;                                                             \
        const struct type *k, *p;                                                                  \
        mpr_blob_number(b, rows);                                                                  \
        list(COLUMN)(void) p;                                                                      \
    }

COLUMNS(span_columns, mpr_span, PAGE_SPANS)
COLUMNS(span_details, mpr_span, PAGE_SPAN_DETAILS)
COLUMNS(block_columns, mpr_lifetime, PAGE_BLOCKS)
COLUMNS(flow_columns, mpr_band_flow, PAGE_FLOWS)
COLUMNS(instance_columns, mpr_range_instance, PAGE_INSTANCES)
COLUMNS(box_columns, mpr_lane_box, PAGE_BOXES)
COLUMNS(taken_columns, mpr_instance_heap, PAGE_TAKEN)
COLUMNS(point_columns, mpr_track_point, PAGE_POINTS)
COLUMNS(account_columns, mpr_account_instant, PAGE_ACCOUNT)
COLUMNS(segment_columns, mpr_segment, PAGE_SEGMENTS)
COLUMNS(pin_columns, mpr_page_pin, PAGE_PINS)

static void heap_columns(struct mpr_blob *b, const struct mpr_heap_line *h)
{
    span_columns(b, h->span, h->spans);
    mpr_blob_number(b, h->changes);
    for (size_t i = 0; i < h->changes; i++) mpr_blob_number(b, h->change[i].band);
    uint64_t *last = mpr_alloc(h->bands, sizeof *last);
    for (size_t i = 0; i < h->changes; i++) {
        mpr_blob_delta(b, h->change[i].bytes, last[h->change[i].band]);
        last[h->change[i].band] = h->change[i].bytes;
    }
    free(last);
}

static void device_columns(struct mpr_blob *b, const struct mpr_device_account *a)
{
    account_columns(b, a->instant, a->instants);
    for (size_t i = 0; i < a->parts; i++)
        for (size_t k = 0; k < a->instants; k++)
            mpr_blob_delta(b, (uint64_t)a->part[i].bytes[k],
                           k ? (uint64_t)a->part[i].bytes[k - 1] : 0);
}

static void levels_blob(FILE *out, const struct mpr_timeline *t, size_t log)
{
    struct mpr_blob b = { 0 };
    for (size_t i = 0; i < t->heaps; i++) heap_columns(&b, &t->heap[i]);
    instance_columns(&b, t->instance, t->instances);
    for (size_t i = 0; i < t->accounts; i++) device_columns(&b, &t->account[i]);
    blob(out, &b, log, "levels");
}

/* How many changes a slice holds, the slices' times, and behind them the rows. */
static void slice_columns(struct mpr_blob *b, const struct mpr_heap_line *h)
{
    mpr_blob_number(b, h->slice_changes);
    mpr_blob_number(b, h->slices);
    for (size_t i = 0; i < h->slices; i++)
        mpr_blob_number(b, h->slice_time[i] - (i ? h->slice_time[i - 1] : 0));
    flow_columns(b, h->flow, h->flows);
}

/* Of the lanes: up to which length boxes were joined, how many were left out, the boxes, and what
 * they took of each heap. */
static void details_blob(FILE *out, const struct mpr_timeline *t,
                         const struct mpr_page_segments *segments, size_t log)
{
    struct mpr_blob b = { 0 };
    for (size_t i = 0; i < MPR_TRACKS; i++)
        if (t->track[i].points) point_columns(&b, t->track[i].point, t->track[i].points);
    for (size_t i = 0; i < t->heaps; i++) {
        span_details(&b, t->heap[i].span, t->heap[i].spans);
        block_columns(&b, t->heap[i].lifetime, t->heap[i].lifetimes);
        slice_columns(&b, &t->heap[i]);
    }
    mpr_blob_number(&b, t->boxes_shortest);
    mpr_blob_number(&b, t->boxes_left_out);
    box_columns(&b, t->box, t->boxes);
    for (size_t i = 0; i < t->heaps; i++) taken_columns(&b, t->heap[i].box, t->boxes);
    segment_columns(&b, segments->row, segments->rows);
    pin_columns(&b, segments->pin, segments->pins);
    blob(out, &b, log, "details");
}

/* ---- JSON */

#define COUNT(...) +1

static void nodes(struct mpr_json *j, const struct mpr_timeline *t)
{
    mpr_json_open(j, "nodes", '[');
    for (size_t i = 0; i < t->nodes; i++) {
        mpr_json_open(j, NULL, '[');
        mpr_json_number(j, NULL, t->node[i].parent);
        mpr_json_text(j, NULL, t->node[i].frame->text);
        mpr_json_close(j, ']');
    }
    mpr_json_close(j, ']');
}

static void stacks(struct mpr_json *j, const struct mpr_timeline *t)
{
    mpr_json_path(j, "libraries", (struct mpr_path){ t->library, t->libraries });
    mpr_json_path(j, "frames", (struct mpr_path){ t->frame, t->frames });
    mpr_json_open(j, "stacks", '[');
    for (size_t i = 0; i < t->stacks; i++) {
        mpr_json_open(j, NULL, '[');
        for (size_t k = 0; k < t->stack[i].depth; k++)
            mpr_json_number(j, NULL, t->stack[i].frame[k]);
        mpr_json_close(j, ']');
    }
    mpr_json_close(j, ']');
}

static void graph(struct mpr_json *j, const struct mpr_mark *m)
{
    mpr_json_open(j, "graph", '{');
    mpr_json_flag(j, "instantiated", m->graph.instantiated);
    mpr_json_number(j, "nodes", m->graph.nodes);
    mpr_json_number(j, "segment_bytes", m->graph.segment_bytes);
    mpr_json_signed(j, "executable_bytes", m->graph.executable_bytes);
    mpr_json_signed(j, "launch_bytes", m->graph.launch_bytes);
    mpr_json_signed(j, "bytes", m->graph.bytes);
    mpr_json_close(j, '}');
}

static void marks(struct mpr_json *j, const struct mpr_timeline *t)
{
    static const char *const kind[] = { "nvtx", "failed", "refused", "oom", "graph" };
    static_assert(sizeof kind / sizeof *kind == MPR_MARK_GRAPH + 1, "each kind has its name");
    mpr_json_open(j, "marks", '[');
    for (size_t i = 0; i < t->marks; i++) {
        const struct mpr_mark *m = &t->mark[i];
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "kind", kind[m->kind]);
        mpr_json_number(j, "time_ns", m->time);
        mpr_json_number(j, "bytes", m->bytes);
        mpr_json_known(j, "free_bytes", m->free_bytes, MPF_UNKNOWN);
        if (m->kind == MPR_MARK_GRAPH) graph(j, m);
        mpr_json_number(j, "node", m->node);
        mpr_json_number(j, "thread", m->thread);
        mpr_json_text(j, "heap", mpr_heap_name(m->heap));
        mpr_json_text(j, "text", m->text);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_json_number(j, "marks_left_out", t->marks_left_out);
}

static void tracks(struct mpr_json *j, const struct mpr_timeline *t)
{
    mpr_json_open(j, "tracks", '[');
    for (size_t i = 0; i < MPR_TRACKS; i++) {
        const struct mpr_track_line *line = &t->track[i];
        char gpu[24];
        if (!line->points) continue;
        snprintf(gpu, sizeof gpu, "gpu%zu/used", i - MPR_TRACK_GPU);
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "name",
                      i == MPR_TRACK_RSS      ? "RSS"
                      : i == MPR_TRACK_CGROUP ? "cgroup"
                                              : gpu);
        mpr_json_number(j, "limit", line->limit);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

static void bands(struct mpr_json *j, const struct mpr_heap_line *h)
{
    enum { NUMBERS = 0 PAGE_BANDS(COUNT) };
    mpr_json_open(j, "bands", '[');
    for (size_t i = 0; i < h->bands; i++) {
        const struct mpr_band *k = &h->band[i];
        uint64_t band[NUMBERS + MPR_VIEWS] = { PAGE_BANDS(PAGE_VALUE) };
        for (int v = 0; v < MPR_VIEWS; v++) band[NUMBERS + v] = k->piece[v];
        mpr_json_numbers(j, NULL, band, sizeof band / sizeof *band);
    }
    mpr_json_close(j, ']');
}

/* ---- lines */

static void frames(struct mpr_json *j, const struct mpr_call_stack *path)
{
    for (size_t i = 0; i < path->depth; i++) mpr_json_number(j, NULL, path->frame[i]);
}

static void part(struct mpr_json *j, const struct mpr_line_part *p)
{
    enum { KINDS = MPR_PART_THREAD + 1, HOWS = MPR_TOLD_ITSELF + 1 };
    mpr_json_number(j, NULL, ((uint64_t)p->number * HOWS + p->how) * KINDS + p->kind);
    if (p->how != MPR_TOLD_ITSELF) return;
    mpr_json_number(j, NULL, p->told.caller);
    mpr_json_number(j, NULL, p->told.path.depth);
    frames(j, &p->told.path);
}

static void line(struct mpr_json *j, const struct mpr_heap_line_of_view *k)
{
    const uint64_t row[] = { PAGE_LINES(PAGE_VALUE) };
    mpr_json_open(j, NULL, '[');
    mpr_json_numbers(j, NULL, row, sizeof row / sizeof *row);
    mpr_json_open(j, NULL, '[');
    frames(j, &k->told.path);
    mpr_json_close(j, ']');
    mpr_json_open(j, NULL, '[');
    for (size_t i = 0; i < k->parts; i++) part(j, &k->part[i]);
    mpr_json_close(j, ']');
    mpr_json_close(j, ']');
}

/* By view: what people see as one, or told otherwise than by its whole path. */
static void lines(struct mpr_json *j, const struct mpr_heap_line *h)
{
    mpr_json_open(j, "lines", '[');
    for (int v = 0; v < MPR_TOLD_VIEWS; v++) {
        mpr_json_open(j, NULL, '[');
        for (size_t i = 0; i < h->view[v].lines; i++) line(j, &h->view[v].line[i]);
        mpr_json_close(j, ']');
    }
    mpr_json_close(j, ']');
}

/* ---- heaps */

static void holders(struct mpr_json *j, const struct mpr_heap_line *h)
{
    mpr_json_open(j, "holders", '[');
    for (size_t i = 0; i < h->holders; i++) {
        const struct mpr_holder *k = &h->holder[i];
        const uint64_t row[] = { PAGE_HOLDERS(PAGE_VALUE) };
        mpr_json_numbers(j, NULL, row, sizeof row / sizeof *row);
    }
    mpr_json_close(j, ']');
}

static void exact(struct mpr_json *j, const struct mpr_heap_line *h, uint64_t duration)
{
    mpr_json_open(j, "exact", '[');
    for (size_t i = 0; i < h->exacts; i++) {
        const uint64_t interval[] = { h->exact[i].from, h->exact[i].to == UINT64_MAX
                                                            ? duration + 1
                                                            : h->exact[i].to };
        mpr_json_numbers(j, NULL, interval, 2);
    }
    mpr_json_close(j, ']');
}

/* What the samples of the heap's blocks stand for at its peak, as `peaks` tells it; nothing where
 * each block is there, or nobody asked. */
static void estimates(struct mpr_json *j, const struct mpr_heap_peak *h, enum mpr_group by,
                      const struct mpr_naming *naming)
{
    struct mpr_arena arena = { 0 };
    size_t lines = 0, live = 0;
    const struct mpr_line *line =
        h && h->samples && !h->inside
            ? mpr_naming_lines(&arena, naming, by, h->row, h->rows, &lines, &live)
            : NULL;
    mpr_json_open(j, "estimates", '[');
    for (size_t i = 0; line && i < live; i++) {
        const struct mpr_row *r = &line[i].row;
        mpr_json_open(j, NULL, '{');
        mpr_json_page_path(j, r->path, by);
        mpr_json_text(j, "caller", line[i].caller);
        mpr_json_number(j, "bytes", r->bytes);
        mpr_json_number(j, "error_bytes", r->estimated ? mpr_row_error(r->variance) : 0);
        mpr_json_number(j, "blocks", r->blocks);
        mpr_json_flag(j, "estimated", r->estimated);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_arena_free(&arena);
}

static void heap(struct mpr_json *j, const struct mpr_page *page, size_t log,
                 const struct mpr_heap_line *h)
{
    const struct mpr_timeline *t = &page->timeline[log];
    const struct mpr_insights *in = page->insights[log];
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "heap", mpr_heap_name(h->heap));
    if (h->inside) mpr_json_text(j, "inside", mpr_heap_name(h->inside));
    mpr_json_number(j, "peak_bytes", h->peak_bytes);
    mpr_json_number(j, "peak_time_ns", h->peak_time);
    mpr_json_number(j, "peak_blocks", h->peak_blocks);
    mpr_json_flag(j, "peak_is_about", h->is_about);
    mpr_json_number(j, "end_bytes", h->end_bytes);
    mpr_json_number(j, "allocations", h->allocations);
    mpr_json_number(j, "frees", h->frees);
    mpr_json_number(j, "failures", h->failures);
    mpr_json_number(j, "width_ns", h->width_ns);
    exact(j, h, t->summary.duration_ns);
    bands(j, h);
    lines(j, h);
    holders(j, h);
    estimates(j, in ? mpr_peaks_heap(&in->peaks.log[0], h->heap) : NULL, t->best.by, page->naming);
    mpr_json_close(j, '}');
}

static void oom(struct mpr_json *j, const struct mpr_timeline_oom *o)
{
    if (!o->told) {
        mpr_json_null(j, "oom");
        return;
    }
    mpr_json_open(j, "oom", '{');
    mpr_json_number(j, "device", o->device);
    mpr_json_number(j, "time_ns", o->time);
    mpr_json_number(j, "bytes", o->bytes);
    mpr_json_number(j, "needed_bytes", o->needed);
    mpr_json_known(j, "free_bytes", o->free, UINT64_MAX);
    mpr_json_number(j, "node", o->node);
    mpr_json_close(j, '}');
}

static void repeat(struct mpr_json *j, const struct mpr_timeline_repeat *r)
{
    if (!r->name) {
        mpr_json_null(j, "repeat");
        return;
    }
    mpr_json_open(j, "repeat", '{');
    mpr_json_text(j, "range", r->name);
    mpr_json_number(j, "instances", r->instances);
    mpr_json_number(j, "begin_ns", r->from);
    mpr_json_number(j, "end_ns", r->to);
    mpr_json_close(j, '}');
}

static void accounts(struct mpr_json *j, const struct mpr_timeline *t)
{
    mpr_json_open(j, "accounts", '[');
    for (size_t i = 0; i < t->accounts; i++) {
        const struct mpr_device_account *a = &t->account[i];
        mpr_json_open(j, NULL, '{');
        mpr_json_number(j, "device", a->index);
        mpr_json_text(j, "name", a->name);
        mpr_json_text(j, "uuid", a->uuid);
        mpr_json_known(j, "total_bytes", a->total, MPF_UNKNOWN);
        mpr_json_open(j, "parts", '[');
        for (size_t k = 0; k < a->parts; k++) {
            mpr_json_open(j, NULL, '[');
            mpr_json_text(j, NULL, a->part[k].key);
            mpr_json_text(j, NULL, a->part[k].name);
            mpr_json_close(j, ']');
        }
        mpr_json_close(j, ']');
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

static void captures(struct mpr_json *j, const struct mpr_timeline *t)
{
    mpr_json_open(j, "captures_held_until_ns", '[');
    for (size_t i = 0; i < t->captures; i++) mpr_json_known(j, NULL, t->held_until[i], UINT64_MAX);
    mpr_json_close(j, ']');
}

/* Names, what of them is the same in another run, and of that what is no file, where it is less. */
static void match(struct mpr_json *j, struct mpr_arena *arena, const struct mpr_timeline *t,
                  const struct mpr_frame *frame)
{
    const struct mpr_frame *kept =
        mpr_matching_frame(arena, mpr_summary_program(&t->summary), frame);
    const char *same = kept->text, *function = mpr_matching_function(arena, kept);
    if (strcmp(same, frame->text) == 0 && strcmp(function, frame->text) == 0) return;
    mpr_json_open(j, NULL, '[');
    mpr_json_text(j, NULL, frame->text);
    mpr_json_text(j, NULL, same);
    mpr_json_text(j, NULL, function);
    mpr_json_close(j, ']');
}

/* For a page of two runs. */
static void matching(struct mpr_json *j, const struct mpr_timeline *t, bool paired)
{
    struct mpr_arena arena = { 0 };
    mpr_json_open(j, "matching", '[');
    for (size_t i = 0; paired && i < t->frames; i++) match(j, &arena, t, t->frame[i]);
    for (size_t i = 0; paired && i < t->nodes; i++) match(j, &arena, t, t->node[i].frame);
    for (size_t i = 0; paired && i < t->libraries; i++) match(j, &arena, t, t->library[i]);
    for (size_t i = 0; paired && i < t->threads; i++) match(j, &arena, t, t->thread[i]);
    mpr_json_close(j, ']');
    mpr_arena_free(&arena);
}

static void differences(struct mpr_json *j, const struct mpr_page *page, size_t log)
{
    const bool is_of = page->diff && log == page->now;
    mpr_html_differences(j, is_of ? page->diff : NULL, page->naming);
    mpr_json_known(j, "differs_from", is_of ? page->base : UINT64_MAX, UINT64_MAX);
    mpr_json_text(j, "differs_in", is_of ? mpr_heap_name(page->differs_in) : "");
    mpr_json_flag(j, "alike", page->alike[log]);
}

static void log_data(struct mpr_json *j, const struct mpr_page *page,
                     const struct mpr_page_segments *segments, size_t log)
{
    const struct mpr_timeline *t = &page->timeline[log];
    const struct mpr_insights *in = page->insights[log];
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "schema", "memprof.page/1");
    mpr_json_log(j, &t->summary, MPR_INSTANT_PEAK);
    mpr_json_text(j, "best", mpr_group_name[t->best.by]);
    mpr_json_flag(j, "sampled", t->sampled);
    mpr_json_text(j, "ranges_from", t->best.source);
    mpr_json_path(j, "threads", (struct mpr_path){ t->thread, t->threads });
    mpr_json_texts(j, "sizes", t->size_name, t->sizes);
    nodes(j, t);
    stacks(j, t);
    marks(j, t);
    tracks(j, t);
    mpr_html_segments(j, segments);
    accounts(j, t);
    matching(j, t, page->diff && (log == page->base || log == page->now));
    differences(j, page, log);
    captures(j, t);
    oom(j, &t->oom);
    repeat(j, &t->repeat);
    mpr_html_steps(j, in && in->has_steps ? &in->steps : NULL, page->naming);
    mpr_html_findings(j, in, page->naming);
    mpr_html_comms(j, in);
    mpr_json_open(j, "heaps", '[');
    for (size_t i = 0; i < t->heaps; i++) heap(j, page, log, &t->heap[i]);
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
}

void mpr_html_data(FILE *out, const struct mpr_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        struct mpr_json j = { .out = out, .first = true, .in_html = true };
        struct mpr_page_segments segments;
        mpr_page_segments_fill(&segments, &page->timeline[i], page->naming);
        fprintf(out, "<script type=\"application/json\" id=\"b%zu\">", i);
        log_data(&j, page, &segments, i);
        fputs("</script>\n", out);
        levels_blob(out, &page->timeline[i], i);
        details_blob(out, &page->timeline[i], &segments, i);
        mpr_page_segments_free(&segments);
    }
}
