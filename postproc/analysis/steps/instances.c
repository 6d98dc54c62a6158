/* Two passes where nobody names the range: the first finds out which one repeats.  Memory is
 * bounded by MPR_INSTANCES_MAX entries a heap: when they are full, each two become one. */
#include "instances.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "first_look.h"
#include "labels.h"
#include "named_ranges.h"
#include "reader.h"
#include "taken.h"

struct entry {
    uint64_t number, count, begin_ns, end_ns;
    uint32_t node, last_node, thread;
    bool unended;
};

struct mpr_instances_reading {
    struct mpr_named_ranges named;
    struct mpr_follow follow;
    struct mpr_watch next;  /* who watched before */
    struct mpr_taken taken; /* by entry */
    const char *name;       /* of the range; NULL: there is none */
    struct entry *entry;
    size_t entries;
    uint64_t count, each;
};

/* ---- entries */

static struct entry merged(const struct entry *a, const struct entry *b)
{
    struct entry m = *a;
    m.count += b->count;
    if (b->end_ns > m.end_ns) m.end_ns = b->end_ns;
    m.unended |= b->unended;
    m.last_node = b->last_node;
    return m;
}

static void halve(struct mpr_instances_reading *b)
{
    b->entries /= 2;
    for (size_t i = 0; i < b->entries; i++) {
        b->entry[i] = merged(&b->entry[2 * i], &b->entry[2 * i + 1]);
        mpr_taken_join(&b->taken, i, 2 * i, 2 * i + 1);
    }
    b->each *= 2;
}

static size_t entry_of(const struct mpr_instances_reading *b, uint64_t number)
{
    return (size_t)((number - 1) / b->each);
}

static struct entry *entry_for(struct mpr_instances_reading *b, const struct mpr_followed *f)
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
    struct mpr_instances_reading *b = arg;
    return mpr_named_ranges_which(&b->named, r, node);
}

/* The highs since the range event before are those of all that was open. */
static void before(void *arg, const struct mpr_replay *r)
{
    struct mpr_instances_reading *b = arg;
    mpr_taken_learn(&b->taken, r);
    for (size_t i = 0; i < b->follow.count; i++) {
        const uint64_t number = b->follow.open[i].number;
        mpr_taken_rise(&b->taken, entry_of(b, number), number);
    }
    mpr_taken_forget(&b->taken);
}

static void begins(void *arg, const struct mpr_replay *r, struct mpr_followed *f)
{
    struct mpr_instances_reading *b = arg;
    f->number = ++b->count;
    struct entry *entry = entry_for(b, f);
    const size_t at = (size_t)(entry - b->entry);
    mpr_taken_begin(&b->taken, r, at, f->number, entry->count == 1);
    if (mpr_follow_is_full(&b->follow)) mpr_taken_end(&b->taken, r, at);
}

static void ends(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended)
{
    struct mpr_instances_reading *b = arg;
    const size_t at = entry_of(b, f->number);
    b->entry[at].end_ns = r->now;
    b->entry[at].unended |= !ended;
    mpr_taken_end(&b->taken, r, at);
}

/* ---- the result */

static struct mpr_instance instance_of(const struct mpr_instances_reading *b,
                                       const struct mpr_reader *reader, const struct entry *e,
                                       struct mpr_arena *arena)
{
    const struct mpr_replay *r = &reader->replay;
    return (struct mpr_instance){
        .number = e->number,
        .count = e->count,
        .name = mpr_repeats_label(b->named.repeats, r, arena, e->node, b->name, e->number),
        .last = mpr_repeats_label(b->named.repeats, r, arena, e->last_node, b->name,
                                  e->number + e->count - 1),
        .thread = mpr_label_thread(arena, r, e->thread),
        .begin_ns = e->begin_ns,
        .end_ns = e->end_ns ? e->end_ns : e->begin_ns,
        .unended = e->unended || !e->end_ns,
    };
}

/* ---- names: no two are alike */

static int by_name(const void *left, const void *right)
{
    const struct mpr_instance *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

static bool some_are_alike(const struct mpr_instances *out)
{
    const struct mpr_instance **by = mpr_alloc(out->instances, sizeof *by);
    bool alike = false;
    for (size_t i = 0; i < out->instances; i++) by[i] = &out->instance[i];
    qsort(by, out->instances, sizeof *by, by_name);
    for (size_t i = 1; i < out->instances && !alike; i++) alike = by_name(&by[i - 1], &by[i]) == 0;
    free(by);
    return alike;
}

/* Those that the program does not number are told apart by theirs. */
static const char *with_path(const struct mpr_instances_reading *b, struct mpr_arena *arena,
                             const struct mpr_reader *reader, uint32_t node, const char *name)
{
    const struct mpr_path path = mpr_label_node(arena, reader, node);
    if (!mpr_repeats_numbered(b->named.repeats, &reader->replay, node)) return name;
    return mpr_frame_path_text(arena, path);
}

static const char *with_number(struct mpr_arena *arena, const char *name, uint64_t number)
{
    return mpr_arena_format(arena, "%s (no. %" PRIu64 ")", name, number);
}

/* Where the program numbers them in each of several ranges: "epoch 0 > step 3"; where it does not
 * number those: "epoch > step 3 (no. 15)". */
static void tell_apart(const struct mpr_instances_reading *b, const struct mpr_reader *reader,
                       struct mpr_instances *out)
{
    if (!some_are_alike(out)) return;
    for (size_t i = 0; i < out->instances; i++) {
        struct mpr_instance *k = &out->instance[i];
        k->name = with_path(b, &out->arena, reader, b->entry[i].node, k->name);
        k->last = with_path(b, &out->arena, reader, b->entry[i].last_node, k->last);
    }
    if (!some_are_alike(out)) return;
    for (size_t i = 0; i < out->instances; i++) {
        struct mpr_instance *k = &out->instance[i];
        k->name = with_number(&out->arena, k->name, k->number);
        k->last = with_number(&out->arena, k->last, k->number + k->count - 1);
    }
}

/* ---- heaps */

static int by_peak(const void *left, const void *right)
{
    const struct mpr_instances_heap *a = left, *b = right;
    if (a->peak_bytes != b->peak_bytes) return a->peak_bytes > b->peak_bytes ? -1 : 1;
    return mpr_heap_by_name(a->heap, b->heap);
}

static void fill_heap(struct mpr_instances *out, uint8_t heap, const struct mpr_instance_heap *of)
{
    const size_t bytes = out->instances * sizeof *of;
    struct mpr_instances_heap *to = &out->heap[out->heaps++];
    *to =
        (struct mpr_instances_heap){ .heap = heap,
                                     .inside = mpr_heap_around(heap),
                                     .of = memcpy(mpr_arena_alloc(&out->arena, bytes), of, bytes) };
    for (size_t i = 0; i < out->instances; i++)
        if (of[i].peak_bytes > to->peak_bytes) to->peak_bytes = of[i].peak_bytes;
}

static void fill_heaps(const struct mpr_instances_reading *b, uint8_t only,
                       struct mpr_instances *out)
{
    out->heap = mpr_arena_alloc(&out->arena, b->taken.heaps.count * sizeof *out->heap);
    for (uint32_t i = 0; i < b->taken.heaps.count; i++) {
        const uint8_t heap = b->taken.heaps.code[i];
        if (!only || heap == only) fill_heap(out, heap, b->taken.heap[heap]);
    }
    qsort(out->heap, out->heaps, sizeof *out->heap, by_peak);
}

/* Of several paths the first one. */
static void fill_path(const struct mpr_instances_reading *b, struct mpr_instances *out)
{
    const uint32_t repeat = b->named.repeats->of_node[b->entry[0].node];
    out->path = mpr_repeats_path(&out->arena, b->named.repeats, repeat);
}

static void fill(const struct mpr_instances_reading *b, const struct mpr_reader *reader,
                 uint8_t only, struct mpr_instances *out)
{
    out->range = mpr_arena_text(&out->arena, b->name);
    fill_path(b, out);
    out->instance = mpr_arena_alloc(&out->arena, b->entries * sizeof *out->instance);
    for (size_t i = 0; i < b->entries; i++)
        out->instance[out->instances++] = instance_of(b, reader, &b->entry[i], &out->arena);
    tell_apart(b, reader, out);
    out->count = b->count;
    out->each = b->each;
    out->left_out = b->follow.left_out;
    fill_heaps(b, only, out);
}

/* Most of the time from the first to the last is in none of them. */
static bool have_gaps(const struct mpr_instances *in)
{
    uint64_t covered = 0, longest = 0, end = 0;
    for (size_t i = 0; i < in->instances; i++) {
        const struct mpr_instance *one = &in->instance[i];
        const uint64_t length = mpr_less(one->end_ns, one->begin_ns);
        covered += length;
        if (length > longest) longest = length;
        if (one->end_ns > end) end = one->end_ns;
    }
    return in->instances && !mpr_repeats_span(covered, longest, end - in->instance[0].begin_ns);
}

/* ---- two passes */

const struct mpr_instances mpr_instances_none = { .range = "", .each = 1 };

struct mpr_instances_reading *mpr_instances_begin(const char *range)
{
    struct mpr_instances_reading *b = mpr_alloc(1, sizeof *b);
    b->name = range;
    b->each = 1;
    mpr_named_ranges_begin(&b->named, range, NULL);
    b->entry = mpr_alloc(MPR_INSTANCES_MAX, sizeof *b->entry);
    return b;
}

static void see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    struct mpr_instances_reading *b = arg;
    mpr_follow_see(&b->follow, r, t, e);
    if (b->next.event) b->next.event(b->next.arg, r, t, e);
}

void mpr_instances_watch(struct mpr_instances_reading *b, struct mpr_reader *reader)
{
    b->follow = (struct mpr_follow){
        .what = what, .before = before, .begins = begins, .ends = ends, .arg = b
    };
    b->next = reader->replay.watch;
    reader->replay.watch = (struct mpr_watch){ see, b };
    mpr_taken_watch(&b->taken, &reader->replay, MPR_INSTANCES_MAX);
}

int mpr_instances_take(struct mpr_instances *out, struct mpr_instances_reading *b,
                       const struct mpr_reader *reader, const char *path, uint8_t heap,
                       struct mpr_error *error)
{
    mpr_follow_end(&b->follow, &reader->replay);
    mpr_reader_summary(reader, path, &out->arena, &out->summary);
    if (b->count) fill(b, reader, heap, out);
    else if (b->name)
        return mpr_fail(error, "%s: no range %s%s", path, b->name,
                        mpr_named_ranges_hint(&b->named, &out->arena));
    return 0;
}

void mpr_instances_end(struct mpr_instances_reading *b)
{
    if (!b) return;
    mpr_taken_free(&b->taken);
    mpr_named_ranges_free(&b->named);
    free(b->entry);
    free(b);
}

static int measure(struct mpr_instances_reading *b, const char *path, uint8_t heap,
                   const struct mpr_progress *progress, struct mpr_instances *out,
                   struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    mpr_instances_watch(b, &reader);
    int status = mpr_reader_replay(&reader, path, progress, error);
    if (status != 0) return status;
    status = mpr_instances_take(out, b, &reader, path, heap, error);
    mpr_reader_close(&reader);
    return status;
}

static int measure_range(const char *range, const char *path, uint8_t only_heap,
                         const struct mpr_progress *progress, struct mpr_instances *out,
                         struct mpr_error *error)
{
    struct mpr_instances_reading *b = mpr_instances_begin(range);
    const int status = measure(b, path, only_heap, progress, out, error);
    mpr_instances_end(b);
    return status;
}

int mpr_instances_read(struct mpr_instances *out, const char *path,
                       const struct mpr_instances_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_first_look look = { .range = options->range };
    int status = 0;
    *out = mpr_instances_none;
    if (!look.range)
        status = mpr_first_look(&look, &out->arena, path, MPR_GROUP_RANGE, progress, error);
    if (status == 0) status = measure_range(look.range, path, options->heap, progress, out, error);
    out->gaps = status == 0 && !options->range && have_gaps(out);
    if (status != 0) mpr_instances_free(out);
    return status;
}

void mpr_instances_free(struct mpr_instances *instances) { mpr_arena_free(&instances->arena); }

const char *mpr_instances_at_peak(struct mpr_arena *arena, const struct mpr_instances *in,
                                  const struct mpr_instances_heap *heap, size_t entry)
{
    return in->instance[entry].count > 1
               ? mpr_arena_format(arena, "%s:%" PRIu64, in->range, heap->of[entry].peak_number)
               : in->instance[entry].name;
}
