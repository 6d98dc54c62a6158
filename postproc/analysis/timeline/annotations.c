#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "bisect.h"
#include "graphs.h"
#include "labels.h"
#include "mpf/gpu.h"
#include "timeline_parts.h"

/* If there are more marks or instances than this, the others are only counted. If a track has
 * more points, each two neighbours become one. */
enum {
    MARKS = 4096,
    INSTANCES = 20000,
    PATH_INSTANCES = 4096,
    DEEP_PATH_INSTANCES = 256,
    POINTS = 4096
};

/* Nodes of marks and instances are those of replay until the result is filled. */
struct mark {
    struct mpr_mark mark;
    uint32_t name, domain; /* give the text if that is NULL, at the end, because names may be
                              recorded later than marks */
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
    uint32_t *instances_of; /* by node: its instances */
    uint32_t nodes;
    struct track *track[MPR_TRACKS];
};

void mpr_annotations_free(struct mpr_annotations *a)
{
    if (!a) return;
    for (int i = 0; i < MPR_TRACKS; i++) free(a->track[i]);
    free(a->instance);
    free(a->instances_of);
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

/* Returns the new mark, or NULL if there are MARKS already. */
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

/* Keeps every change of the heap around the event. */
static void keep_excerpt(const struct mpr_replay *r, const struct mpf_event *e,
                         enum mpr_excerpt_kind kind)
{
    if (r->accounts.excerpts) mpr_excerpts_mark(r->accounts.excerpts, &r->accounts, e->heap, kind);
}

/* Adds a mark of a failed allocation. @free: index of the value that has the device's free
 * bytes. */
static void add_refusal(struct mpr_annotations *a, const struct mpr_replay *r,
                        const struct mpr_thread *t, const struct mpf_event *e,
                        enum mpr_mark_kind kind, unsigned free)
{
    keep_excerpt(r, e, MPR_EXCERPT_FAILURE);
    struct mark *mark = add_mark(a, t, e, kind, e->addr);
    if (mark) mark->mark.free_bytes = value_of(e, free);
}

/* ---- instances of ranges */

static void on_push(struct mpr_annotations *a, const struct mpr_replay *r,
                    const struct mpr_thread *t, const struct mpf_event *e)
{
    MPR_REACH(a->instances_of, t->node, a->nodes);
    const uint32_t limit =
        r->ranges.node[t->node].depth == 1 ? PATH_INSTANCES : DEEP_PATH_INSTANCES;
    if (a->instances_of[t->node] >= limit || a->instances >= INSTANCES) return;
    a->instances_of[t->node]++;
    a->instance[a->instances++] =
        (struct instance){ r->count[MPF_OP_PUSH], { e->time, UINT64_MAX, t->node, t->number } };
}

static void on_pop(struct mpr_annotations *a, const struct mpr_thread *t, const struct mpf_event *e)
{
    const size_t low = MPR_COUNT_FIRST(i, a->instances, a->instance[i].push < t->popped);
    if (t->popped && low < a->instances && a->instance[low].push == t->popped)
        a->instance[low].instance.to = e->time;
}

/* ---- tracks */

/* Each `stride` consecutive samples become one point, which is the largest of them. */
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
        if (t->points == POINTS) { /* each two points become the larger one */
            for (size_t i = 0; i < POINTS / 2; i++)
                t->point[i] = t->point[2 * i + (t->point[2 * i].value < t->point[2 * i + 1].value)];
            t->points = POINTS / 2;
            t->stride *= 2;
        }
    }
    t->point[t->points++] = (struct mpr_track_point){ time, value };
}

static void on_event(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    struct mpr_annotations *a = arg;
    struct mark *mark;
    uint64_t resident = 0;
    switch (e->op) {
    case MPF_OP_PUSH: on_push(a, r, t, e); break;
    case MPF_OP_POP: on_pop(a, t, e); break;
    case MPF_OP_MARK:
        mark = add_mark(a, t, e, MPR_MARK_NVTX, 0);
        if (!mark) break;
        mark->name = (uint32_t)e->addr;
        mark->domain = (uint32_t)(e->addr >> 32);
        break;
    case MPF_OP_WINDOW: /* at most half of the marks, so that there is room for failures */
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
            add_refusal(a, r, t, e, MPR_MARK_REFUSED, MPF_FAIL_FREE); /* out of memory */
        break;
    case MPF_OP_TORCH_OOM: add_refusal(a, r, t, e, MPR_MARK_OOM, MPF_TORCH_FREE); break;
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
    mpr_watch_begin(r, (struct mpr_watch){ on_event, a });
    return a;
}

/* ---- the result */

/* Fills the marks, and adds those of graphs, in order of time. */
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
                .thread = row->owner_thread,
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
