#include "contents.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "cell_totals.h"
#include "gpu.h"
#include "labels.h"
#include "mpf/event.h"
#include "mpf/gpu.h"
#include "repeats.h"
#include "samples.h"
#include "timeline_parts.h"
#include "user_frame.h"

struct reading {
    struct mpr_reader reader;
    struct mpr_contents *out;
    const struct mpr_contents_options *options;
    const struct mpr_content_sink *sink;
    struct mpr_ledger ledger;
    struct mpr_open_ranges open;
    bool *is_used; /* by range: true if a row has it, or has a range inside it */
    uint32_t nodes;
};

static bool is_within(const struct reading *r, uint64_t from, uint64_t to)
{
    return from <= r->options->until_ns && to >= r->options->from_ns;
}

static void use_range(struct reading *r, uint32_t node)
{
    const struct mpr_node *at = r->reader.replay.ranges.node;
    MPR_REACH(r->is_used, node, r->nodes);
    for (; !r->is_used[node]; node = at[node].parent) r->is_used[node] = true;
}

/* ---- callbacks */

static void report_block(void *arg, const struct mpr_ledger_entry *e)
{
    struct reading *r = arg;
    const struct mpr_cell *cell = &r->reader.replay.accounts.cell[e->cell];
    const struct mpr_composite_key of = mpr_composite_key_unpack(cell->key);
    const bool is_freed = e->freer.thread != MPR_NOBODY;
    if (e->size < r->options->min_bytes || !is_within(r, e->from, e->to)) return;
    if (is_freed) use_range(r, e->freer.node);
    const struct mpr_content_block block = { .heap = (uint8_t)e->key,
                                             .address = e->key >> 8,
                                             .bytes = e->size,
                                             .made_ns = e->from,
                                             .freed_ns = e->to,
                                             .range = of.node,
                                             .thread = of.thread,
                                             .site = cell->site,
                                             .freed_range = is_freed ? e->freer.node : UINT64_MAX,
                                             .freed_thread =
                                                 is_freed ? e->freer.thread : UINT64_MAX };
    r->sink->block(r->sink->arg, &block);
}

static void report_instance(void *arg, const struct mpr_open_instance *i, uint64_t to, bool ended)
{
    struct reading *r = arg;
    if (!is_within(r, i->from, to)) return;
    use_range(r, i->node);
    const struct mpr_content_instance instance = { i->node, i->thread, i->from, to, ended };
    r->sink->instance(r->sink->arg, &instance);
}

static void report_sample(struct reading *r, enum mpr_reading_source source)
{
    const struct mpr_reading reading = mpr_reading_of(&r->reader.replay.samples.source[source].now);
    r->sink->sample(r->sink->arg, source, &reading);
}

static void on_event(void *arg, const struct mpr_replay *replay, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    struct reading *r = arg;
    struct mpr_content_gpu gpu = { .device = e->addr, .time_ns = e->time };
    mpr_open_ranges_see(&r->open, replay, t, e);
    if (!is_within(r, e->time, e->time)) return;
    switch (e->op) {
    case MPF_OP_SAMPLE_RSS: report_sample(r, MPR_READ_RSS); break;
    case MPF_OP_SAMPLE_CGROUP: report_sample(r, MPR_READ_CGROUP); break;
    case MPF_OP_SAMPLE_JEMALLOC: report_sample(r, MPR_READ_JEMALLOC); break;
    case MPF_OP_SAMPLE_ALLOCATOR: report_sample(r, MPR_READ_ALLOCATOR); break;
    case MPF_OP_SAMPLE_GPU:
        memset(gpu.value, 0xff, sizeof gpu.value);
        if (e->size)
            memcpy(gpu.value, e->data, e->size < sizeof gpu.value ? e->size : sizeof gpu.value);
        r->sink->gpu(r->sink->arg, &gpu);
        break;
    default: break;
    }
}

/* ---- heaps and owners */

static bool is_estimated(const struct mpr_replay *r, unsigned heap)
{
    if (heap == MPF_HEAP_HOST) return r->options.host_sums_estimated;
    return heap == MPF_HEAP_PYTHON && r->options.python_sample_mean > 0;
}

static void fill_heaps(struct mpr_contents *out, const struct mpr_replay *r)
{
    out->heap = mpr_arena_alloc(&out->arena, MPR_HEAPS * sizeof *out->heap);
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *h = &r->accounts.heap[i];
        if (!h->used) continue;
        out->heap[out->heaps++] = (struct mpr_content_heap){ .heap = (uint8_t)i,
                                                             .inside = mpr_heap_around((uint8_t)i),
                                                             .peak_bytes = h->peak_bytes,
                                                             .peak_ns = h->peak_time,
                                                             .peak_blocks = h->peak_blocks,
                                                             .end_bytes = h->bytes,
                                                             .end_blocks = h->blocks,
                                                             .allocations = h->allocations,
                                                             .frees = h->frees,
                                                             .failures = h->failures,
                                                             .unmatched = h->unmatched,
                                                             .estimated = is_estimated(r, i) };
    }
}

/* Fills the uses. Those of host/heap are estimated from samples. */
static void fill_uses(struct mpr_contents *out, const struct mpr_replay *r)
{
    const struct mpr_accounts *accounts = &r->accounts;
    struct mpr_cell_totals *host = mpr_cell_totals_heap(r, MPF_HEAP_HOST);
    out->use = mpr_arena_alloc(&out->arena, accounts->cells * sizeof *out->use);
    for (uint32_t i = 0; i < accounts->cells; i++) {
        const struct mpr_cell *cell = &accounts->cell[i];
        const struct mpr_composite_key of = mpr_composite_key_unpack(cell->key);
        const struct mpr_cell_totals exact = {
            .bytes = mpr_accounts_at_peak(accounts, cell).bytes,
            .blocks = mpr_accounts_at_peak(accounts, cell).blocks,
            .end_bytes = cell->bytes,
            .end_blocks = cell->blocks,
            .own_peak = cell->own_peak,
            .allocations = cell->allocations,
        };
        const struct mpr_cell_totals *t = cell->heap == MPF_HEAP_HOST ? &host[i] : &exact;
        out->use[out->uses++] = (struct mpr_content_use){
            .heap = cell->heap,
            .range = of.node,
            .thread = of.thread,
            .site = cell->site,
            .size_up_to = of.class ? UINT64_C(1) << (of.class - 1) : 0,
            .peak_bytes = t->bytes,
            .peak_blocks = t->blocks,
            .end_bytes = t->end_bytes,
            .end_blocks = t->end_blocks,
            .own_peak = t->own_peak,
            .allocations = t->allocations,
            .error = mpr_variance_error(&t->variance),
            .mark = t->estimated || is_estimated(r, cell->heap) ? "~"
                    : mpr_label_at_least(r, cell)               ? ">="
                                                                : "",
        };
    }
    free(host);
}

/* ---- names */

/* Fills the ranges that rows have, and their ancestors. Other nodes of the tree are calls of
 * Python. */
static void fill_ranges(struct reading *r)
{
    struct mpr_contents *out = r->out;
    for (size_t i = 0; i < out->uses; i++) use_range(r, (uint32_t)out->use[i].range);
    use_range(r, 0);
    out->range = mpr_arena_alloc(&out->arena, r->nodes * sizeof *out->range);
    for (uint32_t i = 0; i < r->nodes; i++) {
        if (!r->is_used[i]) continue;
        out->range[out->ranges++] = (struct mpr_content_range){
            .number = i,
            .parent = r->reader.replay.ranges.node[i].parent,
            .name = i ? mpr_label_frame(&out->arena, &r->reader, i)->text : "",
            .path = mpr_label_node(&out->arena, &r->reader, i),
        };
    }
}

/* Fills the sites that have blocks, with their calls and frames. */
static void fill_sites(struct mpr_contents *out, const struct mpr_reader *reader,
                       struct mpr_user_frames *user_frames)
{
    const struct mpr_accounts *accounts = &reader->replay.accounts;
    const struct mpr_sites *sites = &reader->replay.sites;
    bool *is_used = mpr_alloc((size_t)sites->sites + 1, sizeof *is_used);
    size_t calls = 0;
    struct mpr_numbering n;
    for (uint32_t i = 0; i < accounts->cells; i++) is_used[accounts->cell[i].site] = true;
    mpr_numbering_init(&n, &out->arena, reader);
    out->site = mpr_arena_alloc(&out->arena, sites->sites * sizeof *out->site);
    for (uint32_t i = 1; i <= sites->sites; i++) {
        if (!is_used[i]) continue;
        const struct mpr_site at = mpr_sites_of(sites, i);
        const struct mpr_path path = mpr_label_best(&out->arena, reader, 0, at);
        const struct mpr_frame_summary shown =
            mpr_user_frames_summary(user_frames, &out->arena, path, true);
        const size_t depth = shown.path.depth;
        out->site[out->sites++] =
            (struct mpr_content_site){ .number = i,
                                       .native = mpr_numbering_native(&n, at.stack),
                                       .python = mpr_numbering_python(&n, at.python),
                                       .name = depth ? shown.path.frame[depth - 1]->text : "",
                                       .caller = shown.caller };
    }
    for (uint32_t i = 0; i < n.stacks; i++) calls += n.stack[i].depth;
    out->call = mpr_arena_alloc(&out->arena, calls * sizeof *out->call);
    for (uint32_t i = 0; i < n.stacks; i++)
        for (size_t depth = n.stack[i].depth, level = 0; level < depth; level++)
            out->call[out->calls++] =
                (struct mpr_content_call){ i, level, n.stack[i].frame[depth - 1 - level] };
    out->frame = mpr_arena_alloc(&out->arena, n.frames * sizeof *out->frame);
    for (; out->frames < n.frames; out->frames++)
        out->frame[out->frames] =
            (struct mpr_content_frame){ out->frames, n.frame[out->frames]->text };
    mpr_numbering_free(&n);
    free(is_used);
}

/* ---- reading */

int mpr_contents_read(struct mpr_contents *contents, const char *path,
                      const struct mpr_contents_options *options,
                      const struct mpr_content_sink *sink, const struct mpr_progress *progress,
                      struct mpr_error *error)
{
    struct reading r = { .out = contents,
                         .options = options,
                         .sink = sink,
                         .ledger = { .report = report_block, .arg = &r },
                         .open = { .on_end = report_instance, .arg = &r } };
    *contents = (struct mpr_contents){ .heaps = 0 };
    if (mpr_reader_open(&r.reader, path, MPR_GROUP_ALL, MPR_INSTANT_PEAK, error) != 0) return -1;
    r.reader.replay.ledger = &r.ledger;
    mpr_watch_begin(&r.reader.replay, (struct mpr_watch){ on_event, &r });
    const int status = mpr_reader_replay(&r.reader, path, progress, error);
    if (status == 0) {
        const struct mpr_replay *replay = &r.reader.replay;
        mpr_ledger_end(&r.ledger);
        mpr_open_ranges_end(&r.open, replay);
        mpr_reader_summary(&r.reader, path, &contents->arena, &contents->summary);
        fill_heaps(contents, replay);
        fill_uses(contents, replay);
        fill_ranges(&r);
        contents->thread = mpr_info_threads(&contents->arena, replay, &contents->threads);
        if (contents->threads && !contents->thread->number)
            contents->thread->name = mpr_label_owner(&contents->arena, replay, 0);
        fill_sites(contents, &r.reader, options->user_frames);
        mpr_segments_fill(&contents->segments, &r.reader, mpr_oom_newest(&replay->gpu));
        mpr_graphs_fill(&contents->graphs, &r.reader);
        contents->device = mpr_devices_fill(&contents->arena, &r.reader, &contents->devices);
        contents->failures = replay->gpu.ooms;
        contents->segments.summary = contents->graphs.summary = contents->summary;
        mpr_reader_close(&r.reader);
    } else mpr_contents_free(contents);
    mpr_live_index_free(&r.ledger.live);
    mpr_open_ranges_free(&r.open);
    free(r.is_used);
    return status;
}

void mpr_contents_free(struct mpr_contents *contents)
{
    mpr_segments_free(&contents->segments);
    mpr_graphs_free(&contents->graphs);
    mpr_arena_free(&contents->arena);
}

/* ---- ranges over time */

struct range_name {
    const char *domain, *name;
};

struct range_events {
    struct mpr_reader reader;
    const struct mpr_range_events_options *options;
    struct mpr_open_ranges open;
    struct mpr_named_ranges named; /* to recognize instances of the step */
    struct mpr_index step_of;      /* by the push of an open instance of the step: its number */
    uint32_t step;                 /* number of the newest instance */
    struct mpr_arena arena;
    struct range_name *name; /* by node */
    uint32_t names;
    bool begun, closed; /* begun: from_ns is reached; closed: until_ns has passed, or the log has
                           ended */
};

static void report_range_event(struct range_events *r, const struct mpr_open_instance *i,
                               bool begins, uint64_t time)
{
    const struct mpr_ranges *ranges = &r->reader.replay.ranges;
    MPR_REACH(r->name, i->node, r->names);
    struct range_name *n = &r->name[i->node];
    if (!n->name) {
        const struct mpr_node *node = &ranges->node[i->node];
        n->name = mpr_label_name(&r->arena, &r->reader.replay, node->name, 0);
        n->domain = mpr_arena_text(&r->arena, mpr_ranges_domain(ranges, node->domain));
    }
    const struct mpr_range_event event = { .begins = begins,
                                           .time_ns = time,
                                           .thread = i->thread,
                                           .domain = n->domain,
                                           .name = n->name,
                                           .step = mpr_index_get(&r->step_of, i->push) };
    r->options->report(r->options->arg, &event);
}

static void on_pop(void *arg, const struct mpr_open_instance *i, uint64_t to, bool ended)
{
    struct range_events *r = arg;
    (void)ended;
    if (r->begun && !r->closed)
        report_range_event(r, i, false, to < r->options->until_ns ? to : r->options->until_ns);
    if (mpr_index_get(&r->step_of, i->push)) mpr_index_set(&r->step_of, i->push, 0);
}

static void on_range_event(void *arg, const struct mpr_replay *replay, const struct mpr_thread *t,
                           const struct mpf_event *e)
{
    struct range_events *r = arg;
    struct mpr_open_ranges *open = &r->open;
    if (r->closed) return;
    if (!r->begun && e->time >= r->options->from_ns) {
        r->begun = true;
        for (uint32_t i = 0; i < open->threads; i++)
            for (uint32_t k = 0; k < open->thread[i].count; k++)
                report_range_event(r, &open->thread[i].at[k], true, r->options->from_ns);
    }
    if (e->time > r->options->until_ns) {
        mpr_open_ranges_end(open, replay);
        r->closed = true;
        return;
    }
    mpr_open_ranges_see(open, replay, t, e);
    if (e->op != MPF_OP_PUSH || t->depth_overflow) return;
    const struct mpr_open_thread *of = &open->thread[t->number];
    const struct mpr_open_instance *i = &of->at[of->count - 1];
    /* only the outermost instance of the step counts */
    if (r->options->step && !r->step_of.count &&
        mpr_named_ranges_which(&r->named, replay, i->node) == 1)
        mpr_index_set(&r->step_of, i->push, ++r->step);
    if (r->begun) report_range_event(r, i, true, i->from);
}

int mpr_range_events_read(const char *path, const struct mpr_range_events_options *options,
                          const struct mpr_progress *progress, struct mpr_error *error)
{
    struct range_events r = { .options = options, .open = { .on_end = on_pop, .arg = &r } };
    if (mpr_reader_open(&r.reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    r.reader.replay.options.without_malloc = true;
    mpr_watch_begin(&r.reader.replay, (struct mpr_watch){ on_range_event, &r });
    if (options->step) mpr_named_ranges_begin(&r.named, options->step, NULL);
    const int status = mpr_reader_replay(&r.reader, path, progress, error);
    if (status == 0) {
        if (!r.closed) mpr_open_ranges_end(&r.open, &r.reader.replay);
        mpr_reader_close(&r.reader);
    }
    mpr_open_ranges_free(&r.open);
    if (options->step) mpr_named_ranges_free(&r.named);
    mpr_index_free(&r.step_of);
    mpr_arena_free(&r.arena);
    free(r.name);
    return status;
}
