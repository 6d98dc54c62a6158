#include "html_steps.h"

#include "amount.h"
#include "naming.h"
#include "report_rows.h"
#include "steps.h"

enum {
    OUT = 64,
    PATHS = 40
}; /* of a heap, and of the comparison, that the page has; the rest is
      counted */

static void instance(struct mpr_json *j, const char *key, const struct mpr_instances *in,
                     const struct mpr_instances_heap *heap, size_t index)
{
    const struct mpr_instance *i = &in->instance[index];
    const struct mpr_instance_heap *of = &heap->of[index];
    struct mpr_arena arena = { 0 };
    mpr_json_open(j, key, '{');
    mpr_json_text(j, "name", mpr_instances_at_peak(&arena, in, heap, index));
    mpr_arena_free(&arena);
    mpr_json_number(j, "count", i->count);
    mpr_json_number(j, "begin_ns", i->begin_ns);
    mpr_json_number(j, "end_ns", i->end_ns);
    mpr_json_number(j, "peak_bytes", of->peak_bytes);
    mpr_json_number(j, "peak_time_ns", of->peak_time);
    mpr_json_signed(j, "kept_bytes", mpr_change(of->begin_bytes, of->end_bytes));
}

static void heap(struct mpr_json *j, const struct mpr_steps *s, const struct mpr_steps_heap *h)
{
    size_t shown = 0;
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "heap", mpr_heap_name(h->heap->heap));
    mpr_json_number(j, "median_peak_bytes", h->median_peak);
    mpr_json_signed(j, "median_kept_bytes", h->median_kept);
    mpr_json_number(j, "peaks_out", h->peaks_out);
    mpr_json_number(j, "kept_out", h->kept_out);
    mpr_json_open(j, "out", '[');
    for (size_t i = 0; i < s->instances.instances && shown < OUT; i++) {
        if (!h->stands_out[i]) continue;
        instance(j, NULL, &s->instances, h->heap, i);
        mpr_json_flag(j, "by_peak", h->stands_out[i] & MPR_STEPS_PEAK);
        mpr_json_flag(j, "by_kept", h->stands_out[i] & MPR_STEPS_KEPT);
        mpr_json_close(j, '}');
        shown++;
    }
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
}

static void row(struct mpr_json *j, const struct mpr_steps_row *r, enum mpr_group by)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_page_path(j, r->path, by);
    mpr_json_number(j, "bytes", r->here);
    mpr_json_number(j, "median_bytes", r->median);
    mpr_json_close(j, '}');
}

/* What it holds more of by call stacks, as lines. */
static void stacks(struct mpr_json *j, const struct mpr_steps_comparison *c,
                   const struct mpr_naming *naming)
{
    struct mpr_arena arena = { 0 };
    size_t lines = 0, live = 0;
    const struct mpr_line *line =
        mpr_naming_lines(&arena, naming, c->choice.by, c->more, c->mores, &lines, &live);
    mpr_json_open(j, "stacks", '[');
    for (size_t i = 0; i < live && i < PATHS; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_page_path(j, line[i].row.path, c->choice.by);
        mpr_json_text(j, "caller", line[i].caller);
        mpr_json_number(j, "more_bytes", line[i].row.bytes);
        mpr_json_flag(j, "estimated", line[i].row.estimated);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_json_number(j, "other_stacks", mpr_less(live, PATHS));
    mpr_arena_free(&arena);
}

/* What made it larger, as `steps` and `insights` name it. */
static void cause(struct mpr_json *j, const struct mpr_steps *s, const struct mpr_naming *naming)
{
    struct mpr_document doc = { .naming = naming };
    const struct mpr_row *c = mpr_steps_cause(s);
    mpr_json_text(j, "cause", c ? mpr_report_telling(&doc, c->path) : "");
    mpr_json_number(j, "cause_more_bytes", c ? c->bytes : 0);
    mpr_json_flag(j, "cause_estimated", c && c->estimated);
    mpr_doc_free(&doc);
}

static void comparison(struct mpr_json *j, const struct mpr_steps *s,
                       const struct mpr_naming *naming)
{
    const struct mpr_steps_comparison *c = &s->comparison;
    if (!s->compared) { /* of no heap maybe: there are none where nothing was allocated */
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
    for (size_t i = 0; i < c->rows && i < PATHS; i++) row(j, &c->row[i], c->choice.by);
    mpr_json_close(j, ']');
    mpr_json_number(j, "other_paths", mpr_less(c->rows, PATHS));
    stacks(j, &s->calls, naming);
    cause(j, s, naming);
    mpr_json_close(j, '}');
}

void mpr_html_steps(struct mpr_json *j, const struct mpr_steps *s, const struct mpr_naming *naming)
{
    if (!s) {
        mpr_json_null(j, "steps");
        return;
    }
    mpr_json_open(j, "steps", '{');
    mpr_json_text(j, "range", s->instances.range);
    mpr_json_number(j, "instances", s->instances.count);
    mpr_json_number(j, "instances_an_entry", s->instances.each);
    mpr_json_open(j, "heaps", '[');
    for (size_t i = 0; i < s->instances.heaps; i++) heap(j, s, &s->heap[i]);
    mpr_json_close(j, ']');
    comparison(j, s, naming);
    mpr_json_close(j, '}');
}
