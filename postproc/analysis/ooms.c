#include "ooms.h"

#include <stdlib.h>
#include <string.h>

#include "choose.h"
#include "composition.h"
#include "labels.h"
#include "mpf/sample.h"
#include "reader.h"

enum { LARGEST = 20 };

void mpr_ooms_free(struct mpr_ooms *ooms)
{
    free(ooms->log);
    mpr_arena_free(&ooms->arena);
}

/* ---- would it have fit? */

/* PyTorch asks the driver for segments: 2 MiB for small blocks, 20 MiB for those below 10 MiB, multiples of 2 MiB above
 * (c10/cuda/CUDACachingAllocator.cpp). */
static uint64_t segment_for(uint64_t bytes)
{
    const uint64_t mib = 1 << 20;
    if (bytes <= mib) return 2 * mib;
    if (bytes < 10 * mib) return 20 * mib;
    return (bytes + 2 * mib - 1) / (2 * mib) * (2 * mib);
}

static void add_fit(struct mpr_oom_story *s, const char *key, const char *what, const char *how, uint64_t bytes)
{
    if (!bytes || s->fits == sizeof s->fit / sizeof *s->fit) return;
    const uint64_t have = s->free + bytes;
    s->fit[s->fits++] = (struct mpr_fit){ key, what, how, bytes, have < s->needed ? s->needed - have : 0, have >= s->needed };
}

static void fill_fits(struct mpr_oom_story *s)
{
    const struct mpr_device_state *d = &s->state;
    if (s->free == MPF_UNKNOWN || !d->valid) return;
    add_fit(s, "split_free", "split free usable", "expandable_segments:True", d->split_free);
    add_fit(s, "graph_pools", "graph pools released", "fewer graphs, or one pool for all of them", d->pool_free);
    add_fit(s, "cache", "cache emptied", "torch.cuda.empty_cache()", d->releasable);
    for (size_t i = 0; i < d->comms && i < 1; i++)
        add_fit(s, "communicator", "largest communicator", "fewer channels or communicators", d->comm[i].bytes);
    if (d->parts) for (size_t i = 0; i < d->parts; i++)
        if (!strcmp(d->part[i].key, "stack") && d->part[i].bytes > 0) add_fit(s, "stack", "stack resize undone", "a smaller cudaLimitStackSize", (uint64_t)d->part[i].bytes);
}

/* ---- one story */

static int by_size(const void *left, const void *right)
{
    const struct mpr_gpu_block *const *a = left, *const *b = right;
    return (*a)->size > (*b)->size ? -1 : (*a)->size < (*b)->size;
}

/* The block's ranges; where there are none its Python stack, then its native one. */
static const char *const *block_path(struct mpr_arena *arena, const struct mpr_replay *r, const struct mpr_gpu_block *b, size_t *depth)
{
    const uint32_t stack = mpr_sites_of(&r->gpu.sites, b->site).stack;
    if (b->node || b->python || !stack) return mpr_label_node(arena, r, b->node ? b->node : b->python, depth);
    return mpr_label_stack(arena, r, stack, depth);
}

static void fill_largest(struct mpr_oom_story *s, struct mpr_arena *arena, const struct mpr_replay *r, const struct mpr_picture *p)
{
    const struct mpr_gpu_block **block = malloc((p->torches + p->drivers + 1) * sizeof *block);
    size_t n = 0;
    s->largest = mpr_arena_alloc(arena, LARGEST * sizeof *s->largest);
    if (!block || !s->largest) {
        free(block);
        return;
    }
    for (size_t i = 0; i < p->torches; i++) block[n++] = &p->torch[i];
    for (size_t i = 0; !p->torches && i < p->drivers; i++) block[n++] = &p->driver[i];
    qsort(block, n, sizeof *block, by_size);
    for (size_t i = 0; i < n && i < LARGEST; i++) {
        struct mpr_oom_block *b = &s->largest[s->blocks++];
        *b = (struct mpr_oom_block){ .bytes = block[i]->size, .age = s->time > block[i]->time ? s->time - block[i]->time : 0 };
        b->path = block_path(arena, r, block[i], &b->depth);
    }
    free(block);
}

static void fill_story(struct mpr_oom_story *s, struct mpr_arena *arena, const struct mpr_replay *r, const struct mpr_oom *o, uint64_t start)
{
    *s = (struct mpr_oom_story){
        .time = o->time, .real_time = start ? start + o->time : 0, .heap = mpr_label_heap(arena, o->heap),
        .thread = mpr_label_thread(arena, r, o->thread), .library = mpr_arena_text(arena, mpr_sites_library_name(&r->gpu.sites, o->library)),
        .index = mpf_heap_device(o->heap), .bytes = o->bytes, .needed = o->torch ? segment_for(o->bytes) : o->bytes, .free = o->free,
        .total = o->total, .flushed = o->flushed, .attempts = o->attempts, .hard = o->hard, .torch = o->torch, .capturing = o->capturing,
        .inherited = o->inherited,
    };
    s->path = mpr_label_node(arena, r, o->node, &s->depth);
    s->python = mpr_label_node(arena, r, o->python, &s->python_depth);
    mpr_composition(&s->state, arena, r, &o->picture);
    fill_fits(s);
    fill_largest(s, arena, r, &o->picture);
}

static struct mpr_reading newest(const struct mpr_samples *samples, enum mpr_source source)
{
    const struct mpr_sample *now = &samples->source[source].now;
    struct mpr_reading reading = { now->valid, now->time, { 0 } };
    for (int i = 0; i < MPR_READING_VALUES; i++) reading.value[i] = now->valid ? now->value[i] : MPF_UNKNOWN;
    return reading;
}

static void fill_host(struct mpr_ooms_log *log, const struct mpr_replay *r)
{
    for (int i = MPF_HEAP_HOST; i <= MPF_HEAP_SHM; i++) {
        const struct mpr_heap *heap = &r->books.heap[i];
        log->host_failures += heap->failures;
        if (heap->failures && heap->largest.size >= log->host_largest) {
            log->host_largest = heap->largest.size;
            log->host_error = heap->largest.error;
        }
    }
    log->cgroup = newest(&r->samples, MPR_SOURCE_CGROUP);
    log->rss = newest(&r->samples, MPR_SOURCE_RSS);
}

static void fill_log(struct mpr_ooms *ooms, const struct mpr_reader *reader, const char *path, struct mpr_ooms_log *log)
{
    const struct mpr_replay *r = &reader->replay;
    *log = (struct mpr_ooms_log){ 0 };
    mpr_reader_summary(reader, path, &ooms->arena, &log->summary);
    log->story = mpr_arena_alloc(&ooms->arena, (r->gpu.ooms + 1) * sizeof *log->story);
    struct mpr_device *device = mpr_arena_alloc(&ooms->arena, MPF_GPUS * sizeof *device);
    for (unsigned i = 0; device && i < MPF_GPUS; i++)
        device[i] = (struct mpr_device){ .index = i, .name = mpr_arena_text(&ooms->arena, r->gpu.device[i].name),
                                         .uuid = mpr_arena_text(&ooms->arena, r->gpu.device[i].uuid), .off = "" };
    log->device = device;
    for (uint32_t i = 0; log->story && i < r->gpu.ooms; i++) {
        fill_story(&log->story[log->stories++], &ooms->arena, r, &r->gpu.oom[i], log->summary.process.start_ns);
        if (r->gpu.oom[i].hard) log->hard++;
        else log->soft++;
    }
    fill_host(log, r);
}

int mpr_ooms_add(struct mpr_ooms *ooms, const char *path, const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    if (ooms->logs == ooms->cap) {
        const size_t cap = ooms->cap ? ooms->cap * 2 : 8;
        struct mpr_ooms_log *log = realloc(ooms->log, cap * sizeof *log);
        if (!log) return mpr_fail_memory(error, path);
        ooms->log = log;
        ooms->cap = cap;
    }
    if (mpr_reader_run(&reader, path, MPR_BY_RANGE, MPR_AT_PEAK, progress, error) != 0) return -1;
    const struct mpr_choice asked = { ooms->by, "" }, choice = ooms->by == MPR_GROUP_AUTO ? mpr_choose(&reader) : asked;
    reader.replay.options.by = mpr_choose_by(choice.by);        /* pictures hold blocks: rows by anything can be made of them */
    fill_log(ooms, &reader, path, &ooms->log[ooms->logs]);
    ooms->log[ooms->logs].choice = choice;
    mpr_reader_close(&reader);
    if (ooms->arena.failed) return mpr_fail_memory(error, path);
    ooms->logs++;
    return 0;
}

/* ---- several processes */

static uint64_t first_hard(const struct mpr_ooms_log *log)
{
    for (size_t i = 0; i < log->stories; i++)
        if (log->story[i].hard) return log->story[i].real_time;
    return UINT64_MAX;
}

static int by_failure(const void *left, const void *right)
{
    const uint64_t a = first_hard(left), b = first_hard(right);
    return a < b ? -1 : a > b;
}

void mpr_ooms_finish(struct mpr_ooms *ooms)
{
    if (ooms->logs) qsort(ooms->log, ooms->logs, sizeof *ooms->log, by_failure);
}
