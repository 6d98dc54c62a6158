#include "segments.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "bisect.h"
#include "gpu.h"
#include "labels.h"
#include "mpf/sample.h"
#include "named_instant.h"
#include "reader.h"
#include "row.h"

/* ---- the walk
 *
 * Driver blocks and PyTorch's blocks are sorted by address, so one pass over both finds the
 * blocks of each segment. */

/* A segment is recognized by the library that allocated it. If the library is unknown (no call
 * stack, PyTorch linked into the program, a plug-in that mapped it again), a block in it shows
 * that it is one. */
bool mpr_is_torch_segment(const struct mpr_device_snapshot *p, const struct mpr_gpu_block *block)
{
    if (mpf_heap_code(block->heap) != MPF_HEAP_DEVICE || !block->addr) return false;
    if (block->segment) return true;
    const size_t low =
        MPR_COUNT_FIRST(i, p->torches, p->torch[i].addr + p->torch[i].size <= block->addr);
    return low < p->torches && p->torch[low].addr < block->addr + block->size;
}

bool mpr_segment_expands(const struct mpr_sites *sites, uint32_t library)
{
    const char *name = mpr_sites_library_name(sites, library);
    return !*name || !strncmp(name, "libc10_cuda", 11);
}

/* Raises *largest to the size of the hole. */
static void note_hole(uint64_t *largest, uint64_t from, uint64_t to)
{
    if (mpr_saturating_sub(to, from) > *largest) *largest = to - from;
}

/* Adds a hole, and the idle pieces in it. @piece: the first piece that may begin in the hole. */
static void add_hole(struct mpr_walked_segment *s, size_t *piece, uint64_t from, uint64_t to)
{
    note_hole(&s->hole, from, to);
    while (*piece < s->pieces && s->piece[*piece].addr < from) (*piece)++;
    for (; *piece < s->pieces; (*piece)++) {
        const struct mpr_gpu_block *p = &s->piece[*piece];
        if (p->addr >= to || p->size > to - p->addr) break;
        note_hole(&s->split_hole, from, p->addr);
        s->idle += p->size;
        from = p->addr + p->size;
    }
    note_hole(&s->split_hole, from, to);
}

/* Finds the segment's blocks, which are in [begin, end). */
static void find_blocks(struct mpr_segment_walk *w, struct mpr_walked_segment *s, uint64_t begin,
                        uint64_t end)
{
    const struct mpr_device_snapshot *p = w->snapshot;
    uint64_t cursor = begin;
    size_t piece = 0;
    /* find the last block that begins at or before the segment */
    while (w->torch + 1 < p->torches && p->torch[w->torch + 1].addr <= begin) w->torch++;
    s->from = w->torch;
    if (s->from < p->torches && p->torch[s->from].addr + p->torch[s->from].size <= begin) s->from++;
    for (s->to = s->from; s->to < p->torches && p->torch[s->to].addr < end; s->to++) {
        const struct mpr_gpu_block *b = &p->torch[s->to];
        const uint64_t from = b->addr > begin ? b->addr : begin,
                       to = b->addr + b->size < end ? b->addr + b->size : end;
        add_hole(s, &piece, cursor, from);
        if (to > cursor) cursor = to;
        s->live += mpr_saturating_sub(to, from);
        s->blocks += b->addr >= begin;
        if (!s->oldest || b->time < s->oldest->time) s->oldest = b;
    }
    add_hole(s, &piece, cursor, end);
}

bool mpr_segment_walk_next(struct mpr_segment_walk *w, struct mpr_walked_segment *s)
{
    const struct mpr_device_snapshot *p = w->snapshot;
    const struct mpr_gpu_block *const end = p->driver + p->drivers;
    while (w->driver < p->drivers && !mpr_is_torch_segment(p, &p->driver[w->driver])) w->driver++;
    if (w->driver == p->drivers) return false;
    const struct mpr_gpu_block *first = &p->driver[w->driver], *next = first + 1;
    *s = (struct mpr_walked_segment){ .piece = first };
    s->expandable = first->handle && mpr_segment_expands(w->sites, first->library);
    while (s->expandable && next < end && next->handle &&
           next->addr == next[-1].addr + next[-1].size && next->capture == first->capture &&
           mpr_is_torch_segment(p, next))
        next++;
    s->pieces = (size_t)(next - first);
    s->bytes = next[-1].addr + next[-1].size - first->addr;
    /* only damaged logs have overlapping blocks of the driver; these end where the next one
     * begins */
    const uint64_t bound = first->addr + s->bytes;
    find_blocks(w, s, first->addr, next < end && next->addr < bound ? next->addr : bound);
    w->driver += s->pieces;
    return true;
}

/* ---- a device */

/* A live block in a split segment, with the segment's address and free bytes. */
struct split_block {
    uint32_t key;
    uint64_t bytes, segment, free, time;
};

/* The result for one device, and its sources. */
struct device_result {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    const struct mpr_device_snapshot *snapshot;
    struct mpr_segments_device *out;
    struct split_block *split;
    size_t splits, split_cap;
    uint32_t *pool_of; /* index of a pool + 1, by 2 * pool of captures (gpu.h) + 1 if a graph holds
                          the segment */
};

/* A block's owner: its range, or its Python stack if it has none. */
static uint32_t key_of(const struct mpr_gpu_block *b) { return b->node ? b->node : b->python; }

static struct mpr_segment segment_of(const struct device_result *m,
                                     const struct mpr_walked_segment *s)
{
    const struct mpr_gpu *g = &m->reader->replay.gpu;
    const struct mpr_gpu_block *b = s->piece;
    const bool of_graph = mpr_graph_holds(g, b->capture, m->snapshot->time);
    struct mpr_segment out = { .addr = b->addr,
                               .bytes = s->bytes,
                               .live = s->live,
                               .free = mpr_saturating_sub(s->bytes, s->live),
                               .largest_hole = s->hole,
                               .blocks = s->blocks,
                               .idle = of_graph ? 0 : s->idle,
                               .time = b->time,
                               .capture = b->capture,
                               .state = of_graph  ? MPR_SEGMENT_GRAPH
                                        : s->live ? MPR_SEGMENT_SPLIT
                                                  : MPR_SEGMENT_IDLE,
                               .expandable = s->expandable };
    if (b->capture) memcpy(out.pool, g->capture[b->capture - 1].pool, sizeof out.pool);
    if (!s->oldest) return out;
    out.oldest = mpr_label_node(m->arena, m->reader, key_of(s->oldest));
    out.oldest_time = s->oldest->time;
    return out;
}

static void add_segment(struct device_result *m, const struct mpr_walked_segment *walked)
{
    struct mpr_segments_device *d = m->out;
    struct mpr_segment *s = &d->segment[d->segments++];
    *s = segment_of(m, walked);
    const bool graph = s->state == MPR_SEGMENT_GRAPH;
    const uint32_t shared = s->capture ? m->reader->replay.gpu.capture[s->capture - 1].shared : 0;
    uint32_t *number = &m->pool_of[2 * shared + graph];
    if (!*number) {
        d->pool[d->pools++] =
            (struct mpr_segment_pool){ .pool = { s->pool[0], s->pool[1] }, .graph = graph };
        *number = (uint32_t)d->pools;
    }
    struct mpr_segment_pool *pool = &d->pool[*number - 1];
    pool->segments++;
    pool->bytes += s->bytes;
    pool->live += s->live;
    pool->free += s->free;
    if (s->largest_hole > pool->largest_hole) pool->largest_hole = s->largest_hole;
    d->bytes += s->bytes;
    d->live += s->live;
    if (graph) {
        d->graph_free += s->free;
        return;
    }
    const uint64_t pinned = mpr_saturating_sub(s->free, s->idle);
    d->idle += s->idle;
    d->split_free += pinned;
    if (walked->split_hole > d->largest_hole) d->largest_hole = walked->split_hole;
    if (s->state != MPR_SEGMENT_SPLIT || !pinned) return;
    for (size_t i = walked->from; i < walked->to; i++) {
        const struct mpr_gpu_block *b = &m->snapshot->torch[i];
        MPR_GROW(m->split, m->splits, m->split_cap);
        m->split[m->splits++] =
            (struct split_block){ key_of(b), b->size, s->addr, pinned, b->time };
    }
}

MPR_COMPARE(by_key_and_segment, struct split_block,
            mpr_compare(a->key, b->key) ?: mpr_compare(a->segment, b->segment))

MPR_COMPARE(by_pinned, struct mpr_segment_pin,
            mpr_compare(b->free, a->free) ?: mpr_compare(b->bytes, a->bytes))

static void fill_pins(struct device_result *m)
{
    struct mpr_segments_device *d = m->out;
    struct mpr_pinned *in = mpr_arena_alloc(m->arena, m->splits * sizeof *in);
    d->pin = mpr_arena_alloc(m->arena, m->splits * sizeof *d->pin);
    if (m->splits) qsort(m->split, m->splits, sizeof *m->split, by_key_and_segment);
    for (size_t i = 0; i < m->splits; i++) {
        const struct split_block *h = &m->split[i];
        const bool new_key = !i || h->key != h[-1].key;
        if (new_key)
            d->pin[d->pins++] =
                (struct mpr_segment_pin){ .path = mpr_label_node(m->arena, m->reader, h->key),
                                          .oldest_time = UINT64_MAX,
                                          .in = in };
        struct mpr_segment_pin *pin = &d->pin[d->pins - 1];
        pin->blocks++;
        pin->bytes += h->bytes;
        if (h->time < pin->oldest_time) pin->oldest_time = h->time;
        if (!new_key && h->segment == h[-1].segment) continue;
        *in++ = (struct mpr_pinned){ h->segment, h->free };
        pin->segments++;
        pin->free += h->free;
    }
    qsort(d->pin, d->pins, sizeof *d->pin, by_pinned);
}

MPR_COMPARE(by_free, struct mpr_segment,
            mpr_compare(b->free, a->free) ?: mpr_compare(a->addr, b->addr))

MPR_COMPARE(by_pool_bytes, struct mpr_segment_pool, mpr_compare(b->bytes, a->bytes))

static void fill_device(struct mpr_segments *result, const struct mpr_reader *reader,
                        const struct mpr_device_snapshot *p)
{
    const struct mpr_gpu *g = &reader->replay.gpu;
    struct mpr_arena *arena = &result->arena;
    struct mpr_segments_device *d = &result->device[result->devices];
    *d = (struct mpr_segments_device){ .index = p->device,
                                       .name = mpr_arena_text(arena, g->device[p->device].name),
                                       .time = p->time,
                                       .segment =
                                           mpr_arena_alloc(arena, p->drivers * sizeof *d->segment),
                                       .pool =
                                           mpr_arena_alloc(arena, p->drivers * sizeof *d->pool) };
    struct device_result m = { .arena = arena, .reader = reader, .snapshot = p, .out = d };
    m.pool_of = mpr_alloc(2 * ((size_t)g->shareds + 1), sizeof *m.pool_of);
    struct mpr_segment_walk walk = { .sites = &reader->replay.sites, .snapshot = p };
    struct mpr_walked_segment walked;
    while (mpr_segment_walk_next(&walk, &walked)) add_segment(&m, &walked);
    uint64_t backed = 0;
    for (size_t i = 0; i < p->torches; i++) {
        const struct mpr_gpu_block *b = &p->torch[i];
        d->outside_blocks += mpr_gpu_backed(b) != 0;
        backed += mpr_gpu_backed(b);
        d->asleep += b->asleep;
        d->asleep_blocks += b->asleep != 0;
    }
    for (size_t i = 0; i < d->segments; i++)
        d->outside_blocks = mpr_saturating_sub(d->outside_blocks, d->segment[i].blocks);
    d->outside = mpr_saturating_sub(backed, d->live);
    fill_pins(&m);
    free(m.split);
    free(m.pool_of);
    qsort(d->segment, d->segments, sizeof *d->segment, by_free);
    qsort(d->pool, d->pools, sizeof *d->pool, by_pool_bytes);
    if (d->segments || d->outside_blocks || d->asleep_blocks) result->devices++;
}

/* ---- the instant */

void mpr_segments_fill(struct mpr_segments *result, const struct mpr_reader *reader,
                       const struct mpr_oom *oom)
{
    result->device = mpr_arena_alloc(&result->arena, MPF_GPUS * sizeof *result->device);
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        const bool at_oom = oom && mpf_heap_device(oom->heap) == i;
        const struct mpr_device_snapshot *p =
            at_oom ? &oom->snapshot : &reader->replay.gpu.device[i].peak;
        if (p->valid) fill_device(result, reader, p);
    }
}

static void fill_one(struct mpr_segments *result, const struct mpr_reader *reader,
                     const struct mpr_device_snapshot *snapshot)
{
    result->device = mpr_arena_alloc(&result->arena, sizeof *result->device);
    fill_device(result, reader, snapshot);
}

bool mpr_segments_fill_oom(struct mpr_segments *result, const struct mpr_reader *reader)
{
    const struct mpr_oom *oom = mpr_oom_newest(&reader->replay.gpu);
    if (oom) fill_one(result, reader, &oom->snapshot);
    return oom != NULL;
}

int mpr_segments_read(struct mpr_segments *segments, const char *path,
                      const struct mpr_segments_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_instant at =
        options->which == MPR_SEGMENTS_AT_TIME ? options->at : MPR_INSTANT_PEAK;
    enum mpr_segments_at *which = &segments->options.which;
    struct mpr_reader reader;
    int status = 0;
    *segments = (struct mpr_segments){ .options = *options };
    if (mpr_reader_run(&reader, path, MPR_GROUP_RANGE, at, progress, error) != 0) return -1;
    mpr_reader_summary(&reader, path, &segments->arena, &segments->summary);
    if (*which == MPR_SEGMENTS_AT_WORST)
        *which = mpr_oom_newest(&reader.replay.gpu) ? MPR_SEGMENTS_AT_OOM : MPR_SEGMENTS_AT_PEAK;
    if (*which != MPR_SEGMENTS_AT_OOM) mpr_segments_fill(segments, &reader, NULL);
    else if (!mpr_segments_fill_oom(segments, &reader)) status = mpr_no_oom(path, error);
    mpr_reader_close(&reader);
    if (status != 0) mpr_segments_free(segments);
    return status;
}

void mpr_segments_free(struct mpr_segments *segments) { mpr_arena_free(&segments->arena); }

/* ---- groups of equal segments */

static int by_shape(const struct mpr_segment *a, const struct mpr_segment *b)
{
    return mpr_compare(a->bytes, b->bytes) ?: mpr_compare(a->free, b->free)
        ?: mpr_compare(a->largest_hole, b->largest_hole) ?: mpr_compare(a->state, b->state)
        ?: mpr_compare(a->pool[0], b->pool[0]) ?: mpr_compare(a->pool[1], b->pool[1]);
}

static int by_path(const struct mpr_segment *a, const struct mpr_segment *b)
{
    if (!a->oldest.frame || !b->oldest.frame) return !!a->oldest.frame - !!b->oldest.frame;
    return mpr_frame_compare_paths(a->oldest, b->oldest);
}

MPR_COMPARE(by_shape_and_path, struct mpr_segment *,
            by_shape(*a, *b) ?: by_path(*a, *b) ?: mpr_compare((*a)->addr, (*b)->addr))

MPR_COMPARE(by_group_free, struct mpr_segment_group,
            mpr_compare(b->free, a->free) ?: mpr_compare(b->bytes, a->bytes)
                ?: mpr_compare(a->oldest->addr, b->oldest->addr))

struct mpr_segment_group *mpr_segment_group(struct mpr_arena *arena,
                                            const struct mpr_segment *segment, size_t segments,
                                            bool separate, size_t *groups)
{
    struct mpr_segment_group *group = mpr_arena_alloc(arena, segments * sizeof *group);
    const struct mpr_segment **order = mpr_alloc(segments, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; i < segments; i++) order[i] = &segment[i];
    qsort(order, segments, sizeof *order, by_shape_and_path);
    for (size_t i = 0; i < segments; i++) {
        const struct mpr_segment *s = order[i];
        const bool new_group = !i || separate || by_shape(s, order[i - 1]) != 0,
                   new_path = new_group || by_path(s, order[i - 1]) != 0;
        if (new_group) group[count++] = (struct mpr_segment_group){ .oldest = s };
        struct mpr_segment_group *g = &group[count - 1];
        if (s->oldest.frame &&
            (!g->oldest->oldest.frame || s->oldest_time < g->oldest->oldest_time))
            g->oldest = s;
        g->segments++;
        g->bytes += s->bytes;
        g->free += s->free;
        g->blocks += s->blocks;
        g->paths += new_path && s->oldest.frame;
    }
    free(order);
    if (count) qsort(group, count, sizeof *group, by_group_free);
    *groups = count;
    return group;
}

/* ---- several instants */

static void drop_instant(struct mpr_segments_series *kept, struct mpr_segments_instant *instant)
{
    if (instant->segments.devices) kept->rows -= instant->segments.device[0].segments;
    mpr_segments_free(&instant->segments);
}

static bool is_due(const struct mpr_segments_series *kept, size_t number)
{
    return !number || (number - 1) % kept->stride == 0;
}

/* If there are too many segments, drops every second spread instant, until only the first one
 * and those with a link remain. */
void mpr_segments_series_add(struct mpr_segments_series *kept, const struct mpr_reader *reader,
                             const struct mpr_device_snapshot *snapshot, uint64_t since,
                             size_t number)
{
    struct mpr_segments_instant instant = { .since = since, .number = number };
    size_t spread = 1;
    if (!kept->stride) kept->stride = 1;
    if (!is_due(kept, number)) return;
    fill_one(&instant.segments, reader, snapshot);
    if (instant.segments.devices) kept->rows += instant.segments.device[0].segments;
    MPR_GROW(kept->at, kept->count, kept->cap);
    kept->at[kept->count++] = instant;
    while (kept->rows > kept->most && spread) {
        const size_t before = kept->count;
        kept->stride *= 2;
        kept->count = spread = 0;
        for (size_t i = 0; i < before; i++) {
            if (!is_due(kept, kept->at[i].number)) {
                drop_instant(kept, &kept->at[i]);
                continue;
            }
            spread += kept->at[i].number > 1;
            kept->at[kept->count++] = kept->at[i];
        }
    }
    if (kept->rows > kept->most && kept->count) drop_instant(kept, &kept->at[--kept->count]);
}

void mpr_segments_series_free(struct mpr_segments_series *kept)
{
    for (size_t i = 0; i < kept->count; i++) mpr_segments_free(&kept->at[i].segments);
    free(kept->at);
}
