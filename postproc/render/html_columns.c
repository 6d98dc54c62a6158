/* The page's packed columns, and PyTorch's segments, which the page has as columns.
 *
 * All numbers of a column are next to each other because gzip packs similar numbers better. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "blob.h"
#include "cells.h"
#include "html_data.h"
#include "naming.h"
#include "page.def"
#include "timeline.h"

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
/* Defines a function that writes the number of rows, and then the rows column by column. */
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
COLUMNS(holder_columns, mpr_holder, PAGE_HOLDERS)
COLUMNS(place_columns, mpr_peak_place, PAGE_PLACES)

static void write_blob(FILE *out, struct mpr_blob *b, size_t log, const char *part)
{
    fprintf(out, "<script type=\"application/gzip\" id=\"b%zu-%s\">", log, part);
    mpr_blob_write(b, out);
    fputs("</script>\n", out);
}

/* Returns the number that a band would have if all of its blocks had the same size.  JavaScript
 * computes the same. */
static uint64_t expected(uint64_t bytes, uint64_t number, uint64_t of)
{
    return of ? (uint64_t)((double)bytes * ((double)number / (double)of)) : 0;
}

/* Writes the bytes that samples represent, and their variances.  Most blocks of a band have the
 * same size, so most of these numbers are the expected ones. */
static void estimate_columns(struct mpr_blob *b, const struct mpr_heap_timeline *h)
{
    for (size_t i = 0; i < h->changes; i++) {
        const struct mpr_band_change *c = &h->change[i];
        const struct mpr_band_sampling *s = &h->band[c->band].sampling;
        mpr_blob_delta(b, c->more, expected(c->bytes, s->more, s->bytes));
    }
    for (size_t i = 0; i < h->changes; i++) {
        const struct mpr_band_change *c = &h->change[i];
        const struct mpr_band_sampling *s = &h->band[c->band].sampling;
        mpr_blob_delta(b, c->variance,
                       s->more ? expected(c->more, s->variance, s->more)
                               : expected(c->bytes, s->variance, s->bytes));
    }
}

static void heap_columns(struct mpr_blob *b, const struct mpr_heap_timeline *h)
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
    if (h->sample_mean) estimate_columns(b, h);
    holder_columns(b, h->holder, h->holders);
}

void mpr_html_levels(FILE *out, const struct mpr_timeline *t, size_t log)
{
    struct mpr_blob b = { 0 };
    for (size_t i = 0; i < t->heaps; i++) heap_columns(&b, &t->heap[i]);
    instance_columns(&b, t->instance, t->instances);
    for (const struct mpr_device_account *a = t->account; a < t->account + t->accounts; a++) {
        account_columns(&b, a->instant, a->instants);
        for (size_t i = 0; i < a->parts; i++)
            for (size_t k = 0; k < a->instants; k++)
                mpr_blob_delta(&b, (uint64_t)a->part[i].bytes[k],
                               k ? (uint64_t)a->part[i].bytes[k - 1] : 0);
    }
    /* How many call stacks there are, the depth of each, and then the frames of all. */
    mpr_blob_number(&b, t->stacks);
    for (size_t i = 0; i < t->stacks; i++) mpr_blob_number(&b, t->stack[i].depth);
    for (size_t i = 0; i < t->stacks; i++)
        for (size_t k = 0; k < t->stack[i].depth; k++) mpr_blob_number(&b, t->stack[i].frame[k]);
    write_blob(out, &b, log, "levels");
}

/* Writes tracks, heaps, lanes and segments.  Two numbers precede the lanes' boxes: the shortest
 * length that was not joined, and how many boxes were left out.  The bytes that boxes took of each
 * heap follow. */
void mpr_html_details(FILE *out, const struct mpr_timeline *t,
                      const struct mpr_page_segments *segments, size_t log)
{
    struct mpr_blob b = { 0 };
    for (size_t i = 0; i < MPR_TRACKS; i++)
        if (t->track[i].points) point_columns(&b, t->track[i].point, t->track[i].points);
    for (size_t i = 0; i < t->heaps; i++) {
        const struct mpr_heap_timeline *h = &t->heap[i];
        span_details(&b, h->span, h->spans);
        place_columns(&b, h->place, h->places);
        block_columns(&b, h->lifetime, h->lifetimes);
        mpr_blob_number(&b, h->slice_changes);
        mpr_blob_number(&b, h->slices);
        for (size_t k = 0; k < h->slices; k++)
            mpr_blob_number(&b, h->slice_time[k] - (k ? h->slice_time[k - 1] : 0));
        flow_columns(&b, h->flow, h->flows);
    }
    mpr_blob_number(&b, t->boxes_shortest);
    mpr_blob_number(&b, t->boxes_left_out);
    box_columns(&b, t->box, t->boxes);
    for (size_t i = 0; i < t->heaps; i++) taken_columns(&b, t->heap[i].box, t->boxes);
    segment_columns(&b, segments->row, segments->rows);
    pin_columns(&b, segments->pin, segments->pins);
    write_blob(out, &b, log, "details");
}

/* ---- segments */

enum { SEGMENTS = 4096, PINS = 12 }; /* limits for one instant */

MPR_COMPARE(by_address, struct mpr_segment, mpr_compare(a->addr, b->addr))

/* Returns the index of a path, which is added if it is new. */
static size_t path_index(struct mpr_page_segments *out, struct mpr_path path, const char *caller)
{
    for (size_t i = 0; i < out->paths; i++)
        if (mpr_frame_compare_paths(out->path[i].path, path) == 0 &&
            strcmp(out->path[i].caller, caller) == 0)
            return i;
    MPR_GROW(out->path, out->paths, out->path_cap);
    out->path[out->paths] = (struct mpr_frame_summary){ path, caller };
    return out->paths++;
}

/* Keeps the segments with most free bytes if there are too many.  They are in order of address
 * because most are the same at several instants, and gzip finds equal sequences. */
static void add_instant(struct mpr_page_segments *out, const struct mpr_segments_device *d,
                        bool at_oom, uint64_t since, const struct mpr_naming *naming)
{
    const size_t first = out->rows, rows = d->segments < SEGMENTS ? d->segments : SEGMENTS,
                 pins = d->pins < PINS ? d->pins : PINS;
    struct mpr_value name[PINS];
    for (size_t i = 0; i < rows; i++) {
        *MPR_ADD(out->row, out->rows, out->row_cap) = d->segment[i];
    }
    if (rows) qsort(out->row + first, rows, sizeof *out->row, by_address);
    for (size_t i = 0; i < pins; i++) name[i] = mpr_value_path(d->pin[i].path);
    mpr_distinct_paths(&out->arena, naming->user_frames, MPR_GROUP_RANGE, name, pins);
    for (size_t i = 0; i < pins; i++) {
        const struct mpr_segment_pin *p = &d->pin[i];
        const size_t path = path_index(out, name[i].path, name[i].caller ? name[i].caller : "");
        MPR_GROW(out->pin, out->pins, out->pin_cap);
        out->pin[out->pins++] =
            (struct mpr_page_pin){ path, p->free, p->segments, p->blocks, p->bytes };
    }
    MPR_GROW(out->instant, out->instants, out->instant_cap);
    out->instant[out->instants++] =
        (struct mpr_page_instant){ d->index,   at_oom,  since,         d->time, d->segments,
                                   d->bytes,   d->live, d->split_free, d->idle, d->graph_free,
                                   d->outside, rows,    pins };
}

void mpr_page_segments_fill(struct mpr_page_segments *out, const struct mpr_timeline *t,
                            const struct mpr_naming *naming)
{
    *out = (struct mpr_page_segments){ 0 };
    for (size_t i = 0; i < t->at_oom.devices; i++)
        add_instant(out, &t->at_oom.device[i], true, t->at_oom.device[i].time, naming);
    for (size_t i = 0; i < t->segments.devices; i++)
        add_instant(out, &t->segments.device[i], false, t->segments.device[i].time, naming);
    for (size_t i = 0; i < t->at_instants.count; i++)
        if (t->at_instants.at[i].segments.devices)
            add_instant(out, &t->at_instants.at[i].segments.device[0], false,
                        t->at_instants.at[i].since, naming);
}

void mpr_page_segments_free(struct mpr_page_segments *s)
{
    mpr_arena_free(&s->arena);
    free(s->instant);
    free(s->row);
    free(s->pin);
    free(s->path);
}
