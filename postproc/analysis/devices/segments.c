#include "segments.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "gpu.h"
#include "labels.h"
#include "mpf/sample.h"
#include "named_instant.h"
#include "reader.h"
#include "walk.h"

/* What is being built: one device's picture. */
struct walk {
    struct mpr_segments *result;
    const struct mpr_reader *reader;
    const struct mpr_replay *r; /* its */
    const struct mpr_picture *picture;
    struct mpr_segments_device *out;
    struct held *held; /* a block in a split segment */
    size_t helds, held_cap;
    uint32_t *pool_of; /* by pool of captures (gpu.h), for segments that a graph holds and for
                          others: number */
};

struct held {
    uint32_t key;
    uint64_t bytes, segment, free, time;
};

/* By range, or by Python stack where there was none. */
static uint32_t key_of(const struct mpr_gpu_block *b) { return b->node ? b->node : b->python; }

static struct mpr_path label(struct walk *w, uint32_t key)
{
    return mpr_label_node(&w->result->arena, w->reader, key);
}

/* ---- one segment */

static struct mpr_segment describe(struct walk *w, const struct mpr_walked *s)
{
    const struct mpr_gpu_block *b = s->piece;
    struct mpr_segment out = { .addr = b->addr,
                               .bytes = s->bytes,
                               .live = s->live,
                               .free = mpr_less(s->bytes, s->live),
                               .largest_hole = s->hole,
                               .blocks = s->blocks,
                               .time = b->time,
                               .capture = b->capture,
                               .expandable = s->expandable };
    out.state = mpr_graph_holds(&w->r->gpu, b->capture, w->picture->time) ? MPR_SEGMENT_GRAPH
                : s->live                                                 ? MPR_SEGMENT_SPLIT
                                                                          : MPR_SEGMENT_IDLE;
    if (out.state != MPR_SEGMENT_GRAPH) out.idle = s->idle;
    if (b->capture) memcpy(out.pool, w->r->gpu.capture[b->capture - 1].pool, sizeof out.pool);
    if (!s->oldest) return out;
    out.oldest = label(w, key_of(s->oldest));
    out.oldest_time = s->oldest->time;
    return out;
}

/* ---- sums */

static void sum_up(struct mpr_segments_device *d, const struct mpr_segment *s, uint64_t split_hole)
{
    d->bytes += s->bytes;
    d->live += s->live;
    if (s->state == MPR_SEGMENT_GRAPH) {
        d->graph_free += s->free;
        return;
    }
    d->idle += s->idle;
    d->split_free += mpr_less(s->free, s->idle);
    if (split_hole > d->largest_hole) d->largest_hole = split_hole;
}

static struct mpr_segment_pool *pool_of(struct walk *w, const struct mpr_segment *s)
{
    const bool graph = s->state == MPR_SEGMENT_GRAPH;
    const uint32_t shared = s->capture ? w->r->gpu.capture[s->capture - 1].shared : 0;
    uint32_t *number = &w->pool_of[2 * shared + graph];
    if (!*number) {
        w->out->pool[w->out->pools++] =
            (struct mpr_segment_pool){ .pool = { s->pool[0], s->pool[1] }, .graph = graph };
        *number = (uint32_t)w->out->pools;
    }
    return &w->out->pool[*number - 1];
}

static void add_to_pool(struct walk *w, const struct mpr_segment *s)
{
    struct mpr_segment_pool *pool = pool_of(w, s);
    pool->segments++;
    pool->bytes += s->bytes;
    pool->live += s->live;
    pool->free += s->free;
    if (s->largest_hole > pool->largest_hole) pool->largest_hole = s->largest_hole;
}

/* ---- what pins free bytes */

static void hold(struct walk *w, const struct mpr_walked *walked, const struct mpr_segment *s)
{
    const uint64_t pinned = mpr_less(s->free, s->idle);
    if (s->state != MPR_SEGMENT_SPLIT || !pinned) return;
    for (size_t i = walked->from; i < walked->to; i++) {
        const struct mpr_gpu_block *b = &w->picture->torch[i];
        MPR_GROW(w->held, w->helds, w->held_cap);
        w->held[w->helds++] = (struct held){ key_of(b), b->size, s->addr, pinned, b->time };
    }
}

static int by_key_and_segment(const void *left, const void *right)
{
    const struct held *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->segment < b->segment ? -1 : a->segment > b->segment;
}

static void add_to_pin(struct mpr_segment_pin *pin, const struct held *h, bool first_there)
{
    pin->blocks++;
    pin->bytes += h->bytes;
    if (h->time < pin->oldest_time) pin->oldest_time = h->time;
    if (!first_there) return;
    pin->segments++;
    pin->free += h->free;
}

static int by_pinned(const void *left, const void *right)
{
    const struct mpr_segment_pin *a = left, *b = right;
    if (a->free != b->free) return a->free > b->free ? -1 : 1;
    return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

static void fill_pins(struct walk *w)
{
    struct mpr_segments_device *d = w->out;
    struct mpr_pinned *in = mpr_arena_alloc(&w->result->arena, w->helds * sizeof *in);
    d->pin = mpr_arena_alloc(&w->result->arena, w->helds * sizeof *d->pin);
    if (w->helds) qsort(w->held, w->helds, sizeof *w->held, by_key_and_segment);
    for (size_t i = 0; i < w->helds; i++) {
        const struct held *h = &w->held[i];
        const bool new_key = !i || h->key != h[-1].key;
        if (new_key) {
            d->pin[d->pins] = (struct mpr_segment_pin){ .oldest_time = UINT64_MAX, .in = in };
            d->pin[d->pins].path = label(w, h->key);
            d->pins++;
        }
        const bool first_there = new_key || h->segment != h[-1].segment;
        if (first_there) *in++ = (struct mpr_pinned){ h->segment, h->free };
        add_to_pin(&d->pin[d->pins - 1], h, first_there);
    }
    qsort(d->pin, d->pins, sizeof *d->pin, by_pinned);
}

/* ---- a device */

static int by_free(const void *left, const void *right)
{
    const struct mpr_segment *a = left, *b = right;
    if (a->free != b->free) return a->free > b->free ? -1 : 1;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int by_bytes(const void *left, const void *right)
{
    const struct mpr_segment_pool *a = left, *b = right;
    return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

static void walk_over(struct walk *w)
{
    struct mpr_segments_device *d = w->out;
    struct mpr_walk walk = { .sites = &w->r->sites, .picture = w->picture };
    struct mpr_walked walked;
    while (mpr_walk_next(&walk, &walked)) {
        struct mpr_segment *s = &d->segment[d->segments++];
        *s = describe(w, &walked);
        sum_up(d, s, walked.split_hole);
        add_to_pool(w, s);
        hold(w, &walked, s);
    }
}

static void count_outside(struct walk *w)
{
    struct mpr_segments_device *d = w->out;
    uint64_t blocks = 0, bytes = 0;
    for (size_t i = 0; i < w->picture->torches; i++) {
        const struct mpr_gpu_block *b = &w->picture->torch[i];
        blocks += mpr_gpu_backed(b) != 0;
        bytes += mpr_gpu_backed(b);
        d->asleep += b->asleep;
        d->asleep_blocks += b->asleep != 0;
    }
    for (size_t i = 0; i < d->segments; i++) blocks = mpr_less(blocks, d->segment[i].blocks);
    d->outside = mpr_less(bytes, d->live);
    d->outside_blocks = blocks;
}

static void fill_device(struct mpr_segments *result, const struct mpr_reader *reader,
                        unsigned index, const struct mpr_picture *p)
{
    const struct mpr_replay *r = &reader->replay;
    struct mpr_segments_device *d = &result->device[result->devices];
    *d = (struct mpr_segments_device){ .index = index,
                                       .name = mpr_arena_text(&result->arena,
                                                              r->gpu.device[index].name),
                                       .time = p->time };
    struct walk w = { .result = result, .reader = reader, .r = r, .picture = p, .out = d };
    d->segment = mpr_arena_alloc(&result->arena, p->drivers * sizeof *d->segment);
    d->pool = mpr_arena_alloc(&result->arena, p->drivers * sizeof *d->pool);
    w.pool_of = mpr_alloc(2 * ((size_t)r->gpu.shareds + 1), sizeof *w.pool_of);
    walk_over(&w);
    count_outside(&w);
    fill_pins(&w);
    free(w.held);
    free(w.pool_of);
    qsort(d->segment, d->segments, sizeof *d->segment, by_free);
    qsort(d->pool, d->pools, sizeof *d->pool, by_bytes);
    if (d->segments || d->outside_blocks || d->asleep_blocks) result->devices++;
}

/* ---- the instant */

/* oom NULL: all of them at their peaks. */
static void fill_devices(struct mpr_segments *result, const struct mpr_reader *reader,
                         const struct mpr_oom *oom)
{
    const struct mpr_replay *r = &reader->replay;
    result->device = mpr_arena_alloc(&result->arena, MPF_GPUS * sizeof *result->device);
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        const struct mpr_picture *p =
            oom && mpf_heap_device(oom->heap) == i ? &oom->picture : &r->gpu.device[i].peak;
        if (p->valid) fill_device(result, reader, i, p);
    }
}

void mpr_segments_fill(struct mpr_segments *result, const struct mpr_reader *reader)
{
    fill_devices(result, reader, NULL);
}

void mpr_segments_fill_worst(struct mpr_segments *result, const struct mpr_reader *reader)
{
    fill_devices(result, reader, mpr_oom_newest(&reader->replay.gpu));
}

void mpr_segments_fill_picture(struct mpr_segments *result, const struct mpr_reader *reader,
                               const struct mpr_picture *picture)
{
    result->device = mpr_arena_alloc(&result->arena, sizeof *result->device);
    fill_device(result, reader, picture->device, picture);
}

bool mpr_segments_fill_oom(struct mpr_segments *result, const struct mpr_reader *reader)
{
    const struct mpr_oom *oom = mpr_oom_newest(&reader->replay.gpu);
    if (oom) mpr_segments_fill_picture(result, reader, &oom->picture);
    return oom != NULL;
}

static int fill(struct mpr_segments *result, const struct mpr_reader *reader, const char *path,
                struct mpr_error *error)
{
    enum mpr_segments_at *which = &result->options.which;
    const bool only = *which == MPR_SEGMENTS_AT_OOM;
    if ((only || *which == MPR_SEGMENTS_AT_WORST) && mpr_segments_fill_oom(result, reader)) {
        *which = MPR_SEGMENTS_AT_OOM;
        return 0;
    }
    if (only) return mpr_no_oom(path, error);
    if (*which == MPR_SEGMENTS_AT_WORST) *which = MPR_SEGMENTS_AT_PEAK;
    mpr_segments_fill(result, reader);
    return 0;
}

int mpr_segments_read(struct mpr_segments *segments, const char *path,
                      const struct mpr_segments_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_instant at =
        options->which == MPR_SEGMENTS_AT_TIME ? options->at : MPR_INSTANT_PEAK;
    struct mpr_reader reader;
    *segments = (struct mpr_segments){ .options = *options };
    if (mpr_reader_run(&reader, path, MPR_GROUP_RANGE, at, progress, error) != 0) return -1;
    mpr_reader_summary(&reader, path, &segments->arena, &segments->summary);
    const int status = fill(segments, &reader, path, error);
    mpr_reader_close(&reader);
    if (status != 0) mpr_segments_free(segments);
    return status;
}

void mpr_segments_free(struct mpr_segments *segments) { mpr_arena_free(&segments->arena); }
