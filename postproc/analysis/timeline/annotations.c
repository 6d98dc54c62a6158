#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "bisect.h"
#include "graphs.h"
#include "labels.h"
#include "mpf/gpu.h"
#include "timeline_parts.h"

/* More marks or instances than this are counted and left out; a track that has more points joins
 * each two. */
enum { MARKS = 4096, INSTANCES = 20000, OF_A_PATH = 4096, OF_A_DEEP_PATH = 256, POINTS = 4096 };

/* Nodes of marks and instances are those of replay until the result is filled. */
struct mark {
    struct mpr_mark mark;
    uint32_t name, domain; /* give its text if that is NULL: texts may be recorded later */
};

struct instance {
    uint64_t push;
    struct mpr_range_instance instance;
};

struct track {
    struct mpr_track_point point[POINTS];
    size_t points, stride, waiting;
    uint64_t limit;
};

struct mpr_annotations {
    struct mark mark[MARKS];
    size_t marks;
    uint64_t marks_left_out;
    struct instance *instance; /* in the order of their pushes */
    size_t instances;
    uint32_t *of_path; /* by node: its instances */
    uint32_t paths;
    struct track *track[MPR_TRACKS];
};

void mpr_annotations_free(struct mpr_annotations *a)
{
    if (!a) return;
    for (int i = 0; i < MPR_TRACKS; i++) free(a->track[i]);
    free(a->instance);
    free(a->of_path);
    free(a);
}

static uint64_t value_of(const struct mpf_event *e, unsigned index)
{
    uint64_t value = MPF_UNKNOWN;
    if ((index + 1) * sizeof value <= e->size)
        memcpy(&value, e->data + index * sizeof value, sizeof value);
    return value;
}

/* ---- marks */

/* Returns the new mark, or NULL if all places are taken. */
static struct mark *add_mark(struct mpr_annotations *a, const struct mpr_thread *t,
                             const struct mpf_event *e, enum mpr_mark_kind kind, uint64_t bytes)
{
    if (a->marks == MARKS) {
        a->marks_left_out++;
        return NULL;
    }
    a->mark[a->marks].mark = (struct mpr_mark){ .kind = kind,
                                                .time = e->time,
                                                .bytes = bytes,
                                                .free_bytes = MPF_UNKNOWN,
                                                .node = t->node,
                                                .thread = t->number,
                                                .heap = e->heap,
                                                .text = kind == MPR_MARK_NVTX ? NULL : "" };
    return &a->mark[a->marks++];
}

/* Keeps every change around the event. */
static void keep_excerpt(const struct mpr_replay *r, const struct mpf_event *e,
                         enum mpr_excerpt_kind kind)
{
    if (r->accounts.excerpts) mpr_excerpts_mark(r->accounts.excerpts, &r->accounts, e->heap, kind);
}

/* @free: index of the value with the device's free bytes. */
static void see_refusal(struct mpr_annotations *a, const struct mpr_replay *r,
                        const struct mpr_thread *t, const struct mpf_event *e,
                        enum mpr_mark_kind kind, unsigned free)
{
    keep_excerpt(r, e, MPR_EXCERPT_FAILURE);
    struct mark *mark = add_mark(a, t, e, kind, e->addr);
    if (mark) mark->mark.free_bytes = value_of(e, free);
}

/* ---- instances of ranges */

static void see_push(struct mpr_annotations *a, const struct mpr_replay *r,
                     const struct mpr_thread *t, const struct mpf_event *e)
{
    MPR_REACH(a->of_path, t->node, a->paths);
    const uint32_t limit = r->ranges.node[t->node].depth == 1 ? OF_A_PATH : OF_A_DEEP_PATH;
    if (a->of_path[t->node] >= limit || a->instances >= INSTANCES) return;
    a->of_path[t->node]++;
    a->instance[a->instances++] =
        (struct instance){ r->count[MPF_OP_PUSH], { e->time, UINT64_MAX, t->node, t->number } };
}

static void see_pop(struct mpr_annotations *a, const struct mpr_thread *t,
                    const struct mpf_event *e)
{
    const size_t low = MPR_COUNT_FIRST(i, a->instances, a->instance[i].push < t->popped);
    if (t->popped && low < a->instances && a->instance[low].push == t->popped)
        a->instance[low].instance.to = e->time;
}

/* ---- tracks */

/* The largest of each `stride` samples is a point. */
static void add_point(struct mpr_annotations *a, uint64_t index, uint64_t time, uint64_t value,
                      uint64_t limit)
{
    if (index >= MPR_TRACKS || value == MPF_UNKNOWN) return;
    if (!a->track[index]) {
        a->track[index] = mpr_alloc(1, sizeof *a->track[index]);
        a->track[index]->stride = a->track[index]->waiting = 1;
    }
    struct track *t = a->track[index];
    if (limit != MPF_UNKNOWN) t->limit = limit;
    if (t->waiting < t->stride) {
        t->waiting++;
        if (value <= t->point[t->points - 1].value) return;
        t->points--;
    } else {
        t->waiting = 1;
        if (t->points == POINTS) { /* joins each two points to the larger one */
            for (size_t i = 0; i < POINTS / 2; i++)
                t->point[i] = t->point[2 * i + (t->point[2 * i].value < t->point[2 * i + 1].value)];
            t->points = POINTS / 2;
            t->stride *= 2;
        }
    }
    t->point[t->points++] = (struct mpr_track_point){ time, value };
}

static void see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    struct mpr_annotations *a = arg;
    struct mark *mark;
    uint64_t resident = 0;
    switch (e->op) {
    case MPF_OP_PUSH: see_push(a, r, t, e); break;
    case MPF_OP_POP: see_pop(a, t, e); break;
    case MPF_OP_MARK:
        mark = add_mark(a, t, e, MPR_MARK_NVTX, 0);
        if (!mark) break;
        mark->name = (uint32_t)e->addr;
        mark->domain = (uint32_t)(e->addr >> 32);
        break;
    case MPF_OP_WINDOW: /* at most half of the room, so that there is some for failures */
        if (a->marks >= MARKS / 2) a->marks_left_out++;
        else
            add_mark(a, t, e, MPR_MARK_NVTX, 0)->mark.text =
                e->addr ? "(capture window opens)" : "(capture window closes)";
        break;
    case MPF_OP_FAIL:
        if (e->addr & MPF_FAIL_HUGE_PAGES) break;
        keep_excerpt(r, e, MPR_EXCERPT_FAILURE);
        add_mark(a, t, e, MPR_MARK_FAILED, mpf_fail_bytes(e->addr, e->size));
        break;
    case MPF_OP_GPU_FAIL:
        if (value_of(e, MPF_FAIL_RESULT) == 2 && value_of(e, MPF_FAIL_PROBE) != 1)
            see_refusal(a, r, t, e, MPR_MARK_REFUSED, MPF_FAIL_FREE); /* out of memory */
        break;
    case MPF_OP_TORCH_OOM: see_refusal(a, r, t, e, MPR_MARK_OOM, MPF_TORCH_FREE); break;
    case MPF_OP_GPU_RETURN: /* the mark is made at the end, when the cost of the graph is known */
        if (value_of(e, MPF_RETURN_CALL) == MPF_CALL_GRAPH && value_of(e, MPF_RETURN_RESULT) == 0)
            keep_excerpt(r, e, MPR_EXCERPT_GRAPH);
        break;
    case MPF_OP_SAMPLE_RSS:
        for (unsigned i = MPF_RSS_ANON; i <= MPF_RSS_SHMEM; i++)
            if (value_of(e, i) != MPF_UNKNOWN) resident += value_of(e, i);
        add_point(a, MPR_TRACK_RSS, e->time, resident, MPF_UNKNOWN);
        break;
    case MPF_OP_SAMPLE_CGROUP:
        add_point(a, MPR_TRACK_CGROUP, e->time, value_of(e, MPF_CGROUP_USAGE),
                  value_of(e, MPF_CGROUP_LIMIT));
        break;
    case MPF_OP_SAMPLE_GPU:
        if (e->addr >= MPF_GPUS) break;
        add_point(a, MPR_TRACK_GPU + e->addr, e->time, value_of(e, MPF_GPU_USED),
                  value_of(e, MPF_GPU_TOTAL));
        break;
    default: break;
    }
}

struct mpr_annotations *mpr_annotations_watch(struct mpr_replay *r)
{
    struct mpr_annotations *a = mpr_alloc(1, sizeof *a);
    a->instance = mpr_alloc(INSTANCES, sizeof *a->instance);
    mpr_watch_begin(r, (struct mpr_watch){ see, a });
    return a;
}

/* ---- the result */

/* Adds marks of graphs, in order of time. */
static void fill_marks(const struct mpr_annotations *a, struct mpr_numbering *n,
                       struct mpr_timeline *out)
{
    struct mpr_graphs graphs = { .rows = 0 };
    mpr_graphs_fill(&graphs, n->reader);
    const size_t shown = graphs.rows < MARKS ? graphs.rows : MARKS;
    out->mark = mpr_arena_alloc(&out->arena, (a->marks + shown) * sizeof *out->mark);
    for (size_t i = 0, k = 0; i < a->marks || k < shown;) {
        struct mpr_mark *to = &out->mark[out->marks++];
        const struct mpr_graph_row *row = &graphs.row[k];
        const struct mark *m = &a->mark[i];
        if (i == a->marks || (k < shown && row->time < m->mark.time)) {
            k++;
            *to = (struct mpr_mark){
                .kind = MPR_MARK_GRAPH,
                .time = row->time,
                .free_bytes = MPF_UNKNOWN,
                .node = mpr_numbering_node(n, row->node),
                .thread = row->maker,
                .heap = mpf_heap_gpu(MPF_HEAP_DEVICE, row->device),
                .text = "",
                .graph = { row->instantiated, row->nodes, row->bytes.segments,
                           row->bytes.executable, row->bytes.launch, row->bytes.all },
            };
            continue;
        }
        i++;
        *to = m->mark;
        to->node = mpr_numbering_node(n, to->node);
        if (!to->text) to->text = mpr_label_name(n->arena, &n->reader->replay, m->name, m->domain);
    }
    out->marks_left_out = a->marks_left_out + graphs.rows - shown;
    mpr_graphs_free(&graphs);
}

void mpr_annotations_fill(const struct mpr_annotations *a, struct mpr_numbering *n,
                          struct mpr_timeline *out)
{
    fill_marks(a, n, out);
    out->instance = mpr_arena_alloc(&out->arena, a->instances * sizeof *out->instance);
    for (; out->instances < a->instances; out->instances++) {
        struct mpr_range_instance *i = &out->instance[out->instances];
        *i = a->instance[out->instances].instance;
        i->node = mpr_numbering_node(n, i->node);
        if (i->to == UINT64_MAX) i->to = n->reader->replay.now;
    }
    for (unsigned i = 0; i < MPR_TRACKS; i++) {
        const struct track *t = a->track[i];
        if (!t) continue;
        const size_t bytes = t->points * sizeof *t->point;
        out->track[i] =
            (struct mpr_track_line){ memcpy(mpr_arena_alloc(&out->arena, bytes), t->point, bytes),
                                     t->points, t->limit };
    }
}
