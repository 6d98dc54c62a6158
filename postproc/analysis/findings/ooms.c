#include "ooms.h"

#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "device.h"
#include "good.h"
#include "gpu.h"
#include "growth.h"
#include "host.h"
#include "index.h"
#include "labels.h"
#include "mpf/sample.h"
#include "picture.h"
#include "reader.h"

enum { WINDOWS = 16 };

void mpr_ooms_free(struct mpr_ooms *ooms)
{
    if (ooms->explained) mpr_insights_free(&ooms->insights);
    mpr_peaks_free(&ooms->threads);
    mpr_processes_free(&ooms->family);
    free(ooms->log);
    mpr_arena_free(&ooms->arena);
}

/* ---- would it have fit? */

/* @all: true if the driver would have had all of the bytes; false if they are an upper bound, which
 * proves only that the request would not have fit. */
static void add_fit(struct mpr_oom_story *s, const char *key, const char *what, const char *how,
                    uint64_t bytes, bool all)
{
    if (!bytes || s->fits == sizeof s->fit / sizeof *s->fit) return;
    const uint64_t have = s->free + bytes;
    const bool enough = have >= s->needed;
    s->fit[s->fits++] = (struct mpr_fit){ .key = key,
                                          .what = what,
                                          .how = how,
                                          .bytes = bytes,
                                          .missing = mpr_less(s->needed, have),
                                          .fits = enough && all,
                                          .computed = !enough || all };
}

static void fill_fits(struct mpr_oom_story *s)
{
    const struct mpr_device_state *d = &s->state;
    if (s->free == MPF_UNKNOWN || !d->valid) return;
    add_fit(s, "split_free", "split free usable", "expandable_segments:True", d->split_free, false);
    add_fit(s, "graph_pools", "graph pools released", "fewer graphs, or one pool for all of them",
            d->pool_free, false);
    add_fit(s, "cache", "cache emptied", "torch.cuda.empty_cache()", d->releasable, true);
    for (size_t i = 0; i < d->comms && i < 1; i++)
        add_fit(s, "communicator", "largest communicator", "fewer channels or communicators",
                d->comm[i].bytes, true);
    const int64_t local = mpr_device_bytes(d, MPR_USE_LOCAL_MEMORY);
    if (local > 0)
        add_fit(
            s, "local_memory", "local memory of kernels returned",
            "smaller local arrays, or cudaDeviceSetLimit(cudaLimitStackSize, 1024) after the launch",
            (uint64_t)local, true);
}

/* ---- one story */

static int by_size(const void *left, const void *right)
{
    const struct mpr_gpu_block *const *a = left, *const *b = right;
    const uint64_t x = mpr_gpu_backed(*a), y = mpr_gpu_backed(*b);
    return x > y ? -1 : x < y;
}

/* What blocks of one path have in common. */
static uint64_t place_of(const struct mpr_reader *reader, const struct mpr_gpu_block *b)
{
    const struct mpr_site at = mpr_sites_of(&reader->replay.sites, b->site);
    const uint64_t stack = UINT64_C(1) << 32 | at.stack;
    switch (reader->replay.options.by) {
    case MPR_GROUP_STACK: return stack;
    case MPR_GROUP_PYTHON: return at.python;
    default: return b->node ? b->node : at.python || !at.stack ? at.python : stack;
    }
}

/* By calls where they were asked for. */
static struct mpr_path path_of(struct mpr_arena *arena, const struct mpr_reader *reader,
                               const struct mpr_gpu_block *b)
{
    const struct mpr_site at = mpr_sites_of(&reader->replay.sites, b->site);
    switch (reader->replay.options.by) {
    case MPR_GROUP_STACK: return mpr_label_stack(arena, reader, at.stack);
    case MPR_GROUP_PYTHON: return mpr_label_node(arena, reader, at.python);
    default: return mpr_label_best(arena, reader, b->node, at);
    }
}

static void fill_places(struct mpr_oom_story *s, struct mpr_arena *arena,
                        const struct mpr_reader *reader, const struct mpr_gpu_block *const *block,
                        size_t blocks)
{
    struct mpr_index number = { 0 };
    s->place = mpr_arena_alloc(arena, (blocks + 1) * sizeof *s->place);
    for (size_t i = 0; i < blocks; i++) {
        const uint64_t key = place_of(reader, block[i]), bytes = mpr_gpu_backed(block[i]),
                       age = mpr_less(s->time, block[i]->time);
        uint32_t known = mpr_index_get(&number, key);
        if (!known) {
            struct mpr_oom_place *new = &s->place[s->places++];
            *new = (struct mpr_oom_place){ .largest = bytes };
            new->path = path_of(arena, reader, block[i]);
            mpr_index_set(&number, key, known = (uint32_t)s->places);
        }
        struct mpr_oom_place *p = &s->place[known - 1];
        p->bytes += bytes;
        p->blocks++;
        if (age > p->age) p->age = age;
    }
    mpr_index_free(&number);
}

static void fill_largest(struct mpr_oom_story *s, struct mpr_arena *arena,
                         const struct mpr_reader *reader, const struct mpr_picture *p)
{
    const struct mpr_gpu_block **block = mpr_alloc(p->torches + p->drivers, sizeof *block);
    size_t n = 0;
    for (size_t i = 0; i < p->torches; i++)
        if (mpr_gpu_backed(&p->torch[i])) block[n++] = &p->torch[i];
    for (size_t i = 0; !p->torches && i < p->drivers; i++) block[n++] = &p->driver[i];
    qsort(block, n, sizeof *block, by_size);
    fill_places(s, arena, reader, block, n);
    if (n > MPR_OOM_BLOCKS) n = MPR_OOM_BLOCKS;
    s->largest = mpr_arena_alloc(arena, n * sizeof *s->largest);
    for (size_t i = 0; i < n; i++) {
        struct mpr_oom_block *b = &s->largest[s->blocks++];
        *b = (struct mpr_oom_block){ .bytes = mpr_gpu_backed(block[i]),
                                     .age = mpr_less(s->time, block[i]->time) };
        b->path = path_of(arena, reader, block[i]);
    }
    free(block);
}

static void fill_story(struct mpr_oom_story *s, struct mpr_arena *arena,
                       const struct mpr_reader *reader, const struct mpr_oom *o, uint64_t start)
{
    const struct mpr_replay *r = &reader->replay;
    *s = (struct mpr_oom_story){
        .time = o->time,
        .real_time = start ? start + o->time : 0,
        .heap = o->heap,
        .thread = mpr_label_thread(arena, r, o->thread),
        .library = mpr_arena_text(arena, mpr_sites_library_name(&r->sites, o->library)),
        .index = mpf_heap_device(o->heap),
        .bytes = o->bytes,
        .needed = mpr_oom_needed(o),
        .free = o->free,
        .total = o->total,
        .flushed = o->flushed,
        .attempts = o->attempts,
        .hard = o->hard,
        .torch = o->torch,
        .capturing = o->capturing,
        .inherited = o->inherited,
        .good = "",
    };
    s->path = mpr_label_node(arena, reader, o->node);
    s->python = mpr_label_node(arena, reader, o->python);
    mpr_composition(&s->state, arena, reader, &o->picture);
    fill_fits(s);
    fill_largest(s, arena, reader, &o->picture);
}

/* ---- the last good peaks: a second reading takes pictures where the first one found them */

struct spans {
    struct mpr_window window[WINDOWS];
    uint32_t oom[WINDOWS];
    size_t count;
};

static void choose_spans(struct spans *spans, const struct mpr_good *good, const struct mpr_gpu *g)
{
    for (uint32_t i = 0; i < good->spans && spans->count < WINDOWS; i++) {
        const struct mpr_good_span *s = &good->span[i];
        if (!g->oom[i].hard || !s->to || !g->oom[i].picture.valid) continue;
        spans->oom[spans->count] = i;
        spans->window[spans->count++] = (struct mpr_window){
            .device = mpf_heap_device(g->oom[i].heap), .from = s->from, .to = s->to
        };
    }
}

static const char *instance_name(struct mpr_arena *arena, const struct mpr_reader *reader,
                                 const struct mpr_good_span *s)
{
    if (!s->instance) return "";
    const char *name = mpr_frame_path_text(arena, mpr_label_node(arena, reader, s->node));
    return mpr_arena_format(arena, "%s:%" PRIu64, name, s->instance);
}

static void fill_growth(struct mpr_ooms_log *log, struct mpr_arena *arena,
                        const struct mpr_reader *reader, const struct spans *spans,
                        const struct mpr_good *good)
{
    const struct mpr_replay *r = &reader->replay;
    for (size_t i = 0; i < spans->count; i++) {
        const uint32_t oom = spans->oom[i];
        if (oom >= log->stories || !spans->window[i].peak.valid || !r->gpu.oom[oom].picture.valid)
            continue;
        mpr_growth_pictures(&log->story[oom].growth, arena, reader, &spans->window[i].peak,
                            &r->gpu.oom[oom].picture);
        log->story[oom].good = instance_name(arena, reader, &good->span[oom]);
    }
}

static void fill_log(struct mpr_ooms *ooms, const struct mpr_reader *reader,
                     struct mpr_ooms_log *log)
{
    const struct mpr_replay *r = &reader->replay;
    log->story = mpr_arena_alloc(&ooms->arena, (r->gpu.ooms + 1) * sizeof *log->story);
    struct mpr_device *device = mpr_arena_alloc(&ooms->arena, MPF_GPUS * sizeof *device);
    for (unsigned i = 0; i < MPF_GPUS; i++)
        device[i] =
            (struct mpr_device){ .index = i,
                                 .name = mpr_arena_text(&ooms->arena, r->gpu.device[i].name),
                                 .uuid = mpr_arena_text(&ooms->arena, r->gpu.device[i].uuid),
                                 .off = "",
                                 .used_off =
                                     mpr_arena_text(&ooms->arena, r->gpu.device[i].used_off) };
    log->device = device;
    for (uint32_t i = 0; i < r->gpu.ooms; i++) {
        fill_story(&log->story[log->stories++], &ooms->arena, reader, &r->gpu.oom[i],
                   log->summary.process.start_ns);
        const struct mpr_oom *o = &r->gpu.oom[i];
        log->undetailed += mpf_heap_is_gpu(o->heap) && !o->picture.valid;
        if (o->hard) log->hard++;
        else log->soft++;
    }
}

/* What the first reading finds out; backward_of: for it and the second one. */
struct first {
    struct mpr_good good;
    struct mpr_refusals refusals;
    struct spans spans;
    struct mpr_host_end end; /* by the second reading */
    bool backward_of;
};

static void see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    struct first *first = arg;
    mpr_good_see(&first->good, r, t, e);
    mpr_refusals_see(&first->refusals, r, t, e);
}

static void see_end(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                    const struct mpf_event *e)
{
    (void)t;
    mpr_host_end_see(arg, r, e);
}

static int read_first(const struct mpr_ooms *ooms, struct mpr_reader *reader, struct first *first,
                      const char *path, const struct mpr_progress *progress,
                      struct mpr_error *error)
{
    if (mpr_reader_open(reader, path, ooms->by, MPR_INSTANT_PEAK, error) != 0) return -1;
    reader->replay.options.backward_of = first->backward_of;
    reader->replay.watch = (struct mpr_watch){ see, first };
    if (mpr_reader_replay(reader, path, progress, error) != 0) return -1;
    choose_spans(&first->spans, &first->good, &reader->replay.gpu);
    return 0;
}

static int read_again(struct mpr_reader *reader, struct first *first, enum mpr_group by,
                      struct mpr_instant at, const char *path, const struct mpr_progress *progress,
                      struct mpr_error *error)
{
    mpr_reader_close(reader);
    if (mpr_reader_open(reader, path, by, at, error) != 0) return -1;
    reader->replay.options.backward_of = first->backward_of;
    reader->replay.watch = (struct mpr_watch){ see_end, &first->end };
    reader->replay.gpu.window = first->spans.window;
    reader->replay.gpu.windows = first->spans.count;
    return mpr_reader_replay(reader, path, progress, error);
}

static int read_log(struct mpr_ooms *ooms, struct mpr_ooms_log *log, struct first *first,
                    const char *path, const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    *log = (struct mpr_ooms_log){ 0 };
    if (read_first(ooms, &reader, first, path, progress, error) != 0) return -1;
    mpr_reader_summary(&reader, path, &ooms->arena, &log->summary);
    mpr_refusals_end(&first->refusals);
    const bool told = mpr_host_look(&log->host, &log->summary, &reader.replay, &first->refusals);
    const struct mpr_choice asked = { .by = ooms->by, .source = "" };
    log->choice = ooms->by == MPR_GROUP_AUTO ? mpr_choose(&reader) : asked;
    const enum mpr_group by = log->choice.by;
    first->end.at = log->host.refused ? log->host.end : UINT64_MAX;
    if (told || first->spans.count) {
        const struct mpr_instant at = told ? MPR_INSTANT_END_OF(log->host.mark) : MPR_INSTANT_PEAK;
        if (read_again(&reader, first, by, at, path, progress, error) != 0) return -1;
    }
    reader.replay.options.by = by; /* pictures hold blocks: rows by anything can be made of them */
    fill_log(ooms, &reader, log);
    fill_growth(log, &ooms->arena, &reader, &first->spans, &first->good);
    if (told) mpr_host_fill(&log->host, &ooms->arena, &reader, &first->refusals, &first->end);
    mpr_reader_close(&reader);
    return 0;
}

int mpr_ooms_add(struct mpr_ooms *ooms, const char *path, const struct mpr_progress *progress,
                 struct mpr_error *error)
{
    MPR_GROW(ooms->log, ooms->logs, ooms->cap);
    struct first first = { .backward_of = ooms->backward_of };
    mpr_good_init(&first.good);
    const int status = read_log(ooms, &ooms->log[ooms->logs], &first, path, progress, error);
    for (size_t i = 0; i < first.spans.count; i++) mpr_picture_free(&first.spans.window[i].peak);
    mpr_good_free(&first.good);
    mpr_host_end_free(&first.end);
    if (status != 0) return -1;
    ooms->logs++;
    return 0;
}
