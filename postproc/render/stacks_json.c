/* No document: a call names the one above it by its place among those that --top shows. */
#include <stdlib.h>

#include "alloc.h"
#include "calltrees.h"
#include "json.h"
#include "json_document.h"

static void call(struct mpr_json *j, const struct mpr_calltree *t, size_t i, const size_t *number)
{
    const struct mpr_call *c = &t->call[i];
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "name", c->frame->text);
    if (c->parent == i) mpr_json_null(j, "parent");
    else mpr_json_number(j, "parent", number[c->parent]);
    mpr_json_number(j, "bytes", c->bytes);
    mpr_json_number(j, "blocks", c->blocks);
    mpr_json_number(j, "own_bytes", c->own_bytes);
    mpr_json_number(j, "own_blocks", c->own_blocks);
    mpr_json_close(j, '}');
}

static void calls(struct mpr_json *j, const struct mpr_calltree *t, size_t top)
{
    bool *wanted = mpr_stacks_shown(t, top);
    size_t *number = mpr_alloc(t->calls, sizeof *number), shown = 0;
    mpr_json_open(j, "calls", '[');
    for (size_t i = 0; i < t->calls; i++) {
        if (!wanted[i]) continue;
        number[i] = shown++;
        call(j, t, i, number);
    }
    mpr_json_close(j, ']');
    mpr_json_number(j, "omitted_calls", t->calls - shown);
    free(number);
    free(wanted);
}

void mpr_stacks_json(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style)
{
    struct mpr_json j = { out, 0, true };
    mpr_json_open(&j, NULL, '{');
    mpr_json_text(&j, "schema", "memprof.stacks/1");
    mpr_json_log(&j, &t->summary, t->options.at);
    mpr_json_text(&j, "by", t->options.python ? "python" : "stack");
    mpr_json_flag(&j, "bottom_up", t->options.bottom_up);
    if (t->heap) mpr_json_text(&j, "heap", mpr_heap_name(t->heap));
    else mpr_json_null(&j, "heap");
    if (t->inside) mpr_json_text(&j, "inside", mpr_heap_name(t->inside));
    mpr_json_number(&j, "time_ns", t->time);
    mpr_json_number(&j, "bytes", t->bytes);
    mpr_json_number(&j, "blocks", t->blocks);
    mpr_json_number(&j, "unknown_bytes", t->unknown_bytes);
    mpr_json_number(&j, "unknown_blocks", t->unknown_blocks);
    if (t->samples) mpr_json_number(&j, "estimated_from_samples", t->samples);
    calls(&j, t, style->top);
    mpr_json_open(&j, "notes", '[');
    for (size_t i = 0; i < t->notes; i++) mpr_json_text(&j, NULL, t->note[i]);
    mpr_json_close(&j, ']');
    mpr_json_close(&j, '}');
}
