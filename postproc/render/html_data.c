/* The JSON part of the page's data. */
#include "html_data.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "basename.h"
#include "insights.h"
#include "mpf/sample.h"
#include "naming.h"
#include "page.def"
#include "page_runs.h"
#include "process_tree.h"
#include "timeline.h"

#define COUNT(...) +1

/* ---- names, marks and tracks */

static void frame(struct mpr_json *j, const struct mpr_frame *f)
{
    struct mpr_frame_word word[MPR_FRAME_WORDS];
    const struct mpr_frame_word *last = &word[mpr_frame_words(f, word) - 1];
    const bool has_line = last->kind == MPR_WORD_PLACE && last->line != MPR_ANY_LINE;
    char *place = has_line ? mpr_text_format(" (%s:%" PRIu64 ")", f->file, f->line) : NULL;
    const size_t bytes = strlen(f->text), end = place ? strlen(place) : 0;
    if (place && bytes > end && strcmp(f->text + bytes - end, place) == 0) {
        char *name = mpr_text_copy_part(f->text, bytes - end);
        mpr_json_open(j, NULL, '[');
        mpr_json_text(j, NULL, name);
        mpr_json_text(j, NULL, f->file);
        mpr_json_number(j, NULL, f->line);
        mpr_json_close(j, ']');
        free(name);
    } else mpr_json_text(j, NULL, f->text);
    free(place);
}

static void frames(struct mpr_json *j, const char *key, struct mpr_path path)
{
    mpr_json_open(j, key, '[');
    for (size_t i = 0; i < path.depth; i++) frame(j, path.frame[i]);
    mpr_json_close(j, ']');
}

void mpr_html_path(struct mpr_json *j, struct mpr_path path, const char *caller, enum mpr_group by)
{
    const struct mpr_frame nowhere = { .text = mpr_group_empty_path(by) }, *const only = &nowhere;
    if (path.depth) frames(j, "path", path);
    else mpr_json_path(j, "path", mpr_frame_alone(&only));
    mpr_json_text(j, "caller", caller);
}

/* A thread is its text, or a list of its name and the kernel's number, if it has one. */
static void threads(struct mpr_json *j, const struct mpr_timeline *t)
{
    mpr_json_open(j, "threads", '[');
    for (size_t i = 0; i < t->threads; i++) {
        const struct mpr_frame *thread = t->thread[i];
        if (!thread->line) {
            mpr_json_text(j, NULL, thread->text);
            continue;
        }
        mpr_json_open(j, NULL, '[');
        mpr_json_text(j, NULL, thread->name);
        mpr_json_number(j, NULL, thread->line);
        mpr_json_close(j, ']');
    }
    mpr_json_close(j, ']');
}

static void nodes(struct mpr_json *j, const struct mpr_timeline *t)
{
    mpr_json_open(j, "nodes", '[');
    for (size_t i = 0; i < t->nodes; i++) {
        mpr_json_open(j, NULL, '[');
        mpr_json_number(j, NULL, t->node[i].parent);
        frame(j, t->node[i].frame);
        mpr_json_close(j, ']');
    }
    mpr_json_close(j, ']');
}

/* @naming: tells which frames are not the program's own; the page can hide these. */
static void names(struct mpr_json *j, const struct mpr_timeline *t, const struct mpr_naming *naming)
{
    frames(j, "libraries", (struct mpr_path){ t->library, t->libraries });
    frames(j, "frames", (struct mpr_path){ t->frame, t->frames });
    mpr_json_open(j, "foreign_frames", '[');
    for (size_t i = 0; naming->user_frames && i < t->frames; i++)
        if (mpr_user_frames_is_foreign(naming->user_frames, t->frame[i]))
            mpr_json_number(j, NULL, i);
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

static void bands(struct mpr_json *j, const struct mpr_heap_timeline *h)
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

static void sampling(struct mpr_json *j, const struct mpr_heap_timeline *h)
{
    mpr_json_open(j, "sampling", '[');
    for (size_t i = 0; i < h->bands; i++) {
        const struct mpr_band_sampling *s = &h->band[i].sampling;
        mpr_json_numbers(j, NULL, (const uint64_t[]){ s->bytes, s->more, s->variance }, 3);
    }
    mpr_json_close(j, ']');
}

/* ---- lines */

static void frame_numbers(struct mpr_json *j, const struct mpr_call_stack *path)
{
    for (size_t i = 0; i < path->depth; i++) mpr_json_number(j, NULL, path->frame[i]);
}

static void line(struct mpr_json *j, const struct mpr_view_line *k)
{
    enum { KINDS = MPR_PART_THREAD + 1, HOWS = MPR_SHOWN_ITSELF + 1 };
    const uint64_t row[] = { PAGE_LINES(PAGE_VALUE) };
    mpr_json_open(j, NULL, '[');
    mpr_json_numbers(j, NULL, row, sizeof row / sizeof *row);
    mpr_json_open(j, NULL, '[');
    frame_numbers(j, &k->shown.path);
    mpr_json_close(j, ']');
    mpr_json_open(j, NULL, '[');
    for (const struct mpr_line_part *p = k->part; p < k->part + k->parts; p++) {
        mpr_json_number(j, NULL, ((uint64_t)p->number * HOWS + p->how) * KINDS + p->kind);
        if (p->how != MPR_SHOWN_ITSELF) continue;
        mpr_json_number(j, NULL, p->shown.caller);
        mpr_json_number(j, NULL, p->shown.path.depth);
        frame_numbers(j, &p->shown.path);
    }
    mpr_json_close(j, ']');
    mpr_json_close(j, ']');
}

/* Writes the lines of each view that are not the whole path of one row. */
static void lines(struct mpr_json *j, const struct mpr_heap_timeline *h)
{
    mpr_json_open(j, "lines", '[');
    for (int v = 0; v < MPR_LINE_VIEWS; v++) {
        mpr_json_open(j, NULL, '[');
        for (size_t i = 0; i < h->view[v].lines; i++) line(j, &h->view[v].line[i]);
        mpr_json_close(j, ']');
    }
    mpr_json_close(j, ']');
}

/* ---- heaps */

static void exact(struct mpr_json *j, const struct mpr_heap_timeline *h, uint64_t duration)
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

static void heap(struct mpr_json *j, const struct mpr_page *page, size_t log,
                 const struct mpr_heap_timeline *h)
{
    const struct mpr_timeline *t = &page->timeline[log];
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "heap", mpr_heap_name(h->heap));
    if (h->inside) mpr_json_text(j, "inside", mpr_heap_name(h->inside));
    mpr_json_number(j, "peak_bytes", h->peak_bytes);
    mpr_json_number(j, "peak_time_ns", h->peak_time);
    mpr_json_number(j, "peak_blocks", h->peak_blocks);
    mpr_json_flag(j, "peak_is_about", h->is_approximate);
    mpr_json_number(j, "end_bytes", h->end_bytes);
    mpr_json_number(j, "allocations", h->allocations);
    mpr_json_number(j, "frees", h->frees);
    mpr_json_number(j, "failures", h->failures);
    mpr_json_number(j, "width_ns", h->width_ns);
    mpr_json_number(j, "sample_mean", h->sample_mean);
    mpr_json_number(j, "lines_at_peak", h->peak_lines);
    exact(j, h, t->summary.duration_ns);
    bands(j, h);
    if (h->sample_mean) sampling(j, h);
    lines(j, h);
    mpr_json_close(j, '}');
}

static void oom(struct mpr_json *j, const struct mpr_timeline_oom *o)
{
    if (!o->known) {
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

static void segment_instants(struct mpr_json *j, const struct mpr_page_segments *s)
{
    mpr_json_open(j, "segments", '[');
    for (size_t i = 0; i < s->instants; i++) {
        const struct mpr_page_instant *k = &s->instant[i];
        const uint64_t row[] = { PAGE_THEN(PAGE_VALUE) };
        mpr_json_numbers(j, NULL, row, sizeof row / sizeof *row);
    }
    mpr_json_close(j, ']');
    mpr_json_open(j, "pin_paths", '[');
    for (size_t i = 0; i < s->paths; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_html_path(j, s->path[i].path, s->path[i].caller, MPR_GROUP_RANGE);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
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
        for (size_t k = 0; k < a->parts; k++)
            mpr_json_texts(j, NULL, (const char *const[]){ a->part[k].key, a->part[k].name }, 2);
        mpr_json_close(j, ']');
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

/* Writes a name, the part of it that is the same in every run, and of that the part without the
 * source file, unless both are the name itself. */
static void match(struct mpr_json *j, struct mpr_arena *arena, const struct mpr_timeline *t,
                  const struct mpr_frame *frame)
{
    const struct mpr_frame *kept = mpr_frame_stable(arena, mpr_summary_program(&t->summary), frame);
    const char *function = mpr_frame_stable_function(arena, kept);
    if (strcmp(kept->text, frame->text) == 0 && strcmp(function, frame->text) == 0) return;
    mpr_json_texts(j, NULL, (const char *const[]){ frame->text, kept->text, function }, 3);
}

/* For a page that compares two runs. */
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

/* The place of each log among the outliers by each heap of the page. */
enum { HEAPS = UINT8_MAX + 1 };
struct places {
    size_t *of[HEAPS]; /* by log, or NULL if no log has the heap */
};

static void find_places(struct places *places, const struct mpr_page *page)
{
    for (size_t i = 0; i < page->count; i++)
        for (size_t k = 0; k < page->timeline[i].heaps; k++) {
            const uint8_t heap = page->timeline[i].heap[k].heap;
            if (places->of[heap]) continue;
            places->of[heap] = mpr_alloc(page->count, sizeof *places->of[heap]);
            mpr_page_runs_places(page->timeline, page->count, page->alike, heap, places->of[heap]);
        }
}

static void places_of(struct mpr_json *j, const struct places *places, size_t log)
{
    mpr_json_open(j, "outlier_places", '[');
    for (unsigned i = 0; i < HEAPS; i++) {
        if (!places->of[i] || !places->of[i][log]) continue;
        mpr_json_open(j, NULL, '[');
        mpr_json_text(j, NULL, mpr_heap_name((uint8_t)i));
        mpr_json_number(j, NULL, places->of[i][log]);
        mpr_json_close(j, ']');
    }
    mpr_json_close(j, ']');
}

static void log_data(struct mpr_json *j, const struct mpr_page *page,
                     const struct mpr_page_segments *segments, const struct places *places,
                     size_t log)
{
    const struct mpr_timeline *t = &page->timeline[log];
    const struct mpr_insights *in = page->insights[log];
    const bool differs = page->diff && log == page->now;
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "schema", "memprof.page/1");
    struct mpr_summary summary = t->summary;
    summary.path = mpr_basename(summary.path); /* other people read the page elsewhere */
    mpr_json_log(j, &summary, MPR_INSTANT_PEAK);
    mpr_json_text(j, "best", mpr_group_name[t->best.by]);
    mpr_json_text(j, "ranges_from", t->best.source);
    threads(j, t);
    mpr_json_texts(j, "sizes", t->size_name, t->sizes);
    nodes(j, t);
    names(j, t, page->naming);
    marks(j, t);
    tracks(j, t);
    segment_instants(j, segments);
    accounts(j, t);
    matching(j, t, page->diff && (log == page->base || log == page->now));
    mpr_html_differences(j, differs ? page->diff : NULL, page->naming);
    mpr_html_verdict(j, page->diff, differs ? page->verdict : NULL, page->naming);
    mpr_json_known(j, "differs_from", differs ? page->base : UINT64_MAX, UINT64_MAX);
    mpr_json_text(j, "differs_in", differs ? mpr_heap_name(page->differs_in) : "");
    mpr_json_flag(j, "alike", page->alike[log]);
    mpr_json_flag(j, "opened", log == page->opened);
    mpr_json_known(j, "parent", page->tree[log].parent, MPR_NO_PROCESS);
    mpr_json_known(j, "image_of", page->tree[log].previous_program, MPR_NO_PROCESS);
    places_of(j, places, log);
    mpr_json_open(j, "captures_held_until_ns", '[');
    for (size_t i = 0; i < t->captures; i++) mpr_json_known(j, NULL, t->held_until[i], UINT64_MAX);
    mpr_json_close(j, ']');
    oom(j, &t->oom);
    repeat(j, &t->repeat);
    mpr_html_steps(j, in, page->naming);
    mpr_html_card(j, page, log);
    mpr_html_findings(j, in, page->naming);
    mpr_html_comms(j, in);
    mpr_html_notes(j, t, in, page->naming);
    mpr_json_open(j, "heaps", '[');
    for (size_t i = 0; i < t->heaps; i++) heap(j, page, log, &t->heap[i]);
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
}

void mpr_html_data(FILE *out, const struct mpr_page *page)
{
    struct places places = { { NULL } };
    find_places(&places, page);
    for (size_t i = 0; i < page->count; i++) {
        struct mpr_json j = { .out = out, .first = true, .in_html = true };
        struct mpr_page_segments segments;
        mpr_page_segments_fill(&segments, &page->timeline[i], page->naming);
        fprintf(out, "<script type=\"application/json\" id=\"b%zu\">", i);
        log_data(&j, page, &segments, &places, i);
        fputs("</script>\n", out);
        mpr_html_levels(out, &page->timeline[i], i);
        mpr_html_details(out, &page->timeline[i], &segments, i);
        mpr_page_segments_free(&segments);
    }
    for (unsigned i = 0; i < HEAPS; i++) free(places.of[i]);
}
