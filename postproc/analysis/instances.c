/* Two passes where nobody names the range: the first finds out which one repeats.  Memory is
 * bounded by MPR_INSTANCES_MAX entries a heap: when they are full, each two become one. */
#include "instances.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "labels.h"
#include "reader.h"
#include "repeats.h"

struct entry {
    uint64_t number, count, begin_ns, end_ns;
    uint32_t node, last_node, thread;
    bool unended;
};

struct builder {
    struct mpr_repeats *repeats; /* for names */
    struct mpr_follow follow;
    struct mpr_highs highs;
    const char *name;  /* of the range; NULL: there is none */
    uint8_t *is_range; /* by node: 0 not compared yet, 1 it is, 2 it is another one */
    uint32_t nodes;
    struct entry *entry;
    size_t entries;
    uint64_t count, each;
    struct mpr_used_heaps heaps;
    struct mpr_instance_heap *heap[MPR_HEAPS]; /* by entry; of heaps that are used */
};

/* ---- entries */

static void merge_heap(struct mpr_instance_heap *to, const struct mpr_instance_heap *a,
                       const struct mpr_instance_heap *b)
{
    const struct mpr_instance_heap merged = {
        .peak_bytes = b->peak_bytes > a->peak_bytes ? b->peak_bytes : a->peak_bytes,
        .peak_time = b->peak_bytes > a->peak_bytes ? b->peak_time : a->peak_time,
        .peak_number = b->peak_bytes > a->peak_bytes ? b->peak_number : a->peak_number,
        .begin_bytes = a->begin_bytes,
        .end_bytes = b->end_bytes,
        .allocations = a->allocations + b->allocations,
    };
    *to = merged;
}

static struct entry merged(const struct entry *a, const struct entry *b)
{
    struct entry m = *a;
    m.count += b->count;
    if (b->end_ns > m.end_ns) m.end_ns = b->end_ns;
    m.unended |= b->unended;
    m.last_node = b->last_node;
    return m;
}

static void halve(struct builder *b)
{
    b->entries /= 2;
    for (size_t i = 0; i < b->entries; i++)
        b->entry[i] = merged(&b->entry[2 * i], &b->entry[2 * i + 1]);
    for (uint32_t h = 0; h < b->heaps.count; h++) {
        struct mpr_instance_heap *heap = b->heap[b->heaps.code[h]];
        for (size_t i = 0; i < b->entries; i++)
            merge_heap(&heap[i], &heap[2 * i], &heap[2 * i + 1]);
    }
    b->each *= 2;
}

static size_t entry_of(const struct builder *b, uint64_t number)
{
    return (size_t)((number - 1) / b->each);
}

static struct entry *entry_for(struct builder *b, const struct mpr_followed *f)
{
    if (entry_of(b, f->number) == MPR_INSTANCES_MAX) halve(b);
    const size_t at = entry_of(b, f->number);
    if (at == b->entries)
        b->entry[b->entries++] = (struct entry){
            .number = f->number, .begin_ns = f->begin_ns, .node = f->node, .thread = f->thread
        };
    b->entry[at].count++;
    b->entry[at].last_node = f->node;
    return &b->entry[at];
}

/* ---- what happens */

static uint32_t what(void *arg, const struct mpr_replay *r, uint32_t node)
{
    struct builder *b = arg;
    if (!b->name) return 0;
    MPR_REACH(b->is_range, node, b->nodes);
    if (!b->is_range[node])
        b->is_range[node] = mpr_repeats_named(b->repeats, r, node, b->name) ? 1 : 2;
    return b->is_range[node] == 1;
}

static void rise(struct mpr_instance_heap *h, uint64_t number, uint64_t bytes, uint64_t time)
{
    if (bytes <= h->peak_bytes) return;
    h->peak_bytes = bytes;
    h->peak_time = time;
    h->peak_number = number;
}

/* The highs since the range event before are those of all that was open. */
static void before(void *arg, const struct mpr_replay *r)
{
    struct builder *b = arg;
    const uint32_t known = b->heaps.count;
    mpr_books_used(&r->books, &b->heaps);
    for (uint32_t h = known; h < b->heaps.count; h++)
        b->heap[b->heaps.code[h]] = mpr_alloc(MPR_INSTANCES_MAX, sizeof **b->heap);
    for (uint32_t h = 0; h < b->heaps.count; h++) {
        const uint8_t code = b->heaps.code[h];
        struct mpr_high *high = &b->highs.heap[code];
        for (size_t i = 0; i < b->follow.count; i++) {
            const uint64_t number = b->follow.open[i].number;
            rise(&b->heap[code][entry_of(b, number)], number, high->bytes, high->time);
        }
        high->bytes = 0;
    }
}

static void begins(void *arg, const struct mpr_replay *r, struct mpr_followed *f)
{
    struct builder *b = arg;
    f->number = ++b->count;
    struct entry *entry = entry_for(b, f);
    const bool first = entry->count == 1;
    const size_t at = (size_t)(entry - b->entry);
    for (uint32_t i = 0; i < b->heaps.count; i++) {
        const struct mpr_heap *heap = &r->books.heap[b->heaps.code[i]];
        struct mpr_instance_heap *h = &b->heap[b->heaps.code[i]][at];
        if (first)
            *h = (struct mpr_instance_heap){ .begin_bytes = heap->bytes, .end_bytes = heap->bytes };
        rise(h, f->number, heap->bytes, f->begin_ns);
        h->allocations -= heap->allocations;
        if (b->follow.count == MPR_FOLLOW_MAX) h->allocations += heap->allocations;
    }
}

static void ends(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended)
{
    struct builder *b = arg;
    const size_t at = entry_of(b, f->number);
    b->entry[at].end_ns = r->now;
    b->entry[at].unended |= !ended;
    for (uint32_t i = 0; i < b->heaps.count; i++) {
        const struct mpr_heap *heap = &r->books.heap[b->heaps.code[i]];
        struct mpr_instance_heap *h = &b->heap[b->heaps.code[i]][at];
        h->end_bytes = heap->bytes;
        h->allocations += heap->allocations;
    }
}

/* ---- the result */

static struct mpr_instance instance_of(const struct builder *b, const struct mpr_reader *reader,
                                       const struct entry *e, struct mpr_arena *arena)
{
    const struct mpr_replay *r = &reader->replay;
    return (struct mpr_instance){
        .number = e->number,
        .count = e->count,
        .name = mpr_repeats_label(b->repeats, r, arena, e->node, b->name, e->number),
        .last = mpr_repeats_label(b->repeats, r, arena, e->last_node, b->name,
                                  e->number + e->count - 1),
        .thread = mpr_label_thread(arena, r, e->thread),
        .begin_ns = e->begin_ns,
        .end_ns = e->end_ns ? e->end_ns : e->begin_ns,
        .unended = e->unended || !e->end_ns,
    };
}

static int by_peak(const void *left, const void *right)
{
    const struct mpr_instances_heap *a = left, *b = right;
    if (a->peak_bytes != b->peak_bytes) return a->peak_bytes > b->peak_bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void fill_heap(struct mpr_instances *out, const char *name,
                      const struct mpr_instance_heap *of)
{
    const size_t bytes = out->instances * sizeof *of;
    struct mpr_instances_heap *heap = &out->heap[out->heaps++];
    *heap =
        (struct mpr_instances_heap){ .name = name,
                                     .of = memcpy(mpr_arena_alloc(&out->arena, bytes), of, bytes) };
    for (size_t i = 0; i < out->instances; i++)
        if (of[i].peak_bytes > heap->peak_bytes) heap->peak_bytes = of[i].peak_bytes;
}

static void fill_heaps(const struct builder *b, const char *only, struct mpr_instances *out)
{
    out->heap = mpr_arena_alloc(&out->arena, b->heaps.count * sizeof *out->heap);
    for (uint32_t i = 0; i < b->heaps.count; i++) {
        const char *name = mpr_label_heap(&out->arena, b->heaps.code[i]);
        if (!only || strcmp(only, name) == 0) fill_heap(out, name, b->heap[b->heaps.code[i]]);
    }
    qsort(out->heap, out->heaps, sizeof *out->heap, by_peak);
}

/* Of several paths the first one. */
static void fill_path(const struct builder *b, struct mpr_instances *out)
{
    const uint32_t repeat = b->repeats->of_node[b->entry[0].node];
    out->depth = b->repeats->repeat[repeat].depth;
    const char **path = mpr_arena_alloc(&out->arena, out->depth * sizeof *path);
    mpr_repeats_path(b->repeats, repeat, path);
    for (size_t i = 0; i < out->depth; i++) path[i] = mpr_arena_text(&out->arena, path[i]);
    out->path = path;
}

static void fill(const struct builder *b, const struct mpr_reader *reader, const char *only,
                 struct mpr_instances *out)
{
    out->range = mpr_arena_text(&out->arena, b->name);
    fill_path(b, out);
    out->instance = mpr_arena_alloc(&out->arena, b->entries * sizeof *out->instance);
    for (size_t i = 0; i < b->entries; i++)
        out->instance[out->instances++] = instance_of(b, reader, &b->entry[i], &out->arena);
    out->count = b->count;
    out->each = b->each;
    out->left_out = b->follow.left_out;
    fill_heaps(b, only, out);
}

/* ---- two passes */

/* The outermost range that repeats, in the arena; NULL: none does. */
static int find_range(const char **range, struct mpr_arena *arena, const char *path,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    reader.repeats = mpr_repeats_new();
    mpr_repeats_watch(reader.repeats, &reader.replay);
    if (mpr_reader_replay(&reader, path, progress, error) != 0) return -1;
    const uint32_t repeat = mpr_repeats_outermost(reader.repeats);
    *range = repeat ? mpr_repeats_name(reader.repeats, arena, repeat) : NULL;
    mpr_reader_close(&reader);
    return 0;
}

static int measure(struct builder *b, const char *path, const char *only_heap,
                   const struct mpr_progress *progress, struct mpr_instances *out,
                   struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    b->follow = (struct mpr_follow){
        .what = what, .before = before, .begins = begins, .ends = ends, .arg = b
    };
    reader.replay.books.highs = &b->highs;
    reader.replay.watch = (struct mpr_watch){ mpr_follow_see, &b->follow };
    int status = mpr_reader_replay(&reader, path, progress, error);
    if (status != 0) return status;
    mpr_follow_end(&b->follow, &reader.replay);
    mpr_reader_summary(&reader, path, &out->arena, &out->summary);
    if (b->count) fill(b, &reader, only_heap, out);
    else if (b->name) status = mpr_fail(error, "%s: no range %s", path, b->name);
    mpr_reader_close(&reader);
    return status;
}

static int measure_range(const char *range, const char *path, const char *only_heap,
                         const struct mpr_progress *progress, struct mpr_instances *out,
                         struct mpr_error *error)
{
    struct builder *b = mpr_alloc(1, sizeof *b);
    b->name = range;
    b->each = 1;
    b->repeats = mpr_repeats_new();
    b->entry = mpr_alloc(MPR_INSTANCES_MAX, sizeof *b->entry);
    const int status = measure(b, path, only_heap, progress, out, error);
    for (int i = 0; i < MPR_HEAPS; i++) free(b->heap[i]);
    mpr_repeats_free(b->repeats);
    free(b->is_range);
    free(b->entry);
    free(b);
    return status;
}

int mpr_instances_read(struct mpr_instances *out, const char *path,
                       const struct mpr_instances_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    const char *range = options->range;
    int status = 0;
    *out = (struct mpr_instances){ .range = "", .each = 1 };
    if (!range) status = find_range(&range, &out->arena, path, progress, error);
    if (status == 0) status = measure_range(range, path, options->heap, progress, out, error);
    if (status != 0) mpr_instances_free(out);
    return status;
}

void mpr_instances_free(struct mpr_instances *instances) { mpr_arena_free(&instances->arena); }
