#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "amount.h"
#include "gpu.h"
#include "labels.h"
#include "timeline_parts.h"

/* Changes of a heap that are kept while the log is read. The bands are made of these, and have
 * fewer. */
#define LEVEL_CHANGES ((size_t)3 << 17)

/* ---- heaps */

MPR_COMPARE(by_peak, struct mpr_heap_timeline,
            mpr_compare(b->peak_bytes, a->peak_bytes) ?: mpr_heap_by_name(a->heap, b->heap))

static void fill_heaps(struct mpr_timeline *t, struct mpr_reader *reader,
                       const struct mpr_levels *levels)
{
    const struct mpr_replay *r = &reader->replay;
    size_t used = 0;
    for (int i = 0; i < MPR_HEAPS; i++) used += r->accounts.heap[i].used;
    t->heap = mpr_arena_alloc(&t->arena, used * sizeof *t->heap);
    for (int i = 0; i < MPR_HEAPS; i++) {
        const uint8_t code = (uint8_t)i;
        const struct mpr_heap *heap = &r->accounts.heap[i];
        if (!heap->used || (t->options.heap && code != t->options.heap)) continue;
        struct mpr_heap_timeline *out = &t->heap[t->heaps++];
        *out = (struct mpr_heap_timeline){
            .heap = code,
            .peak_bytes = heap->peak_bytes,
            .peak_time = heap->peak_time,
            .peak_blocks = heap->peak_blocks,
            .end_bytes = heap->bytes,
            .allocations = heap->allocations,
            .frees = heap->frees,
            .failures = heap->failures,
            .inside = mpr_heap_around(code),
            .is_approximate = mpr_label_is_approximate(r, code),
        };
        if (t->options.by == MPR_GROUP_ALL) out->lines = mpr_owner_lines_make(t, reader, code);
        mpr_bands_fill(t, reader, levels, code, out);
    }
    qsort(t->heap, t->heaps, sizeof *t->heap, by_peak);
}

/* ---- blocks */

struct blocks {
    struct mpr_large_block *block;
    size_t count, cap;
};

static void add_block(void *arg, const struct mpr_large_block *block)
{
    struct blocks *g = arg;
    MPR_GROW(g->block, g->count, g->cap);
    g->block[g->count++] = *block;
}

/* Live blocks come in the order of a hash table, which differs in each run. */
MPR_COMPARE(by_birth, struct mpr_large_block,
            mpr_compare(a->from, b->from) ?: mpr_compare(a->addr, b->addr)
                                          ?: mpr_compare(a->to, b->to))

MPR_COMPARE(by_from, struct mpr_lifetime,
            mpr_compare(a->from, b->from) ?: mpr_compare(a->addr, b->addr))

/* Fills the largest blocks of a heap. */
static void fill_lifetimes(struct mpr_timeline *t, struct mpr_numbering *n,
                           const struct mpr_large *large, struct mpr_heap_timeline *out)
{
    const struct mpr_replay *r = &n->reader->replay;
    struct blocks g = { .block = NULL };
    mpr_large_each(large, out->heap, add_block, &g);
    if (g.count) qsort(g.block, g.count, sizeof *g.block, by_birth);
    const size_t kept = g.count < t->options.lifetimes ? g.count : t->options.lifetimes;
    mpr_notable_keep(g.block, g.count, kept, out->peak_time, r->now);
    out->lifetime = mpr_arena_alloc(&t->arena, kept * sizeof *out->lifetime);
    for (; out->lifetimes < kept; out->lifetimes++) {
        const struct mpr_large_block *b = &g.block[out->lifetimes];
        const struct mpr_cell *cell = &r->accounts.cell[b->cell];
        const struct mpr_composite_key all = mpr_composite_key_unpack(cell->key);
        const struct mpr_site site = mpr_sites_of(&r->sites, cell->site);
        const uint32_t library = mpr_sites_library(&r->sites, site.stack);
        const bool lives = b->to == UINT64_MAX;
        out->lifetime[out->lifetimes] = (struct mpr_lifetime){
            .addr = b->addr,
            .size = b->size,
            .from = b->from,
            .to = lives ? r->now : b->to,
            .live_at_end = lives,
            .capture = b->capture,
            .segment = b->segment,
            .mapped = b->mapped && mpr_segment_expands(&r->sites, library),
            .node = mpr_numbering_node(n, all.node),
            .thread = all.thread,
            .library = library,
            .freeing_thread = lives || b->freer == MPR_NOBODY ? 0 : b->freer + 1,
            .native = mpr_numbering_native(n, site.stack),
            .python = mpr_numbering_python(n, site.python),
        };
    }
    qsort(out->lifetime, out->lifetimes, sizeof *out->lifetime, by_from);
    free(g.block);
}

/* ---- the page */

/* The observers of a replay. Those that only the page needs are NULL for other reports. */
struct mpr_timeline_reading {
    struct mpr_levels *levels;
    struct mpr_device_snapshots *instants;
    struct mpr_excerpts *excerpts;
    struct mpr_annotations *annotations;
    struct mpr_large *large;
    struct mpr_lanes *lanes;
    struct mpr_alloc_free_matrix *flows;
};

static void fill_gpu(struct mpr_timeline *t, struct mpr_numbering *n)
{
    const struct mpr_gpu *g = &n->reader->replay.gpu;
    const struct mpr_oom *oom = mpr_oom_newest(g);
    t->held_until = mpr_arena_alloc(&t->arena, g->captures * sizeof *t->held_until);
    for (uint32_t i = 1; i <= g->captures; i++)
        t->held_until[t->captures++] = mpr_graph_until(g, i);
    if (!oom) return;
    t->oom = (struct mpr_timeline_oom){
        .known = true,
        .device = mpf_heap_device(oom->heap),
        .time = oom->time,
        .bytes = oom->bytes,
        .needed = mpr_oom_needed(oom),
        .free = oom->free,
        .node = mpr_numbering_node(n, oom->node ? oom->node : oom->python),
    };
}

static void fill_page(struct mpr_timeline *t, const struct mpr_reader *reader,
                      const struct mpr_timeline_reading *o)
{
    enum { CLASSES = 66 };
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_repeats *s = reader->repeats;
    const uint32_t outermost = mpr_repeats_outermost(s);
    const size_t libraries = (size_t)r->sites.libraries + 1;
    struct mpr_numbering n;
    mpr_numbering_init(&n, &t->arena, reader);
    for (size_t i = 0; i < t->heaps; i++) {
        struct mpr_heap_timeline *h = &t->heap[i];
        mpr_owner_lines_fill_holders(h->lines, &n, h);
        fill_lifetimes(t, &n, o->large, h);
        for (size_t k = 0; k < h->bands; k++) {
            h->band[k].node = mpr_numbering_node(&n, h->band[k].node);
            h->band[k].python = mpr_numbering_python(&n, h->band[k].python);
            h->band[k].native = mpr_numbering_native(&n, h->band[k].native);
        }
    }
    for (size_t i = 0; i < t->heaps; i++) mpr_owner_lines_fill(t->heap[i].lines, &n, &t->heap[i]);
    mpr_annotations_fill(o->annotations, &n, t);
    mpr_lanes_fill(o->lanes, &n, t);
    fill_gpu(t, &n);
    for (size_t i = 0; i < t->heaps; i++) mpr_places_number(&n, &t->heap[i]);
    if (outermost)
        t->repeat = (struct mpr_timeline_repeat){ .name = mpr_repeats_name(s, &t->arena, outermost),
                                                  .instances = s->repeat[outermost].instances,
                                                  .from = s->repeat[outermost].first_ns,
                                                  .to = s->repeat[outermost].last_ns };
    mpr_numbering_fill(&n, t);
    mpr_numbering_free(&n);
    mpr_segments_fill(&t->segments, reader, NULL);
    mpr_segments_fill_oom(&t->at_oom, reader);
    t->size_name = mpr_arena_alloc(&t->arena, CLASSES * sizeof *t->size_name);
    for (; t->sizes < CLASSES; t->sizes++)
        t->size_name[t->sizes] = mpr_label_size(&t->arena, (uint32_t)t->sizes);
    const char *unrecorded = mpr_label_unrecorded(&t->arena, r); /* in the class of 0 bytes */
    if (unrecorded) t->size_name[0] = unrecorded;
    t->library = mpr_arena_alloc(&t->arena, libraries * sizeof *t->library);
    t->library[t->libraries++] = &mpr_frame_none;
    for (; t->libraries < libraries; t->libraries++)
        t->library[t->libraries] = mpr_label_library_frame(&t->arena, r, (uint32_t)t->libraries);
}

/* ---- reading */

struct mpr_timeline_reading *mpr_timeline_watch(const struct mpr_timeline *t,
                                                struct mpr_reader *reader)
{
    const struct mpr_timeline_options *options = &t->options;
    struct mpr_replay *r = &reader->replay;
    const struct mpr_estimates *all = &r->estimates;
    const bool sampled = all->stacks.mean > 0 || all->python.mean > 0 || all->host.mean > 0;
    const struct mpr_estimates *e = options->estimates && sampled ? all : NULL;
    const struct mpr_levels_options levels = { options->from, options->to, options->buckets,
                                               LEVEL_CHANGES * (e ? MPR_LEVELS_NUMBERS : 1), e };
    struct mpr_timeline_reading *o = mpr_alloc(1, sizeof *o);
    r->options.backward_of = options->backward_of;
    r->accounts.levels = o->levels = mpr_levels_new(&levels, &r->now);
    if (!options->heap && options->instants)
        r->gpu.instants = o->instants =
            mpr_device_snapshots_new(options->instants, options->from, options->to);
    if (options->by == MPR_GROUP_ALL) {
        r->accounts.excerpts = o->excerpts = mpr_excerpts_new(options->exact, &r->now);
        o->excerpts->estimates = e;
        r->large = o->large = mpr_large_new(&r->accounts);
        r->alloc_free = o->flows = mpr_alloc_free_matrix_new();
        o->annotations = mpr_annotations_watch(r);
        reader->repeats = mpr_repeats_watch(r);
        o->lanes = mpr_lanes_watch(options->boxes, reader->repeats, r);
    }
    return o;
}

void mpr_timeline_fill(struct mpr_timeline *t, struct mpr_timeline_reading *o,
                       struct mpr_reader *reader, const char *path)
{
    const struct mpr_replay *r = &reader->replay;
    mpr_levels_finish(o->levels, &r->accounts);
    if (o->excerpts) mpr_excerpts_finish(o->excerpts, &r->accounts);
    if (o->lanes) mpr_lanes_end(o->lanes, r);
    if (o->flows) mpr_alloc_free_matrix_finish(o->flows);
    if (o->instants) mpr_device_snapshots_finish(o->instants, r);
    mpr_reader_summary(reader, path, &t->arena, &t->summary);
    t->best = mpr_choose(reader);
    if (t->choice.by == MPR_GROUP_AUTO) t->choice = t->best;
    fill_heaps(t, reader, o->levels);
    t->thread = mpr_arena_alloc(&t->arena, r->threads.count * sizeof *t->thread);
    for (; t->threads < r->threads.count; t->threads++)
        t->thread[t->threads] = mpr_label_owner_frame(&t->arena, r, (uint32_t)t->threads);
    t->at_instants.most = t->options.segments;
    if (o->instants)
        t->account = mpr_device_accounts(&t->arena, reader, t->options.from, t->options.to,
                                         o->annotations ? &t->at_instants : NULL, &t->accounts);
    if (o->annotations) fill_page(t, reader, o);
}

void mpr_timeline_reading_free(struct mpr_timeline_reading *o)
{
    mpr_levels_free(o->levels);
    mpr_device_snapshots_free(o->instants);
    mpr_excerpts_free(o->excerpts);
    mpr_annotations_free(o->annotations);
    mpr_large_free(o->large);
    mpr_lanes_free(o->lanes);
    mpr_alloc_free_matrix_free(o->flows);
    free(o);
}

static int read_by(struct mpr_timeline *t, const char *path, const struct mpr_progress *progress,
                   struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, t->choice.by, MPR_INSTANT_PEAK, error) != 0) return -1;
    struct mpr_timeline_reading *reading = mpr_timeline_watch(t, &reader);
    const int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        mpr_timeline_fill(t, reading, &reader, path);
        mpr_reader_close(&reader);
    }
    mpr_timeline_reading_free(reading);
    return status;
}

void mpr_timeline_init(struct mpr_timeline *t, const struct mpr_timeline_options *options)
{
    *t =
        (struct mpr_timeline){ .options = *options, .choice = { .by = options->by, .source = "" } };
}

int mpr_timeline_read(struct mpr_timeline *t, const char *path,
                      const struct mpr_timeline_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    mpr_timeline_init(t, options);
    if (read_by(t, path, progress, error) != 0) return -1;
    if (t->choice.by == MPR_GROUP_RANGE || t->choice.by == options->by) return 0;
    const struct mpr_choice choice = t->choice;
    mpr_timeline_free(t);
    *t = (struct mpr_timeline){ .options = *options, .choice = choice };
    return read_by(t, path, progress, error);
}

void mpr_timeline_free(struct mpr_timeline *t)
{
    mpr_segments_free(&t->segments);
    mpr_segments_free(&t->at_oom);
    mpr_segments_series_free(&t->at_instants);
    mpr_arena_free(&t->arena);
}

/* ---- numbers of ranges, call stacks and frames */

void mpr_numbering_init(struct mpr_numbering *n, struct mpr_arena *arena,
                        const struct mpr_reader *reader)
{
    const struct mpr_replay *r = &reader->replay;
    *n = (struct mpr_numbering){ .arena = arena, .reader = reader, .nodes = 1 };
    n->of_node = mpr_alloc(r->ranges.nodes, sizeof *n->of_node);
    n->of_python = mpr_alloc((size_t)r->ranges.nodes + 1, sizeof *n->of_python);
    n->of_native = mpr_alloc((size_t)r->sites.stacks.nodes + 1, sizeof *n->of_native);
    n->node = mpr_arena_alloc(arena, r->ranges.nodes * sizeof *n->node);
    n->node[0] = (struct mpr_tree_node){ 0, &mpr_frame_none };
    n->of_node[0] = 1;
    MPR_GROW(n->stack, n->stacks, n->stack_cap);
    n->stack[n->stacks++] = (struct mpr_call_stack){ 0 };
}

void mpr_numbering_free(struct mpr_numbering *n)
{
    free(n->of_node);
    free(n->of_native);
    free(n->of_python);
    free(n->stack);
    free(n->frame);
    mpr_index_free(&n->of_frame);
}

/* Walks up to the first ancestor with a number, then down again. */
uint32_t mpr_numbering_node(struct mpr_numbering *n, uint32_t node)
{
    uint32_t path[MPR_PATH_MAX + 1], depth = 0;
    for (; !n->of_node[node]; node = n->reader->replay.ranges.node[node].parent)
        path[depth++] = node;
    while (depth-- > 0) {
        const uint32_t child = path[depth];
        n->node[n->nodes] = (struct mpr_tree_node){ n->of_node[node] - 1,
                                                    mpr_label_frame(n->arena, n->reader, child) };
        n->of_node[child] = (uint32_t)++n->nodes;
        node = child;
    }
    return n->of_node[node] - 1;
}

uint32_t mpr_numbering_frame(struct mpr_numbering *n, const struct mpr_frame *frame)
{
    const uint64_t hash = mpr_hash_text(frame->text);
    MPR_INDEX_EACH(number, &n->of_frame, hash)
        if (mpr_frame_compare(n->frame[number - 1], frame) == 0) return number - 1;
    MPR_GROW(n->frame, n->frames, n->frame_cap);
    n->frame[n->frames] = frame;
    mpr_index_add(&n->of_frame, hash, ++n->frames);
    return n->frames - 1;
}

struct mpr_call_stack mpr_numbering_path(struct mpr_numbering *n, struct mpr_path path)
{
    uint32_t *frame = mpr_arena_alloc(n->arena, path.depth * sizeof *frame);
    for (size_t i = 0; i < path.depth; i++) frame[i] = mpr_numbering_frame(n, path.frame[i]);
    return (struct mpr_call_stack){ frame, path.depth };
}

static uint32_t add_stack(struct mpr_numbering *n, struct mpr_path path)
{
    MPR_GROW(n->stack, n->stacks, n->stack_cap);
    n->stack[n->stacks] = mpr_numbering_path(n, path);
    return n->stacks++;
}

uint32_t mpr_numbering_native(struct mpr_numbering *n, uint32_t node)
{
    if (node && !n->of_native[node])
        n->of_native[node] = add_stack(n, mpr_label_stack(n->arena, n->reader, node));
    return n->of_native[node];
}

uint32_t mpr_numbering_python(struct mpr_numbering *n, uint32_t node)
{
    if (node && !n->of_python[node])
        n->of_python[node] = add_stack(n, mpr_label_node(n->arena, n->reader, node));
    return n->of_python[node];
}

void mpr_numbering_fill(const struct mpr_numbering *n, struct mpr_timeline *out)
{
    struct mpr_call_stack *stack = mpr_arena_alloc(n->arena, n->stacks * sizeof *stack);
    const struct mpr_frame **frame = mpr_arena_alloc(n->arena, n->frames * sizeof *frame);
    memcpy(stack, n->stack, n->stacks * sizeof *stack);
    if (n->frames) memcpy(frame, n->frame, n->frames * sizeof *frame);
    out->node = n->node;
    out->nodes = n->nodes;
    out->stack = stack;
    out->stacks = n->stacks;
    out->frame = frame;
    out->frames = n->frames;
}
