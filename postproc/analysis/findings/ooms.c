/* Reads the out-of-memory events of one log.  A first replay finds the events, and for each the
 * span of time in which the program last worked; a second replay takes the snapshots of these
 * spans' peaks, and the growth of host memory. */
#include "ooms.h"

#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "device.h"
#include "gpu.h"
#include "growth.h"
#include "index.h"
#include "labels.h"
#include "mpf/sample.h"
#include "oom_host.h"
#include "reader.h"
#include "repeats.h"
#include "what_if.h"

void mpr_ooms_free(struct mpr_ooms *ooms)
{
    if (ooms->explained) mpr_insights_free(&ooms->insights);
    mpr_peaks_free(&ooms->threads);
    mpr_processes_free(&ooms->family);
    free(ooms->log);
    mpr_arena_free(&ooms->arena);
}

/* ---- changes with which the request would have fit */

static void fill_fits(struct mpr_oom_event *s)
{
    const struct mpr_device_state *d = &s->state;
    const int64_t local = mpr_device_bytes(d, MPR_USE_LOCAL_MEMORY);
    const struct {
        enum mpr_fit_kind kind;
        uint64_t bytes;
        bool all; /* the driver would have had all of the bytes; false: they are an upper bound,
                     which proves only that the request would not have fit */
    } change[] = {
        { MPR_FIT_SPLIT_FREE, d->split_free, false },
        { MPR_FIT_GRAPH_POOLS, d->pool_free, false },
        { MPR_FIT_CACHE, d->releasable, true },
        { MPR_FIT_COMMUNICATOR, d->comms ? d->comm[0].bytes : 0, true },
        { MPR_FIT_LOCAL_MEMORY, local > 0 ? (uint64_t)local : 0, true },
    };
    if (s->free == MPF_UNKNOWN || !d->valid) return;
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        const uint64_t available = s->free + change[i].bytes;
        const bool enough = available >= s->needed, all = change[i].all;
        if (change[i].bytes)
            s->fit[s->fits++] =
                (struct mpr_fit){ .kind = change[i].kind,
                                  .bytes = change[i].bytes,
                                  .missing = mpr_saturating_sub(s->needed, available),
                                  .fits = enough && all,
                                  .computed = !enough || all };
    }
}

/* ---- live blocks at the event */

MPR_COMPARE(by_size, const struct mpr_gpu_block *,
            mpr_compare(mpr_gpu_backed(*b), mpr_gpu_backed(*a)))

/* Returns the same number for all blocks that have one path in the report's grouping. */
static uint64_t path_key(const struct mpr_reader *reader, const struct mpr_gpu_block *b)
{
    const struct mpr_site at = mpr_sites_of(&reader->replay.sites, b->site);
    const uint64_t stack = UINT64_C(1) << 32 | at.stack;
    switch (reader->replay.options.by) {
    case MPR_GROUP_STACK: return stack;
    case MPR_GROUP_PYTHON: return at.python;
    default: return b->node ? b->node : at.python || !at.stack ? at.python : stack;
    }
}

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

/* Fills the largest blocks, and all blocks by call site: PyTorch's, or the driver's if PyTorch has
 * none. */
static void fill_blocks(struct mpr_oom_event *s, struct mpr_arena *arena,
                        const struct mpr_reader *reader, const struct mpr_device_snapshot *p)
{
    struct mpr_index number = { 0 };
    const struct mpr_gpu_block **block = mpr_alloc(p->torches + p->drivers, sizeof *block);
    size_t blocks = 0;
    for (size_t i = 0; i < p->torches; i++)
        if (mpr_gpu_backed(&p->torch[i])) block[blocks++] = &p->torch[i];
    for (size_t i = 0; !p->torches && i < p->drivers; i++) block[blocks++] = &p->driver[i];
    qsort(block, blocks, sizeof *block, by_size);
    s->place = mpr_arena_alloc(arena, (blocks + 1) * sizeof *s->place);
    s->largest = mpr_arena_alloc(arena, MPR_OOM_BLOCKS * sizeof *s->largest);
    for (size_t i = 0; i < blocks; i++) {
        const uint64_t key = path_key(reader, block[i]), bytes = mpr_gpu_backed(block[i]),
                       age = mpr_saturating_sub(s->time, block[i]->time);
        uint32_t known = mpr_index_get(&number, key);
        if (!known) {
            s->place[s->places++] =
                (struct mpr_oom_place){ .largest = bytes,
                                        .path = path_of(arena, reader, block[i]) };
            mpr_index_set(&number, key, known = (uint32_t)s->places);
        }
        struct mpr_oom_place *place = &s->place[known - 1];
        place->bytes += bytes;
        place->blocks++;
        if (age > place->age) place->age = age;
        if (s->blocks < MPR_OOM_BLOCKS)
            s->largest[s->blocks++] = (struct mpr_oom_block){ bytes, age, place->path };
    }
    mpr_index_free(&number);
    free(block);
}

static void fill_story(struct mpr_oom_event *s, struct mpr_arena *arena,
                       const struct mpr_reader *reader, const struct mpr_oom *o, uint64_t start)
{
    const struct mpr_replay *r = &reader->replay;
    *s = (struct mpr_oom_event){
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
    mpr_device_fill_state(&s->state, arena, reader, &o->snapshot);
    fill_fits(s);
    fill_blocks(s, arena, reader, &o->snapshot);
}

/* ---- the last good span before an event */

/* A span of time without a failure: the newest finished instance of the outermost range that is
 * open at the event and has one, else everything up to a second before. */
struct good_span {
    uint64_t from, to; /* ns; to 0: nothing can be compared */
    uint32_t node;
    uint64_t instance; /* 0 if it is not one of a range */
};

/* Finds the good spans during the first replay.  Ranges whose names differ only in a counter ("step
 * 11", "step 12") are one range (repeats.h). */
struct good_spans {
    struct mpr_repeats *repeats;
    struct good_span *newest; /* by repeated range: its newest instance without a failure */
    struct node {
        uint64_t count, begun; /* instances; ns: the begin of the newest one */
    } * node;                  /* by range node */
    uint32_t *open;            /* by thread: its node after its newest push or pop */
    struct good_span *span;    /* by event */
    uint32_t newests, nodes, threads, spans, span_cap;
};

/* Takes the instance that ends, if it had no failure. */
static void end_instance(struct good_spans *g, const struct mpr_replay *r, uint32_t node)
{
    while (node && r->ranges.node[node].domain) node = r->ranges.node[node].parent;
    if (!node || node >= g->nodes || !g->node[node].count) return;
    const struct node *n = &g->node[node];
    for (uint32_t i = r->gpu.ooms; i-- > 0 && r->gpu.oom[i].time >= n->begun;)
        if (r->gpu.oom[i].hard) return;
    const uint32_t repeat = mpr_repeats_of(g->repeats, r, node);
    MPR_REACH(g->newest, repeat, g->newests);
    g->newest[repeat] = (struct good_span){ n->begun, r->now, node, n->count };
}

static void see_range(struct good_spans *g, const struct mpr_replay *r, const struct mpr_thread *t,
                      const struct mpf_event *e)
{
    const bool is_application = !(e->addr >> 32);
    MPR_REACH(g->open, t->number, g->threads);
    MPR_REACH(g->node, r->ranges.nodes - 1, g->nodes);
    if (is_application && e->op == MPF_OP_POP) end_instance(g, r, g->open[t->number]);
    else if (is_application) {
        g->node[t->node].count++;
        g->node[t->node].begun = e->time;
    }
    g->open[t->number] = t->node;
}

static struct good_span span_before(const struct good_spans *g, const struct mpr_replay *r,
                                    const struct mpr_oom *o)
{
    enum { SECOND_NS = 1000000000 };
    struct good_span best = { .to = mpr_saturating_sub(o->time, SECOND_NS) };
    if (!o->snapshot.valid) return (struct good_span){ 0 };
    for (uint32_t node = o->node; node; node = r->ranges.node[node].parent) {
        const uint32_t repeat = mpr_repeats_of(g->repeats, r, node);
        if (!r->ranges.node[node].domain && repeat < g->newests && g->newest[repeat].to)
            best = g->newest[repeat];
    }
    return best;
}

/* ---- the two replays */

enum { WINDOWS = 16 };

struct reading {
    struct mpr_ooms *ooms;
    const char *path;
    const struct mpr_progress *progress;
    struct mpr_error *error;
    struct good_spans good;
    struct mpr_refusals refusals;
    struct mpr_peak_window window[WINDOWS]; /* the second replay takes snapshots of their peaks */
    uint32_t oom[WINDOWS];                  /* their events */
    size_t windows;
    struct mpr_host_end end; /* by the second replay */
};

static void see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    struct reading *reading = arg;
    struct good_spans *g = &reading->good;
    mpr_refusals_see(&reading->refusals, r, t, e);
    if (e->op == MPF_OP_PUSH || e->op == MPF_OP_POP) {
        see_range(g, r, t, e);
        return;
    }
    while (g->spans < r->gpu.ooms) {
        MPR_GROW(g->span, g->spans, g->span_cap);
        g->span[g->spans] = span_before(g, r, &r->gpu.oom[g->spans]);
        g->spans++;
    }
}

static void fill_growth(struct mpr_ooms_log *log, struct mpr_arena *arena,
                        const struct mpr_reader *reader, const struct reading *reading)
{
    for (size_t i = 0; i < reading->windows; i++) {
        const uint32_t oom = reading->oom[i];
        const struct mpr_device_snapshot *before = &reading->window[i].peak,
                                         *after = &reader->replay.gpu.oom[oom].snapshot;
        const struct good_span *span = &reading->good.span[oom];
        if (oom >= log->stories || !before->valid || !after->valid) continue;
        mpr_growth_snapshots(&log->story[oom].growth, arena, reader, before, after);
        if (span->instance)
            log->story[oom].good = mpr_arena_format(
                arena, "%s:%" PRIu64,
                mpr_frame_path_text(arena, mpr_label_node(arena, reader, span->node)),
                span->instance);
    }
}

static void fill_log(struct mpr_ooms *ooms, const struct mpr_reader *reader,
                     struct mpr_ooms_log *log)
{
    const struct mpr_replay *r = &reader->replay;
    struct mpr_device *device = mpr_arena_alloc(&ooms->arena, MPF_GPUS * sizeof *device);
    for (unsigned i = 0; i < MPF_GPUS; i++) device[i] = mpr_device_named(&ooms->arena, r, i);
    log->device = device;
    log->story = mpr_arena_alloc(&ooms->arena, (r->gpu.ooms + 1) * sizeof *log->story);
    for (uint32_t i = 0; i < r->gpu.ooms; i++) {
        const struct mpr_oom *o = &r->gpu.oom[i];
        fill_story(&log->story[log->stories++], &ooms->arena, reader, o,
                   log->summary.process.start_ns);
        log->undetailed += mpf_heap_is_gpu(o->heap) && !o->snapshot.valid;
        if (o->hard) log->hard++;
        else log->soft++;
    }
}

static int replay(struct reading *reading, struct mpr_reader *reader, enum mpr_group by,
                  struct mpr_instant at, struct mpr_watch watch)
{
    if (mpr_reader_open(reader, reading->path, by, at, reading->error) != 0) return -1;
    reader->replay.options.backward_of = reading->ooms->backward_of;
    reader->replay.gpu.window = reading->window;
    reader->replay.gpu.windows = reading->windows; /* none in the first replay */
    mpr_watch_begin(&reader->replay, watch);
    return mpr_reader_replay(reader, reading->path, reading->progress, reading->error);
}

static int read_log(struct reading *reading, struct mpr_ooms_log *log)
{
    struct mpr_ooms *ooms = reading->ooms;
    struct mpr_reader reader;
    *log = (struct mpr_ooms_log){ 0 };
    if (replay(reading, &reader, ooms->by, MPR_INSTANT_PEAK, (struct mpr_watch){ see, reading }))
        return -1;
    for (uint32_t i = 0; i < reading->good.spans && reading->windows < WINDOWS; i++) {
        const struct mpr_oom *oom = &reader.replay.gpu.oom[i];
        const struct good_span *span = &reading->good.span[i];
        if (!oom->hard || !span->to || !oom->snapshot.valid) continue;
        reading->oom[reading->windows] = i;
        reading->window[reading->windows++] = (struct mpr_peak_window){
            .device = mpf_heap_device(oom->heap), .from = span->from, .to = span->to
        };
    }
    mpr_reader_summary(&reader, reading->path, &ooms->arena, &log->summary);
    mpr_refusals_settle(&reading->refusals);
    const bool host = mpr_host_look(&log->host, &log->summary, &reader.replay, &reading->refusals);
    log->choice = ooms->by == MPR_GROUP_AUTO ? mpr_choose(&reader)
                                             : (struct mpr_choice){ .by = ooms->by, .source = "" };
    const enum mpr_group by = log->choice.by;
    reading->end.at = log->host.refused ? log->host.end : UINT64_MAX;
    if (host || reading->windows) {
        mpr_reader_close(&reader);
        if (replay(reading, &reader, by,
                   host ? MPR_INSTANT_END_OF(log->host.mark) : MPR_INSTANT_PEAK,
                   (struct mpr_watch){ mpr_host_end_see, &reading->end }))
            return -1;
    }
    reader.replay.options.by = by; /* snapshots hold blocks, which can be grouped in any way */
    fill_log(ooms, &reader, log);
    fill_growth(log, &ooms->arena, &reader, reading);
    if (host) mpr_host_fill(&log->host, &ooms->arena, &reader, &reading->refusals, &reading->end);
    mpr_reader_close(&reader);
    return 0;
}

/* ---- expandable segments: the log is replayed with them */

static struct mpr_fit *uncomputed_fit(struct mpr_oom_event *s)
{
    for (size_t i = 0; s->hard && s->torch && i < s->fits; i++)
        if (s->fit[i].kind == MPR_FIT_SPLIT_FREE && !s->fit[i].computed) return &s->fit[i];
    return NULL;
}

/* Takes the answer of the replays, unless they differ.  PyTorch reports the error after the driver
 * refused the request, which was rounded up. */
static void take_answer(struct mpr_oom_event *s, const struct mpr_what_if *replayed)
{
    struct mpr_fit *fit = uncomputed_fit(s);
    for (size_t i = 0; fit && i < replayed->devices; i++) {
        const struct mpr_what_if_device *d = &replayed->device[i];
        for (size_t k = 0; d->index == s->index && !d->refused && k < d->ooms; k++) {
            const struct mpr_what_if_oom *o = &d->oom[k];
            const bool is_same = o->time >= s->time && o->bytes <= s->bytes;
            if (!is_same || (o->fits != MPR_WHAT_IF_YES && o->fits != MPR_WHAT_IF_NO)) continue;
            fit->computed = fit->replayed = true;
            fit->fits = o->fits == MPR_WHAT_IF_YES;
            fit->missing = o->missing.low;
            return;
        }
    }
}

/* Replays the log if that may change a report. */
static void replay_with_expandable_segments(struct reading *reading, struct mpr_ooms_log *log)
{
    struct mpr_what_if_options options = { .settings = mpr_caching_settings_default() };
    struct mpr_what_if replayed;
    struct mpr_error error;
    bool any = false;
    options.settings.expandable_segments = true;
    for (size_t i = 0; i < log->stories; i++) any |= uncomputed_fit(&log->story[i]) != NULL;
    if (!any ||
        mpr_what_if_read(&replayed, reading->path, &options, reading->progress, &error) != 0)
        return;
    for (size_t i = 0; i < log->stories; i++) take_answer(&log->story[i], &replayed);
    mpr_what_if_free(&replayed);
}

int mpr_ooms_add(struct mpr_ooms *ooms, const char *path, const struct mpr_progress *progress,
                 struct mpr_error *error)
{
    struct reading reading = { .ooms = ooms,
                               .path = path,
                               .progress = progress,
                               .error = error,
                               .good = { .repeats = mpr_repeats_new() } };
    MPR_GROW(ooms->log, ooms->logs, ooms->cap);
    const int status = read_log(&reading, &ooms->log[ooms->logs]);
    for (size_t i = 0; i < reading.windows; i++) mpr_device_snapshot_free(&reading.window[i].peak);
    mpr_repeats_free(reading.good.repeats);
    free(reading.good.newest);
    free(reading.good.node);
    free(reading.good.open);
    free(reading.good.span);
    free(reading.end.held);
    if (status == 0) replay_with_expandable_segments(&reading, &ooms->log[ooms->logs++]);
    return status;
}
