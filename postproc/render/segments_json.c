/* JSON of PyTorch's segments: a contract, memprof-report(1) lists the fields. */
#include "gpu_reports.h"
#include "json_rows.h"
#include "json_summary.h"
#include "segments.h"

static void pool_id(struct mpr_json *j, const uint64_t pool[2])
{
    if (pool[0] || pool[1]) mpr_json_numbers(j, "pool", pool, 2);
    else mpr_json_null(j, "pool");
}

static void segment(struct mpr_json *j, const struct mpr_segment *s)
{
    static const char *const state[] = { "split", "releasable", "graph" };
    mpr_json_open(j, NULL, '{');
    mpr_json_number(j, "address", s->addr);
    mpr_json_text(j, "state", state[s->state]);
    pool_id(j, s->pool);
    mpr_json_known(j, "capture", s->capture, 0);
    mpr_json_flag(j, "expandable", s->expandable);
    mpr_json_number(j, "made_ns", s->time);
    mpr_json_number(j, "bytes", s->bytes);
    mpr_json_number(j, "live_bytes", s->live);
    mpr_json_number(j, "free_bytes", s->free);
    mpr_json_number(j, "largest_hole_bytes", s->largest_hole);
    mpr_json_number(j, "blocks", s->blocks);
    if (s->oldest) {
        mpr_json_path(j, "oldest_path", s->oldest, s->oldest_depth);
        mpr_json_number(j, "oldest_ns", s->oldest_time);
    }
    mpr_json_close(j, '}');
}

static void pool(struct mpr_json *j, const struct mpr_segment_pool *p)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_flag(j, "graph", p->graph);
    pool_id(j, p->pool);
    mpr_json_number(j, "segments", p->segments);
    mpr_json_number(j, "bytes", p->bytes);
    mpr_json_number(j, "live_bytes", p->live);
    mpr_json_number(j, "free_bytes", p->free);
    mpr_json_number(j, "largest_hole_bytes", p->largest_hole);
    mpr_json_close(j, '}');
}

static void pin(struct mpr_json *j, const struct mpr_segment_pin *p)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_path(j, "path", p->path, p->depth);
    mpr_json_number(j, "free_bytes", p->free);
    mpr_json_number(j, "segments", p->segments);
    mpr_json_number(j, "blocks", p->blocks);
    mpr_json_number(j, "bytes", p->bytes);
    mpr_json_number(j, "oldest_ns", p->oldest_time);
    mpr_json_close(j, '}');
}

static size_t least(size_t count, size_t top) { return top && top < count ? top : count; }

static void device(struct mpr_json *j, const struct mpr_segments_device *d, size_t top)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_number(j, "device", d->index);
    mpr_json_text(j, "name", d->name);
    mpr_json_number(j, "time_ns", d->time);
    mpr_json_number(j, "bytes", d->bytes);
    mpr_json_number(j, "live_bytes", d->live);
    mpr_json_number(j, "split_free_bytes", d->split_free);
    mpr_json_number(j, "largest_hole_bytes", d->largest_hole);
    mpr_json_number(j, "releasable_bytes", d->idle);
    mpr_json_number(j, "graph_free_bytes", d->graph_free);
    mpr_json_number(j, "outside_bytes", d->outside);
    mpr_json_number(j, "outside_blocks", d->outside_blocks);
    mpr_json_open(j, "pools", '[');
    for (size_t i = 0; i < d->pools; i++) pool(j, &d->pool[i]);
    mpr_json_close(j, ']');
    mpr_json_open(j, "segments", '[');
    for (size_t i = 0; i < least(d->segments, top); i++) segment(j, &d->segment[i]);
    mpr_json_close(j, ']');
    mpr_json_number(j, "omitted_segments", d->segments - least(d->segments, top));
    mpr_json_open(j, "pins", '[');
    for (size_t i = 0; i < least(d->pins, top); i++) pin(j, &d->pin[i]);
    mpr_json_close(j, ']');
    mpr_json_number(j, "omitted_pins", d->pins - least(d->pins, top));
    mpr_json_close(j, '}');
}

void mpr_segments_json(FILE *out, const struct mpr_segments *segments, const struct mpr_style *style)
{
    static const char *const at[] = { "peak", "oom", "time" };
    struct mpr_json j = { .out = out, .first = true };
    mpr_json_open(&j, NULL, '{');
    mpr_json_text(&j, "schema", "memprof.segments/1");
    mpr_json_summary(&j, &segments->summary);
    mpr_json_text(&j, "at", at[segments->options.which]);
    mpr_json_open(&j, "devices", '[');
    for (size_t i = 0; i < segments->devices; i++) device(&j, &segments->device[i], style->top);
    mpr_json_close(&j, ']');
    mpr_json_close(&j, '}');
}
