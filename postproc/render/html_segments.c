#include "html_segments.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "naming.h"
#include "page.def"
#include "timeline_result.h"
#include "told.h"

enum { SEGMENTS = 4096, PINS = 12 }; /* of an instant that the page lists */

/* ---- rows */

static int by_address(const void *left, const void *right)
{
    const struct mpr_segment *a = left, *b = right;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Of too many those with most free bytes.  By address, what instants have alike is alike here. */
static uint64_t add_rows(struct mpr_page_segments *out, const struct mpr_segments_device *d)
{
    const size_t first = out->rows, count = d->segments < SEGMENTS ? d->segments : SEGMENTS;
    for (size_t i = 0; i < count; i++) {
        MPR_GROW(out->row, out->rows, out->row_cap);
        out->row[out->rows++] = d->segment[i];
    }
    if (count) qsort(out->row + first, count, sizeof *out->row, by_address);
    return count;
}

/* ---- pins */

/* Its number, made when new. */
static size_t path_number(struct mpr_page_segments *out, struct mpr_path path)
{
    size_t i = 0;
    while (i < out->paths && mpr_frame_compare_paths(out->path[i], path) != 0) i++;
    if (i < out->paths) return i;
    MPR_GROW(out->path, out->paths, out->path_cap);
    out->path[out->paths++] = path;
    return i;
}

/* Whose blocks keep split memory, the most first: told as people read them. */
static uint64_t add_pins(struct mpr_page_segments *out, const struct mpr_segments_device *d,
                         const struct mpr_naming *naming)
{
    struct mpr_value name[PINS];
    const size_t pins = d->pins < PINS ? d->pins : PINS;
    for (size_t i = 0; i < pins; i++) name[i] = mpr_value_path(d->pin[i].path);
    mpr_told(&out->arena, naming->telling, MPR_GROUP_RANGE, name, pins);
    for (size_t i = 0; i < pins; i++) {
        const struct mpr_segment_pin *p = &d->pin[i];
        struct mpr_told told = { name[i].path, name[i].caller ? name[i].caller : "" };
        told.path = mpr_telling_called(&out->arena, &told);
        MPR_GROW(out->pin, out->pins, out->pin_cap);
        out->pin[out->pins++] = (struct mpr_page_pin){ path_number(out, told.path), p->free,
                                                       p->segments, p->blocks, p->bytes };
    }
    return pins;
}

/* ---- instants */

static void add(struct mpr_page_segments *out, const struct mpr_segments_device *d, bool at_oom,
                uint64_t since, const struct mpr_naming *naming)
{
    struct mpr_page_then then = { d->index,    at_oom,        since,     d->time,
                                  d->segments, d->bytes,      d->live,   d->split_free,
                                  d->idle,     d->graph_free, d->outside };
    then.rows = add_rows(out, d);
    then.pins = add_pins(out, d, naming);
    MPR_GROW(out->then, out->thens, out->then_cap);
    out->then[out->thens++] = then;
}

static void add_all(struct mpr_page_segments *out, const struct mpr_segments *s, bool at_oom,
                    const struct mpr_naming *naming)
{
    for (size_t i = 0; i < s->devices; i++)
        add(out, &s->device[i], at_oom, s->device[i].time, naming);
}

void mpr_page_segments_fill(struct mpr_page_segments *out, const struct mpr_timeline *t,
                            const struct mpr_naming *naming)
{
    *out = (struct mpr_page_segments){ 0 };
    add_all(out, &t->at_oom, true, naming);
    add_all(out, &t->segments, false, naming);
    for (size_t i = 0; i < t->then.count; i++) {
        const struct mpr_segments_then *then = &t->then.at[i];
        if (then->segments.devices) add(out, &then->segments.device[0], false, then->since, naming);
    }
}

void mpr_html_segments(struct mpr_json *j, const struct mpr_page_segments *s)
{
    mpr_json_open(j, "segments", '[');
    for (size_t i = 0; i < s->thens; i++) {
        const struct mpr_page_then *k = &s->then[i];
        const uint64_t row[] = { PAGE_THEN(PAGE_VALUE) };
        mpr_json_numbers(j, NULL, row, sizeof row / sizeof *row);
    }
    mpr_json_close(j, ']');
    mpr_json_open(j, "pin_paths", '[');
    for (size_t i = 0; i < s->paths; i++) mpr_json_path(j, NULL, s->path[i]);
    mpr_json_close(j, ']');
}

void mpr_page_segments_free(struct mpr_page_segments *s)
{
    mpr_arena_free(&s->arena);
    free(s->then);
    free(s->row);
    free(s->pin);
    free(s->path);
}
