/* Results of other reports that the page also shows: steps, findings, communicators, differences of
 * two runs, and notes. */
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "diff.h"
#include "html_data.h"
#include "insights.h"
#include "naming.h"
#include "report_rows.h"
#include "reports.h"
#include "steps.h"
#include "verdict.h"

/* ---- steps */

/* Limits of lists: instances of a heap that stand out, and rows of the comparison.  The page shows
 * how many more there are. */
enum { OUTLIERS = 64, PATHS = 40 };

/* Leaves the object open. */
static void instance(struct mpr_json *j, const char *key, const struct mpr_instances *in,
                     const struct mpr_instances_heap *heap, size_t index)
{
    const struct mpr_instance *i = &in->instance[index];
    const struct mpr_instance_heap *of = &heap->entry[index];
    struct mpr_arena arena = { 0 };
    mpr_json_open(j, key, '{');
    mpr_json_text(j, "name", mpr_instances_at_peak(&arena, in, heap, index));
    mpr_arena_free(&arena);
    mpr_json_number(j, "count", i->count);
    mpr_json_number(j, "begin_ns", i->begin_ns);
    mpr_json_number(j, "end_ns", i->end_ns);
    mpr_json_number(j, "peak_bytes", of->peak_bytes);
    mpr_json_number(j, "peak_time_ns", of->peak_time);
    mpr_json_signed(j, "kept_bytes", mpr_signed_difference(of->begin_bytes, of->end_bytes));
}

static void steps_heap(struct mpr_json *j, const struct mpr_steps *s,
                       const struct mpr_steps_heap *h)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "heap", mpr_heap_name(h->heap->heap));
    mpr_json_number(j, "median_peak_bytes", h->median_peak);
    mpr_json_signed(j, "median_kept_bytes", h->median_kept);
    mpr_json_number(j, "peaks_out", h->peaks_out);
    mpr_json_number(j, "kept_out", h->kept_out);
    mpr_json_open(j, "out", '[');
    for (size_t i = 0, shown = 0; i < s->instances.instances && shown < OUTLIERS; i++) {
        if (!h->outlier[i]) continue;
        instance(j, NULL, &s->instances, h->heap, i);
        mpr_json_flag(j, "by_peak", h->outlier[i] & MPR_STEPS_PEAK);
        mpr_json_flag(j, "by_kept", h->outlier[i] & MPR_STEPS_KEPT);
        mpr_json_close(j, '}');
        shown++;
    }
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
}

/* Writes the bytes that the instance holds more than the median one, by call stack, as lines. */
static void more_by_stack(struct mpr_json *j, const struct mpr_steps_comparison *c,
                          const struct mpr_naming *naming)
{
    struct mpr_arena arena = { 0 };
    size_t lines = 0, live = 0;
    const struct mpr_line *line =
        mpr_naming_lines(&arena, naming, c->choice.by, c->more, c->mores, &lines, &live);
    mpr_json_open(j, "stacks", '[');
    for (size_t i = 0; i < live && i < PATHS; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_html_path(j, line[i].row.path, line[i].caller, c->choice.by);
        mpr_json_number(j, "more_bytes", line[i].row.bytes);
        mpr_json_flag(j, "estimated", line[i].row.estimated);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_json_number(j, "other_stacks", mpr_saturating_sub(live, PATHS));
    mpr_arena_free(&arena);
}

/* Without allocations there are no heaps, so nothing is compared. */
static void comparison(struct mpr_json *j, const struct mpr_steps *s,
                       const struct mpr_naming *naming)
{
    const struct mpr_steps_comparison *c = &s->comparison;
    if (!c->growth.row) {
        mpr_json_null(j, "compared");
        return;
    }
    const struct mpr_instances_heap *heap = s->heap[s->shown].heap;
    mpr_json_open(j, "compared", '{');
    mpr_json_text(j, "heap", mpr_heap_name(heap->heap));
    instance(j, "instance", &s->instances, heap, c->instance);
    mpr_json_close(j, '}');
    instance(j, "median", &s->instances, heap, c->median);
    mpr_json_close(j, '}');
    mpr_json_open(j, "paths", '[');
    for (size_t i = 0; i < c->growth.rows && i < PATHS; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_html_path(j, c->growth.row[i].path, "", c->choice.by);
        mpr_json_number(j, "bytes", (uint64_t)c->growth.row[i].after);
        mpr_json_number(j, "median_bytes", (uint64_t)c->growth.row[i].before);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_json_number(j, "other_paths", mpr_saturating_sub(c->growth.rows, PATHS));
    more_by_stack(j, &s->calls, naming);
    struct mpr_document doc = { .naming = naming };
    const struct mpr_row *cause = mpr_steps_cause(s);
    mpr_json_text(j, "cause", cause ? mpr_report_path_words(&doc, cause->path) : "");
    mpr_json_number(j, "cause_more_bytes", cause ? cause->bytes : 0);
    mpr_json_flag(j, "cause_estimated", cause && cause->estimated);
    mpr_doc_free(&doc);
    mpr_json_close(j, '}');
}

void mpr_html_steps(struct mpr_json *j, const struct mpr_insights *in,
                    const struct mpr_naming *naming)
{
    const struct mpr_steps *s = in ? &in->steps : NULL;
    if (!in || !in->has_steps) {
        mpr_json_null(j, "steps");
        return;
    }
    mpr_json_open(j, "steps", '{');
    mpr_json_text(j, "range", s->instances.range);
    mpr_json_number(j, "instances", s->instances.count);
    mpr_json_number(j, "instances_per_entry", s->instances.each);
    mpr_json_open(j, "heaps", '[');
    for (size_t i = 0; i < s->instances.heaps; i++) steps_heap(j, s, &s->heap[i]);
    mpr_json_close(j, ']');
    comparison(j, s, naming);
    mpr_json_close(j, '}');
}

/* ---- the card */

void mpr_html_card(struct mpr_json *j, const struct mpr_page *page, size_t log)
{
    struct mpr_document doc = { .naming = page->naming, .without_folders = true };
    const struct mpr_insights *in = page->insights[log];
    if (!in) {
        mpr_json_null(j, "card");
        return;
    }
    mpr_report_card(&doc, in, page->ooms);
    if (page->ranks && log == page->opened) mpr_report_job_lines(&doc, page->ranks, in);
    mpr_json_document(j, &doc, 0);
    mpr_doc_free(&doc);
}

/* ---- findings */

void mpr_html_findings(struct mpr_json *j, const struct mpr_insights *in,
                       const struct mpr_naming *naming)
{
    struct mpr_document doc = { .naming = naming, .without_folders = true };
    if (!in) {
        mpr_json_null(j, "findings");
        return;
    }
    mpr_json_open(j, "findings", '[');
    for (const struct mpr_finding *f = in->finding; f < in->finding + in->findings; f++) {
        const struct mpr_finding_text text = mpr_finding_text(&doc.arena, f);
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "finding", mpr_finding_keys[f->kind]);
        mpr_json_text(j, "where", text.where);
        mpr_json_number(j, "saves_at_most_bytes", f->bytes);
        mpr_json_flag(j, "estimated", f->estimated);
        mpr_json_flag(j, "makes_room", mpr_finding_makes_room(in, f));
        mpr_json_text(j, "what", mpr_report_finding_words(&doc, f));
        mpr_json_text(j, "change", text.change);
        mpr_json_text(j, "see", mpr_report_finding_command(&doc, in, f));
        mpr_json_text(j, "heap", mpr_heap_name(f->heap));
        mpr_json_number(j, "time_ns", f->time);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_doc_free(&doc);
}

/* ---- communicators */

static void device_comms(struct mpr_json *j, unsigned index, const struct mpr_device_state *s,
                         bool at_oom)
{
    if (!s->comms) return;
    mpr_json_open(j, NULL, '{');
    mpr_json_number(j, "device", index);
    mpr_json_flag(j, "at_oom", at_oom);
    mpr_json_number(j, "time_ns", s->time);
    mpr_json_open(j, "rows", '[');
    for (const struct mpr_comm_row *c = s->comm; c < s->comm + s->comms; c++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "id", c->name);
        mpr_json_known(j, "ranks", c->ranks, UINT64_MAX);
        mpr_json_known(j, "rank", c->rank, UINT64_MAX);
        mpr_json_text(j, "first_use", c->first_use);
        mpr_json_number(j, "bytes", c->bytes);
        mpr_json_number(j, "blocks", c->blocks);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
}

void mpr_html_comms(struct mpr_json *j, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = in ? &in->peaks.log[0] : NULL;
    mpr_json_open(j, "communicators", '[');
    for (size_t i = 0; log && i < log->devices; i++) {
        const bool at_oom = in->oom.told && in->oom.device == log->device[i].index;
        device_comms(j, log->device[i].index, at_oom ? &in->oom.state : &log->device[i].peak,
                     at_oom);
    }
    mpr_json_close(j, ']');
}

/* ---- notes */

void mpr_html_notes(struct mpr_json *j, const struct mpr_timeline *t, const struct mpr_insights *in,
                    const struct mpr_naming *naming)
{
    struct mpr_document doc = { .naming = naming, .without_folders = true };
    mpr_report_page_notes(&doc, t, in);
    mpr_json_open(j, "notes", '[');
    for (const struct mpr_item *i = doc.first; i; i = i->next) {
        const char *text = "";
        if (i->kind != MPR_LINE || !i->run) continue;
        for (const struct mpr_run *r = i->run; r; r = r->next)
            text = mpr_arena_format(&doc.arena, "%s%s", text, r->text);
        while (*text == ' ') text++;
        mpr_json_open(j, NULL, '[');
        mpr_json_text(j, NULL, text);
        mpr_json_flag(j, NULL, i->whole);
        mpr_json_close(j, ']');
    }
    mpr_json_close(j, ']');
    mpr_doc_free(&doc);
}

/* ---- differences */

enum { DIFFERENCES = 60 }; /* rows of an account; the rest is summed */

/* The largest change first; of equal ones what grew, then by name. */
static int by_change(const void *left, const void *right)
{
    const struct mpr_diff_row *a = left, *b = right;
    const int64_t x = llabs(a->change), y = llabs(b->change);
    if (x != y) return x > y ? -1 : 1;
    if (a->change != b->change) return a->change > b->change ? -1 : 1;
    const int order = mpr_frame_compare_paths(a->path, b->path);
    return order ? order : strcmp(a->caller, b->caller);
}

static void difference_rows(struct mpr_json *j, const struct mpr_diff_row *row, size_t count,
                            enum mpr_group by)
{
    int64_t base = 0, now = 0;
    mpr_json_open(j, "rows", '[');
    for (const struct mpr_diff_row *r = row; r < row + count; r++) {
        if (r >= row + DIFFERENCES) {
            base = mpr_signed_add(base, r->base.bytes);
            now = mpr_signed_add(now, r->now.bytes);
            continue;
        }
        mpr_json_open(j, NULL, '{');
        mpr_html_path(j, r->path, r->caller, by);
        mpr_json_signed(j, "base_bytes", r->base.bytes);
        mpr_json_signed(j, "new_bytes", r->now.bytes);
        mpr_json_flag(j, "estimated", r->estimated);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_json_number(j, "others", mpr_saturating_sub(count, DIFFERENCES));
    mpr_json_signed(j, "others_base_bytes", base);
    mpr_json_signed(j, "others_new_bytes", now);
}

void mpr_html_differences(struct mpr_json *j, const struct mpr_diff *diff,
                          const struct mpr_naming *naming)
{
    mpr_json_open(j, "differences", '[');
    for (size_t i = 0; diff && i < diff->accounts; i++) {
        const struct mpr_diff_account *a = &diff->account[i];
        struct mpr_arena arena = { 0 };
        size_t count;
        if (!a->rows) continue;
        struct mpr_diff_row *row = mpr_diff_rows(&arena, diff, a, naming, &count);
        if (count) qsort(row, count, sizeof *row, by_change);
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "name", a->name);
        mpr_json_flag(j, "peak", a->subject == MPR_DIFF_DEVICE || a->subject == MPR_DIFF_HEAP);
        mpr_json_signed(j, "base_bytes", a->total.base.bytes);
        mpr_json_signed(j, "new_bytes", a->total.now.bytes);
        difference_rows(j, row, count, a->by);
        mpr_json_close(j, '}');
        mpr_arena_free(&arena);
    }
    mpr_json_close(j, ']');
}

void mpr_html_verdict(struct mpr_json *j, const struct mpr_diff *diff, const struct mpr_verdict *v,
                      const struct mpr_naming *naming)
{
    struct mpr_document doc = { .naming = naming };
    if (!v) {
        mpr_json_null(j, "verdict");
        return;
    }
    mpr_json_open(j, "verdict", '{');
    mpr_json_text(j, "outcome", mpr_report_outcome_words(v));
    mpr_json_text(j, "what", mpr_report_verdict_words(&doc, diff, v));
    mpr_json_open(j, "findings", '[');
    for (const struct mpr_change *c = v->change; c < v->change + v->changes; c++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_signed(j, "change_bytes", mpr_sides_change(c->bytes));
        mpr_json_flag(j, "estimated", c->estimated);
        mpr_json_text(j, "what", mpr_report_change_words(&doc, c));
        mpr_json_text(j, "change", mpr_report_change_advice(c));
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
    mpr_doc_free(&doc);
}
