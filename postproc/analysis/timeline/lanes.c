#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "range_heaps.h"
#include "repeats.h"
#include "timeline_parts.h"

#define NONE UINT64_MAX /* a range without a box */

struct box {
    uint64_t from, to, count; /* to: UINT64_MAX while it is open */
    uint64_t number;          /* number of the first instance */
    uint32_t node, thread, depth, repeat;
    bool mixed; /* it has ranges of different names */
};

/* The newest box in each lane of a thread: its number + 1, or 0. */
struct newest {
    size_t box[MPR_LANES_DEPTH + 1];
};

struct mpr_lanes {
    struct mpr_follow follow;
    struct mpr_repeats *repeats;
    struct mpr_heap_rises rises;
    struct mpr_range_heaps heaps; /* by box */
    struct box *box;              /* in the order of their begin */
    size_t boxes, limit;
    uint64_t shortest; /* ns: shorter boxes are joined, if not 0 */
    uint64_t left_out;
    size_t pause;          /* how many ranges begin before make_room looks again */
    struct newest *newest; /* by thread; while boxes are joined */
    uint32_t threads;
};

/* ---- fewer boxes */

static bool is_short(const struct mpr_lanes *l, const struct box *b)
{
    return b->to != UINT64_MAX && b->to - b->from < l->shortest;
}

static bool is_inside(const struct mpr_lanes *l, const struct newest *of, const struct box *b)
{
    for (uint32_t depth = 1; depth < b->depth; depth++) {
        const struct box *outer = of->box[depth] ? &l->box[of->box[depth] - 1] : NULL;
        if (outer && is_short(l, outer) && outer->to > b->from) return true;
    }
    return false;
}

/* Returns the previous box of the lane if it can be joined with @b, otherwise NULL. Both must be
 * short, and inside the same range. */
static struct box *neighbour(const struct mpr_lanes *l, const struct newest *of,
                             const struct box *b)
{
    const size_t previous = of->box[b->depth], outer = of->box[b->depth - 1];
    struct box *a = previous ? &l->box[previous - 1] : NULL;
    if (!a || !is_short(l, a) || !is_short(l, b) || b->to - a->from >= l->shortest) return NULL;
    return outer > previous ? NULL : a; /* the outer range began after the previous box */
}

/* Joins boxes that are shorter than `shortest`. */
static void join(struct mpr_lanes *l)
{
    size_t kept = 0;
    if (l->threads) memset(l->newest, 0, l->threads * sizeof *l->newest);
    for (size_t i = 0; i < l->boxes; i++) {
        const struct box b = l->box[i];
        MPR_REACH(l->newest, b.thread, l->threads);
        struct newest *of = &l->newest[b.thread];
        struct box *a = neighbour(l, of, &b);
        if (is_inside(l, of, &b)) continue;
        if (a) {
            const size_t at = (size_t)(a - l->box);
            if (b.to > a->to) a->to = b.to;
            a->count += b.count;
            a->mixed |= b.mixed || a->repeat != b.repeat;
            mpr_range_heaps_join(&l->heaps, at, at, i);
            continue;
        }
        l->box[kept] = b;
        mpr_range_heaps_move(&l->heaps, kept, i);
        for (size_t k = 0; b.to == UINT64_MAX && k < l->follow.count; k++)
            if (l->follow.open[k].number == i) l->follow.open[k].number = kept;
        of->box[b.depth] = ++kept;
    }
    l->boxes = kept;
}

/* Joins boxes until half of the limit is left. That may be impossible: each thread keeps one
 * box, and each open range about two. Then a quarter of the remaining room is kept as well.
 * Because each call looks at all boxes, there is a pause after a call that did not help much. */
static void make_room(struct mpr_lanes *l)
{
    static const struct newest none;
    const size_t little = l->limit / 16;
    if (l->pause && l->pause--) return;
    join(l); /* the new ones */
    size_t keep = 2 * l->follow.count;
    for (uint32_t i = 0; i < l->threads; i++)
        keep += memcmp(&l->newest[i], &none, sizeof none) != 0;
    if (keep > l->limit) keep = l->limit;
    keep += (l->limit - keep) / 4;
    if (keep < l->limit / 2) keep = l->limit / 2;
    while (l->boxes > keep && l->shortest < UINT64_MAX / 2) {
        l->shortest = l->shortest ? 2 * l->shortest : 1000;
        join(l);
    }
    if (l->limit - l->boxes < little) l->pause = little;
}

/* ---- events */

static uint32_t number_of(void *ranges, const struct mpr_replay *r, uint32_t node)
{
    (void)ranges;
    return r->ranges.node[node].depth <= MPR_LANES_DEPTH ? node : 0;
}

static void before_event(void *arg, const struct mpr_replay *r)
{
    struct mpr_lanes *l = arg;
    mpr_heap_rises_take(&l->rises, r);
    for (size_t i = 0; i < l->follow.count; i++)
        if (l->follow.open[i].number != NONE)
            mpr_range_heaps_rise(&l->heaps, (size_t)l->follow.open[i].number, 0);
}

static void on_begin(void *arg, const struct mpr_replay *r, struct mpr_followed *f)
{
    struct mpr_lanes *l = arg;
    f->number = NONE;
    if (l->boxes == l->limit) make_room(l);
    if (l->boxes == l->limit || mpr_follow_is_full(&l->follow)) {
        l->left_out++;
        return;
    }
    const uint32_t repeat = mpr_repeats_of(l->repeats, r, f->node); /* which sees the event later */
    f->number = l->boxes;
    mpr_range_heaps_begin(&l->heaps, r, l->boxes, 0, true);
    l->box[l->boxes++] = (struct box){ .from = f->begin_ns,
                                       .to = UINT64_MAX,
                                       .count = 1,
                                       .number = l->repeats->repeat[repeat].instances + 1,
                                       .repeat = repeat,
                                       .node = f->node,
                                       .thread = f->thread,
                                       .depth = r->ranges.node[f->node].depth };
}

static void on_end(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended)
{
    struct mpr_lanes *l = arg;
    (void)ended;
    if (f->number == NONE) return;
    l->box[f->number].to = r->now;
    mpr_range_heaps_end(&l->heaps, r, (size_t)f->number);
}

void mpr_lanes_free(struct mpr_lanes *l)
{
    if (!l) return;
    mpr_range_heaps_free(&l->heaps);
    free(l->newest);
    free(l->box);
    free(l);
}

struct mpr_lanes *mpr_lanes_watch(size_t limit, struct mpr_repeats *repeats, struct mpr_replay *r)
{
    struct mpr_lanes *l = mpr_alloc(1, sizeof *l);
    *l = (struct mpr_lanes){ .limit = limit,
                             .box = mpr_alloc(limit, sizeof *l->box),
                             .repeats = repeats,
                             .heaps.rises = &l->rises,
                             .follow = { .number_of = number_of,
                                         .before_event = before_event,
                                         .on_begin = on_begin,
                                         .on_end = on_end,
                                         .arg = l } };
    mpr_heap_rises_watch(&l->rises, r);
    mpr_follow_begin(&l->follow, r);
    return l;
}

void mpr_lanes_end(struct mpr_lanes *l, const struct mpr_replay *r)
{
    mpr_follow_end(&l->follow, r);
    if (l->shortest) join(l);
}

/* ---- the result */

void mpr_lanes_fill(const struct mpr_lanes *l, struct mpr_numbering *n, struct mpr_timeline *out)
{
    const struct mpr_replay *r = &n->reader->replay;
    const uint32_t outermost = mpr_repeats_outermost(l->repeats);
    out->box = mpr_arena_alloc(&out->arena, l->boxes * sizeof *out->box);
    for (; out->boxes < l->boxes; out->boxes++) {
        const struct box *b = &l->box[out->boxes];
        /* a number is useless if the name has a number, or if there is only one instance */
        const bool numbered = l->repeats->repeat[b->repeat].instances >= 2 &&
                              !mpr_repeats_numbered(l->repeats, r, b->node);
        out->box[out->boxes] = (struct mpr_lane_box){ .from = b->from,
                                                      .to = b->to,
                                                      .count = b->count,
                                                      .number = numbered ? b->number : 0,
                                                      .node = mpr_numbering_node(n, b->node),
                                                      .thread = b->thread,
                                                      .outer = b->repeat == outermost,
                                                      .mixed = b->mixed };
    }
    out->boxes_shortest = l->shortest;
    out->boxes_left_out = l->left_out;
    for (size_t i = 0; i < out->heaps; i++)
        out->heap[i].box =
            mpr_range_heaps_copy(&l->heaps, &out->arena, out->heap[i].heap, l->boxes);
}
