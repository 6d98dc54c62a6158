#include "timeline.h"

#include <stdlib.h>

#include "alloc.h"
#include "excerpts.h"
#include "gpu.h"
#include "heap_lines.h"
#include "instants.h"
#include "labels.h"
#include "lanes.h"
#include "reader.h"
#include "repeats.h"
#include "steps.h"
#include "timeline_parts.h"

/* Changes of a heap that are kept while the log is read; folded to bands they are fewer. */
#define LEVEL_CHANGES ((size_t)3 << 17)

static int by_peak(const void *left, const void *right)
{
    const struct mpr_heap_line *a = left, *b = right;
    if (a->peak_bytes != b->peak_bytes) return a->peak_bytes > b->peak_bytes ? -1 : 1;
    return mpr_heap_by_name(a->heap, b->heap);
}

static void fill_heap(struct mpr_timeline *t, const struct mpr_reader *reader,
                      const struct mpr_levels *levels, uint8_t code, struct mpr_heap_line *out)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_heap *heap = &r->books.heap[code];
    *out = (struct mpr_heap_line){
        .heap = code,
        .peak_bytes = heap->peak_bytes,
        .peak_time = heap->peak_time,
        .peak_blocks = heap->peak_blocks,
        .end_bytes = heap->bytes,
        .end_blocks = heap->blocks,
        .allocations = heap->allocations,
        .frees = heap->frees,
        .failures = heap->failures,
        .inside = mpr_heap_around(code),
        .is_about = mpr_label_is_about(r, code),
    };
    if (t->options.by == MPR_GROUP_ALL) out->lines = mpr_heap_lines_make(t, reader, code);
    mpr_bands_fill(t, reader, levels, code, out);
}

static void fill_heaps(struct mpr_timeline *t, const struct mpr_reader *reader,
                       const struct mpr_levels *levels)
{
    const struct mpr_replay *r = &reader->replay;
    size_t used = 0;
    for (int i = 0; i < MPR_HEAPS; i++) used += r->books.heap[i].used;
    t->heap = mpr_arena_alloc(&t->arena, used * sizeof *t->heap);
    for (int i = 0; i < MPR_HEAPS; i++)
        if (r->books.heap[i].used && (!t->options.heap || i == t->options.heap))
            fill_heap(t, reader, levels, (uint8_t)i, &t->heap[t->heaps++]);
    qsort(t->heap, t->heaps, sizeof *t->heap, by_peak);
}

/* ---- what only the page shows */

/* What is only counted has the class of blocks of 0 bytes, which hold nothing. */
static void fill_sizes(struct mpr_timeline *t, const struct mpr_replay *r)
{
    enum { CLASSES = 66 };
    t->size_name = mpr_arena_alloc(&t->arena, CLASSES * sizeof *t->size_name);
    for (; t->sizes < CLASSES; t->sizes++)
        t->size_name[t->sizes] = mpr_label_size(&t->arena, (uint32_t)t->sizes);
    if (r->totals.told) t->size_name[0] = mpr_arena_text(&t->arena, r->options.rest_name);
}

/* What looks on while the log is read; what is only the page's is NULL for other reports. */
struct observers {
    struct mpr_levels *levels;
    struct mpr_instants *instants;
    struct mpr_excerpts *excerpts;
    struct mpr_annotations *annotations;
    struct mpr_large *large;
    struct mpr_lanes *lanes;
    struct mpr_flows *flows;
};

static void fill_libraries(struct mpr_timeline *t, const struct mpr_replay *r)
{
    const size_t count = (size_t)r->sites.libraries + 1;
    t->library = mpr_arena_alloc(&t->arena, count * sizeof *t->library);
    for (; t->libraries < count; t->libraries++)
        t->library[t->libraries] =
            t->libraries ? mpr_label_library_frame(&t->arena, r, (uint32_t)t->libraries)
                         : &mpr_frame_none;
}

static void fill_captures(struct mpr_timeline *t, const struct mpr_gpu *g)
{
    t->held_until = mpr_arena_alloc(&t->arena, g->captures * sizeof *t->held_until);
    for (uint32_t i = 1; i <= g->captures; i++)
        t->held_until[t->captures++] = mpr_graph_until(g, i);
}

static void fill_oom(struct mpr_timeline *t, struct mpr_tree *tree, const struct mpr_gpu *g)
{
    const struct mpr_oom *oom = mpr_oom_newest(g);
    if (!oom) return;
    t->oom = (struct mpr_timeline_oom){ .told = true,
                                        .device = mpf_heap_device(oom->heap),
                                        .time = oom->time,
                                        .bytes = oom->bytes,
                                        .needed = mpr_oom_needed(oom),
                                        .free = oom->free,
                                        .node = mpr_tree_number(tree, oom->node ? oom->node
                                                                                : oom->python) };
}

static void fill_repeat(struct mpr_timeline *t, const struct mpr_repeats *s)
{
    const uint32_t outermost = mpr_repeats_outermost(s);
    const struct mpr_repeat *repeat = &s->repeat[outermost];
    t->compared = mpr_repeats_outermost_name_with(s, &t->arena, MPR_STEPS_LEAST);
    if (!outermost) return;
    t->repeat = (struct mpr_timeline_repeat){ .name = mpr_repeats_name(s, &t->arena, outermost),
                                              .instances = repeat->instances,
                                              .from = repeat->first_ns,
                                              .to = repeat->last_ns };
}

static void fill_page(struct mpr_timeline *t, const struct mpr_reader *reader,
                      const struct observers *o)
{
    const struct mpr_replay *r = &reader->replay;
    struct mpr_tree tree;
    struct mpr_callers callers;
    mpr_tree_init(&tree, &t->arena, reader);
    mpr_callers_init(&callers, &t->arena, reader);
    for (size_t i = 0; i < t->heaps; i++) {
        struct mpr_heap_line *h = &t->heap[i];
        mpr_holders_fill(t, &tree, &callers, h);
        mpr_lifetimes_fill(t, &tree, &callers, o->large, h->heap, h);
        for (size_t k = 0; k < h->bands; k++) {
            h->band[k].node = mpr_tree_number(&tree, h->band[k].node);
            h->band[k].python = mpr_callers_python(&callers, h->band[k].python);
            h->band[k].native = mpr_callers_native(&callers, h->band[k].native);
        }
    }
    for (size_t i = 0; i < t->heaps; i++)
        mpr_heap_lines_fill(t->heap[i].lines, &tree, &callers, &t->heap[i]);
    mpr_annotations_fill(o->annotations, &tree, reader, t);
    mpr_lanes_fill(o->lanes, &tree, t);
    fill_oom(t, &tree, &r->gpu);
    fill_repeat(t, reader->repeats);
    mpr_callers_fill(&callers, t);
    mpr_segments_fill(&t->segments, reader);
    mpr_segments_fill_oom(&t->at_oom, reader);
    t->node = tree.node;
    t->nodes = tree.nodes;
    mpr_tree_free(&tree);
    mpr_callers_free(&callers);
    fill_sizes(t, r);
    fill_libraries(t, r);
    fill_captures(t, &r->gpu);
}

static void fill_threads(struct mpr_timeline *t, const struct mpr_replay *r)
{
    t->threads = r->threads.count;
    t->thread = mpr_arena_alloc(&t->arena, t->threads * sizeof *t->thread);
    for (uint32_t i = 0; i < t->threads; i++) t->thread[i] = mpr_label_maker_frame(&t->arena, r, i);
}

static void choose(struct mpr_timeline *t, const struct mpr_reader *reader)
{
    t->best = mpr_choose(reader);
    if (t->choice.by == MPR_GROUP_AUTO) t->choice = t->best;
}

static int read_log(struct mpr_timeline *t, struct mpr_reader *reader, const struct observers *o,
                    const char *path, const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_replay *r = &reader->replay;
    r->books.levels = o->levels;
    r->books.excerpts = o->excerpts;
    r->gpu.instants = o->instants;
    r->large = o->large;
    r->flows = o->flows;
    if (o->annotations) {
        r->watch = (struct mpr_watch){ mpr_annotations_see, o->annotations };
        reader->repeats = mpr_repeats_new();
        mpr_repeats_watch(reader->repeats, r);
        mpr_lanes_watch(o->lanes, reader->repeats, r);
    }
    if (mpr_reader_replay(reader, path, progress, error) != 0) return -1;
    mpr_levels_finish(o->levels, &r->books);
    if (o->excerpts) mpr_excerpts_finish(o->excerpts, &r->books);
    if (o->lanes) mpr_lanes_end(o->lanes, r);
    if (o->flows) mpr_flows_end(o->flows);
    if (o->instants) mpr_instants_end(o->instants, r);
    mpr_reader_summary(reader, path, &t->arena, &t->summary);
    choose(t, reader);
    t->sampled = r->options.sample_mean != 0 || mpr_replay_samples_host(r);
    fill_heaps(t, reader, o->levels);
    fill_threads(t, r);
    t->then.most = t->options.segments;
    if (o->instants)
        t->account = mpr_accounts_make(&t->arena, reader, t->options.from, t->options.to,
                                       o->annotations ? &t->then : NULL, &t->accounts);
    if (o->annotations) fill_page(t, reader, o);
    mpr_reader_close(reader);
    return 0;
}

static struct observers make_observers(const struct mpr_timeline_options *options,
                                       const struct mpr_replay *r)
{
    const struct mpr_levels_options wanted = { options->from, options->to, options->buckets,
                                               LEVEL_CHANGES };
    struct observers o = { .levels = mpr_levels_new(&wanted, &r->now) };
    if (!options->heap && options->instants)
        o.instants = mpr_instants_new(options->instants, options->from, options->to);
    if (options->by != MPR_GROUP_ALL) return o;
    o.annotations = mpr_annotations_new();
    o.lanes = mpr_lanes_new(options->boxes);
    o.large = mpr_large_new(&r->books);
    o.flows = mpr_flows_new();
    o.excerpts = mpr_excerpts_new(options->exact, &r->now);
    return o;
}

static void free_observers(struct observers *o)
{
    mpr_levels_free(o->levels);
    mpr_instants_free(o->instants);
    mpr_excerpts_free(o->excerpts);
    mpr_annotations_free(o->annotations);
    mpr_large_free(o->large);
    mpr_lanes_free(o->lanes);
    mpr_flows_free(o->flows);
}

/* Reads the log by t->choice.by. */
static int read_by(struct mpr_timeline *t, const char *path, const struct mpr_progress *progress,
                   struct mpr_error *error)
{
    struct mpr_reader reader = { 0 }; /* the observers know where it will be */
    struct observers observers = make_observers(&t->options, &reader.replay);
    int status = mpr_reader_open(&reader, path, t->choice.by, MPR_INSTANT_PEAK, error);
    if (status == 0) reader.replay.options.backward_of = t->options.backward_of;
    if (status == 0) status = read_log(t, &reader, &observers, path, progress, error);
    free_observers(&observers);
    if (status != 0) mpr_timeline_free(t);
    return status;
}

int mpr_timeline_read(struct mpr_timeline *t, const char *path,
                      const struct mpr_timeline_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    *t =
        (struct mpr_timeline){ .options = *options, .choice = { .by = options->by, .source = "" } };
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
    mpr_segments_kept_free(&t->then);
    mpr_arena_free(&t->arena);
}
