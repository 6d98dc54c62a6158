#include "contents.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "callers.h"
#include "device.h"
#include "held.h"
#include "labels.h"
#include "maker.h"
#include "mpf/event.h"
#include "mpf/gpu.h"
#include "open_ranges.h"
#include "samples.h"
#include "telling.h"

struct reading {
    struct mpr_contents *out;
    const struct mpr_contents_options *options;
    const struct mpr_content_sink *sink;
    const struct mpr_replay *replay;
    struct mpr_ledger ledger;
    struct mpr_open_ranges open;
    bool *is_used; /* by range: a row names it, or one inside */
    uint32_t nodes;
};

static bool is_within(const struct mpr_contents_options *o, uint64_t from, uint64_t to)
{
    return from <= o->until_ns && to >= o->from_ns;
}

/* ---- told one by one */

static void use_range(struct reading *r, const struct mpr_ranges *ranges, uint32_t node)
{
    MPR_REACH(r->is_used, node, r->nodes);
    for (; !r->is_used[node]; node = ranges->node[node].parent) r->is_used[node] = true;
}

static void tell_block(void *arg, const struct mpr_ledger_entry *e)
{
    struct reading *r = arg;
    const struct mpr_cell *cell = &r->replay->books.cell[e->cell];
    const struct mpr_all of = mpr_all_of(cell->key);
    const bool freer = e->freer.thread != MPR_NOBODY;
    if (e->size < r->options->min_bytes || !is_within(r->options, e->from, e->to)) return;
    if (freer) use_range(r, &r->replay->ranges, e->freer.node);
    const struct mpr_content_block block = { .heap = (uint8_t)e->key,
                                             .address = e->key >> 8,
                                             .bytes = e->size,
                                             .made_ns = e->from,
                                             .freed_ns = e->to,
                                             .range = of.node,
                                             .thread = of.thread,
                                             .site = cell->site,
                                             .freed_range = freer ? e->freer.node : UINT64_MAX,
                                             .freed_thread = freer ? e->freer.thread : UINT64_MAX };
    r->sink->block(r->sink->arg, &block);
}

static void tell_instance(void *arg, const struct mpr_open_instance *i, uint64_t to, bool ended)
{
    struct reading *r = arg;
    if (!is_within(r->options, i->from, to)) return;
    use_range(r, &r->replay->ranges, i->node);
    const struct mpr_content_instance instance = { i->node, i->thread, i->from, to, ended };
    r->sink->instance(r->sink->arg, &instance);
}

static void tell_sample(struct reading *r, const struct mpr_replay *replay,
                        enum mpr_reading_source source)
{
    const struct mpr_reading reading = mpr_reading_of(&replay->samples.source[source].now);
    r->sink->sample(r->sink->arg, source, &reading);
}

static void tell_gpu(struct reading *r, const struct mpf_event *e)
{
    uint64_t value[MPF_GPU_COUNT];
    memset(value, 0xff, sizeof value);
    if (e->size) memcpy(value, e->data, e->size < sizeof value ? e->size : sizeof value);
    const struct mpr_content_gpu sample = { e->addr,
                                            e->time,
                                            value[MPF_GPU_USED],
                                            value[MPF_GPU_TOTAL],
                                            value[MPF_GPU_OWN],
                                            value[MPF_GPU_RESERVED],
                                            value[MPF_GPU_FILE_CACHE] };
    r->sink->gpu(r->sink->arg, &sample);
}

static void see(void *arg, const struct mpr_replay *replay, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    struct reading *r = arg;
    mpr_open_ranges_see(&r->open, replay, t, e);
    if (!is_within(r->options, e->time, e->time)) return;
    switch (e->op) {
    case MPF_OP_SAMPLE_RSS: tell_sample(r, replay, MPR_READ_RSS); break;
    case MPF_OP_SAMPLE_CGROUP: tell_sample(r, replay, MPR_READ_CGROUP); break;
    case MPF_OP_SAMPLE_JEMALLOC: tell_sample(r, replay, MPR_READ_JEMALLOC); break;
    case MPF_OP_SAMPLE_GPU: tell_gpu(r, e); break;
    default: break;
    }
}

/* ---- heaps, and who held what */

static bool is_estimated(const struct mpr_replay *r, uint8_t code)
{
    return code == MPF_HEAP_PYTHON && r->options.python_sample_mean > 0;
}

static void fill_heaps(struct mpr_contents *out, const struct mpr_replay *r)
{
    out->heap = mpr_arena_alloc(&out->arena, MPR_HEAPS * sizeof *out->heap);
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *h = &r->books.heap[i];
        if (!h->used) continue;
        out->heap[out->heaps++] =
            (struct mpr_content_heap){ .heap = (uint8_t)i,
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
                                       .estimated = is_estimated(r, (uint8_t)i) };
    }
}

/* With what samples stand for. */
static void tell_held(struct mpr_content_use *use, const struct mpr_held *held)
{
    use->peak_bytes = held->then;
    use->peak_blocks = held->then_blocks;
    use->end_bytes = held->now;
    use->end_blocks = held->now_blocks;
    use->own_peak = held->own_peak;
    use->allocations = held->allocations;
    use->error = mpr_row_error(held->variance);
    if (held->estimated) use->mark = "~";
}

static void fill_uses(struct reading *r, const struct mpr_replay *replay)
{
    struct mpr_contents *out = r->out;
    const struct mpr_books *books = &replay->books;
    struct mpr_held *host = mpr_held_heap(replay, MPF_HEAP_HOST);
    out->use = mpr_arena_alloc(&out->arena, books->cells * sizeof *out->use);
    for (uint32_t i = 0; i < books->cells; i++) {
        const struct mpr_cell *cell = &books->cell[i];
        const struct mpr_all of = mpr_all_of(cell->key);
        out->use[out->uses++] = (struct mpr_content_use){
            .heap = cell->heap,
            .range = of.node,
            .thread = of.thread,
            .site = cell->site,
            .size_up_to = of.class ? UINT64_C(1) << (of.class - 1) : 0,
            .peak_bytes = mpr_books_bytes_at_peak(books, cell),
            .peak_blocks = mpr_books_blocks_at_peak(books, cell),
            .end_bytes = cell->bytes,
            .end_blocks = cell->blocks,
            .own_peak = cell->own_peak,
            .allocations = cell->allocations,
            .mark = is_estimated(replay, cell->heap)   ? "~"
                    : mpr_label_at_least(replay, cell) ? ">="
                                                       : "",
        };
        if (cell->heap == MPF_HEAP_HOST) tell_held(&out->use[out->uses - 1], &host[i]);
    }
    free(host);
}

/* ---- names */

/* Those that a row names, and those around them: what is but a call of Python's is not among them.
 */
static void fill_ranges(struct reading *r, const struct mpr_reader *reader)
{
    struct mpr_contents *out = r->out;
    const struct mpr_ranges *ranges = &reader->replay.ranges;
    for (size_t i = 0; i < out->uses; i++) use_range(r, ranges, (uint32_t)out->use[i].range);
    use_range(r, ranges, 0);
    out->range = mpr_arena_alloc(&out->arena, r->nodes * sizeof *out->range);
    for (uint32_t i = 0; i < r->nodes; i++) {
        if (!r->is_used[i]) continue;
        struct mpr_content_range *range = &out->range[out->ranges++];
        *range = (struct mpr_content_range){ .number = i, .parent = ranges->node[i].parent };
        range->name = i ? mpr_label_frame(&out->arena, reader, i)->text : "";
        range->path = mpr_label_node(&out->arena, reader, i);
    }
}

static void fill_threads(struct mpr_contents *out, const struct mpr_replay *r)
{
    out->thread = mpr_arena_alloc(&out->arena, r->threads.count * sizeof *out->thread);
    for (uint32_t i = 0; i < r->threads.count; i++) {
        const struct mpr_thread *t = r->threads.at[i];
        if (!t) continue;
        out->thread[out->threads++] =
            (struct mpr_content_thread){ .number = i,
                                         .tid = t->tid,
                                         .first_ns = t->first_ns,
                                         .ended_ns = t->ended ? t->ended_ns : UINT64_MAX,
                                         .name = mpr_label_maker(&out->arena, r, i) };
    }
}

static struct mpr_content_site site_of(struct mpr_contents *out, struct mpr_callers *callers,
                                       struct mpr_telling *telling, uint32_t number)
{
    const struct mpr_reader *reader = callers->reader;
    const struct mpr_site at = mpr_sites_of(&reader->replay.sites, number);
    const struct mpr_path path = mpr_label_best(&out->arena, reader, 0, at);
    const struct mpr_told told = mpr_telling_of(telling, &out->arena, path, true);
    return (struct mpr_content_site){ .number = number,
                                      .native = mpr_callers_native(callers, at.stack),
                                      .python = mpr_callers_python(callers, at.python),
                                      .name = told.path.depth
                                                  ? told.path.frame[told.path.depth - 1]->text
                                                  : "",
                                      .caller = told.caller };
}

static void fill_calls(struct mpr_contents *out, const struct mpr_callers *callers)
{
    size_t count = 0;
    for (uint32_t i = 0; i < callers->stacks; i++) count += callers->stack[i].depth;
    out->call = mpr_arena_alloc(&out->arena, count * sizeof *out->call);
    for (uint32_t i = 0; i < callers->stacks; i++) {
        const struct mpr_call_stack *stack = &callers->stack[i];
        for (size_t k = stack->depth; k-- > 0;)
            out->call[out->calls++] =
                (struct mpr_content_call){ i, stack->depth - 1 - k, stack->frame[k] };
    }
    out->frame = mpr_arena_alloc(&out->arena, callers->frames * sizeof *out->frame);
    for (uint32_t i = 0; i < callers->frames; i++)
        out->frame[out->frames++] = (struct mpr_content_frame){ i, callers->frame[i]->text };
}

/* Those that a block has. */
static void fill_sites(struct mpr_contents *out, const struct mpr_reader *reader,
                       struct mpr_telling *telling)
{
    const struct mpr_books *books = &reader->replay.books;
    const uint32_t sites = reader->replay.sites.sites;
    bool *is_used = mpr_alloc((size_t)sites + 1, sizeof *is_used);
    struct mpr_callers callers;
    for (uint32_t i = 0; i < books->cells; i++) is_used[books->cell[i].site] = true;
    mpr_callers_init(&callers, &out->arena, reader);
    out->site = mpr_arena_alloc(&out->arena, sites * sizeof *out->site);
    for (uint32_t i = 1; i <= sites; i++)
        if (is_used[i]) out->site[out->sites++] = site_of(out, &callers, telling, i);
    fill_calls(out, &callers);
    mpr_callers_free(&callers);
    free(is_used);
}

/* ---- reading */

static void fill(struct reading *r, const struct mpr_reader *reader, const char *path)
{
    struct mpr_contents *out = r->out;
    mpr_ledger_end(&r->ledger);
    mpr_open_ranges_end(&r->open, &reader->replay);
    mpr_reader_summary(reader, path, &out->arena, &out->summary);
    fill_heaps(out, &reader->replay);
    fill_uses(r, &reader->replay);
    fill_ranges(r, reader);
    fill_threads(out, &reader->replay);
    fill_sites(out, reader, r->options->telling);
    mpr_segments_fill_worst(&out->segments, reader);
    mpr_graphs_fill(&out->graphs, reader);
    out->device = mpr_devices_fill(&out->arena, reader, &out->devices);
    out->failures = reader->replay.gpu.ooms;
    out->segments.summary = out->graphs.summary = out->summary;
}

int mpr_contents_read(struct mpr_contents *contents, const char *path,
                      const struct mpr_contents_options *options,
                      const struct mpr_content_sink *sink, const struct mpr_progress *progress,
                      struct mpr_error *error)
{
    struct mpr_reader reader;
    struct reading r = { .out = contents,
                         .options = options,
                         .sink = sink,
                         .replay = &reader.replay,
                         .ledger = { .tell = tell_block, .arg = &r },
                         .open = { .ends = tell_instance, .arg = &r } };
    *contents = (struct mpr_contents){ .heaps = 0 };
    if (mpr_reader_open(&reader, path, MPR_GROUP_ALL, MPR_INSTANT_PEAK, error) != 0) return -1;
    reader.replay.ledger = &r.ledger;
    reader.replay.watch = (struct mpr_watch){ see, &r };
    const int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        fill(&r, &reader, path);
        mpr_reader_close(&reader);
    } else mpr_contents_free(contents);
    mpr_ledger_free(&r.ledger);
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
