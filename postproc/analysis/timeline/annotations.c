#include "timeline_parts.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "excerpts.h"
#include "graphs.h"
#include "labels.h"
#include "mpf/gpu.h"

/* More marks or instances than this are counted and left out; a track that has more points joins
 * each two. */
enum { MARKS = 4096, INSTANCES = 20000, OF_A_PATH = 4096, OF_A_DEEP_PATH = 256, POINTS = 4096 };

struct mark {
    enum mpr_mark_kind kind;
    uint64_t time, bytes, free;
    uint32_t node, thread, name, domain;
    uint8_t heap;
    const char *said; /* the text, where it is no name of the program's; else NULL */
};
struct instance {
    uint64_t push, from, to;
    uint32_t node, thread;
};

struct track {
    uint64_t time[POINTS], value[POINTS];
    size_t points, stride, waiting;
    uint64_t limit;
};

struct mpr_annotations {
    struct mark mark[MARKS];
    size_t marks;
    uint64_t marks_left_out;
    struct instance *instance;
    size_t instances;
    uint32_t *of_path; /* instances kept, by node */
    uint32_t paths;
    struct track *track[MPR_TRACKS];
};

struct mpr_annotations *mpr_annotations_new(void)
{
    struct mpr_annotations *h = mpr_alloc(1, sizeof *h);
    h->instance = mpr_alloc(INSTANCES, sizeof *h->instance);
    return h;
}

void mpr_annotations_free(struct mpr_annotations *h)
{
    if (!h) return;
    for (int i = 0; i < MPR_TRACKS; i++) free(h->track[i]);
    free(h->instance);
    free(h->of_path);
    free(h);
}

static uint64_t value_of(const struct mpf_event *e, unsigned index)
{
    uint64_t value = MPF_UNKNOWN;
    if ((index + 1) * sizeof value <= e->size)
        memcpy(&value, e->data + index * sizeof value, sizeof value);
    return value;
}

/* ---- marks */

/* What deserves an excerpt of every change. */
static void exact(const struct mpr_replay *r, const struct mpf_event *e, enum mpr_excerpt_kind kind)
{
    if (r->books.excerpts) mpr_excerpts_mark(r->books.excerpts, &r->books, e->heap, kind);
}

static void add_mark(struct mpr_annotations *h, const struct mpr_thread *t,
                     const struct mpf_event *e, enum mpr_mark_kind kind, uint64_t bytes)
{
    if (h->marks == MARKS) {
        h->marks_left_out++;
        return;
    }
    h->mark[h->marks++] = (struct mark){ .kind = kind,
                                         .time = e->time,
                                         .bytes = bytes,
                                         .node = t->node,
                                         .thread = t->number,
                                         .heap = e->heap,
                                         .free = MPF_UNKNOWN };
}

static void see_mark(struct mpr_annotations *h, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    const size_t before = h->marks;
    add_mark(h, t, e, MPR_MARK_NVTX, 0);
    if (h->marks == before) return;
    h->mark[before].name = (uint32_t)e->addr;
    h->mark[before].domain = (uint32_t)(e->addr >> 32);
}

static void see_window(struct mpr_annotations *h, const struct mpr_thread *t,
                       const struct mpf_event *e)
{
    const size_t before = h->marks;
    if (before >= MARKS / 2) { /* the rest is for failures */
        h->marks_left_out++;
        return;
    }
    add_mark(h, t, e, MPR_MARK_NVTX, 0);
    h->mark[before].said = e->addr ? "(capture window opens)" : "(capture window closes)";
}

/* What a graph cost is known at the end: its mark is made then. */
static void see_return(const struct mpr_replay *r, const struct mpf_event *e)
{
    if (value_of(e, MPF_RETURN_CALL) == MPF_CALL_GRAPH && value_of(e, MPF_RETURN_RESULT) == 0)
        exact(r, e, MPR_EXCERPT_GRAPH);
}

static void add_failure(struct mpr_annotations *h, const struct mpr_replay *r,
                        const struct mpr_thread *t, const struct mpf_event *e)
{
    if (e->addr & MPF_FAIL_HUGE_PAGES) return;
    exact(r, e, MPR_EXCERPT_FAILURE);
    add_mark(h, t, e, MPR_MARK_FAILED, mpf_fail_bytes(e->addr, e->size));
}

static void add_refusal(struct mpr_annotations *h, const struct mpr_replay *r,
                        const struct mpr_thread *t, const struct mpf_event *e,
                        enum mpr_mark_kind kind, unsigned free_at)
{
    exact(r, e, MPR_EXCERPT_FAILURE);
    const size_t at = h->marks;
    add_mark(h, t, e, kind, e->addr);
    if (h->marks > at) h->mark[at].free = value_of(e, free_at);
}

static bool out_of_memory(const struct mpf_event *e)
{
    return value_of(e, MPF_FAIL_RESULT) == 2 && value_of(e, MPF_FAIL_PROBE) != 1;
}

/* ---- instances of ranges */

static void see_push(struct mpr_annotations *h, const struct mpr_replay *r,
                     const struct mpr_thread *t, const struct mpf_event *e)
{
    MPR_REACH(h->of_path, t->node, h->paths);
    const uint32_t most = r->ranges.node[t->node].depth == 1 ? OF_A_PATH : OF_A_DEEP_PATH;
    if (h->of_path[t->node] >= most || h->instances >= INSTANCES) return;
    h->of_path[t->node]++;
    h->instance[h->instances++] =
        (struct instance){ r->count[MPF_OP_PUSH], e->time, UINT64_MAX, t->node, t->number };
}

/* Instances are in order of their pushes. */
static void see_pop(struct mpr_annotations *h, const struct mpr_thread *t,
                    const struct mpf_event *e)
{
    size_t low = 0, high = h->instances;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (h->instance[middle].push < t->popped) low = middle + 1;
        else high = middle;
    }
    if (t->popped && low < h->instances && h->instance[low].push == t->popped)
        h->instance[low].to = e->time;
}

/* ---- samples */

static void halve(struct track *t)
{
    for (size_t i = 0; i < POINTS / 2; i++) {
        const size_t from = t->value[2 * i] >= t->value[2 * i + 1] ? 2 * i : 2 * i + 1;
        t->time[i] = t->time[from];
        t->value[i] = t->value[from];
    }
    t->points = POINTS / 2;
    t->stride *= 2;
}

/* The largest of each `stride` samples is a point. */
static void add_point(struct mpr_annotations *h, unsigned index, uint64_t time, uint64_t value,
                      uint64_t limit)
{
    if (index >= MPR_TRACKS || value == MPF_UNKNOWN) return;
    if (!h->track[index]) {
        h->track[index] = mpr_alloc(1, sizeof *h->track[index]);
        h->track[index]->stride = h->track[index]->waiting = 1;
    }
    struct track *t = h->track[index];
    if (limit != MPF_UNKNOWN) t->limit = limit;
    if (t->waiting < t->stride) {
        t->waiting++;
        if (value <= t->value[t->points - 1]) return;
        t->points--;
    } else {
        t->waiting = 1;
        if (t->points == POINTS) halve(t);
    }
    t->time[t->points] = time;
    t->value[t->points++] = value;
}

static uint64_t resident(const struct mpf_event *e)
{
    uint64_t sum = 0;
    for (unsigned i = MPF_RSS_ANON; i <= MPF_RSS_SHMEM; i++)
        if (value_of(e, i) != MPF_UNKNOWN) sum += value_of(e, i);
    return sum;
}

void mpr_annotations_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                         const struct mpf_event *e)
{
    struct mpr_annotations *h = arg;
    switch (e->op) {
    case MPF_OP_PUSH: see_push(h, r, t, e); break;
    case MPF_OP_POP: see_pop(h, t, e); break;
    case MPF_OP_MARK: see_mark(h, t, e); break;
    case MPF_OP_WINDOW: see_window(h, t, e); break;
    case MPF_OP_FAIL: add_failure(h, r, t, e); break;
    case MPF_OP_GPU_FAIL:
        if (out_of_memory(e)) add_refusal(h, r, t, e, MPR_MARK_REFUSED, MPF_FAIL_FREE);
        break;
    case MPF_OP_TORCH_OOM: add_refusal(h, r, t, e, MPR_MARK_OOM, MPF_TORCH_FREE); break;
    case MPF_OP_GPU_RETURN: see_return(r, e); break;
    case MPF_OP_SAMPLE_RSS: add_point(h, MPR_TRACK_RSS, e->time, resident(e), MPF_UNKNOWN); break;
    case MPF_OP_SAMPLE_CGROUP:
        add_point(h, MPR_TRACK_CGROUP, e->time, value_of(e, MPF_CGROUP_USAGE),
                  value_of(e, MPF_CGROUP_LIMIT));
        break;
    case MPF_OP_SAMPLE_GPU:
        if (e->addr >= MPF_GPUS) break;
        add_point(h, MPR_TRACK_GPU + (unsigned)e->addr, e->time, value_of(e, MPF_GPU_USED),
                  value_of(e, MPF_GPU_TOTAL));
        break;
    default: break;
    }
}

/* ---- the result */

static struct mpr_mark mark_of(struct mpr_tree *tree, struct mpr_arena *arena,
                               const struct mpr_replay *r, const struct mark *m)
{
    return (struct mpr_mark){
        .kind = m->kind,
        .time = m->time,
        .bytes = m->bytes,
        .free_bytes = m->free,
        .node = mpr_tree_number(tree, m->node),
        .thread = m->thread,
        .heap = m->heap,
        .text = m->said                    ? m->said
                : m->kind == MPR_MARK_NVTX ? mpr_label_name(arena, r, m->name, m->domain)
                                           : "",
    };
}

/* As `graphs` has it. */
static struct mpr_mark mark_of_graph(struct mpr_tree *tree, const struct mpr_graph_row *row)
{
    return (struct mpr_mark){
        .kind = MPR_MARK_GRAPH,
        .time = row->time,
        .free_bytes = MPF_UNKNOWN,
        .node = mpr_tree_number(tree, row->node),
        .thread = row->maker,
        .heap = mpf_heap_gpu(MPF_HEAP_DEVICE, row->device),
        .text = "",
        .graph = { row->instantiated, row->nodes, row->segment_bytes, row->executable_bytes,
                   row->launch_bytes, mpr_graph_total(row) },
    };
}

static void fill_marks(const struct mpr_annotations *h, struct mpr_tree *tree,
                       const struct mpr_reader *reader, struct mpr_timeline *out)
{
    const struct mpr_replay *r = &reader->replay;
    struct mpr_graphs graphs = { .rows = 0 };
    mpr_graphs_fill(&graphs, reader);
    const size_t shown = graphs.rows < MARKS ? graphs.rows : MARKS;
    out->mark = mpr_arena_alloc(&out->arena, (h->marks + shown) * sizeof *out->mark);
    for (size_t i = 0, k = 0; out->mark && i + k < h->marks + shown;) {
        const bool graph = i == h->marks || (k < shown && graphs.row[k].time < h->mark[i].time);
        out->mark[out->marks++] = graph ? mark_of_graph(tree, &graphs.row[k++])
                                        : mark_of(tree, &out->arena, r, &h->mark[i++]);
    }
    out->marks_left_out = h->marks_left_out + graphs.rows - shown;
    mpr_graphs_free(&graphs);
}

static void fill_instances(const struct mpr_annotations *h, struct mpr_tree *tree,
                           const struct mpr_replay *r, struct mpr_timeline *out)
{
    out->instance = mpr_arena_alloc(&out->arena, h->instances * sizeof *out->instance);
    for (size_t i = 0; i < h->instances; i++) {
        const struct instance *k = &h->instance[i];
        out->instance[out->instances++] =
            (struct mpr_range_instance){ k->from, k->to == UINT64_MAX ? r->now : k->to,
                                         mpr_tree_number(tree, k->node), k->thread };
    }
}

static void fill_tracks(const struct mpr_annotations *h, struct mpr_timeline *out)
{
    for (unsigned i = 0; i < MPR_TRACKS; i++) {
        const struct track *t = h->track[i];
        if (!t) continue;
        struct mpr_track_line *line = &out->track[i];
        line->point = mpr_arena_alloc(&out->arena, t->points * sizeof *line->point);
        for (size_t k = 0; k < t->points; k++)
            line->point[k] = (struct mpr_track_point){ t->time[k], t->value[k] };
        line->points = t->points;
        line->limit = t->limit;
    }
}

void mpr_annotations_fill(const struct mpr_annotations *h, struct mpr_tree *tree,
                          const struct mpr_reader *reader, struct mpr_timeline *out)
{
    const struct mpr_replay *r = &reader->replay;
    fill_marks(h, tree, reader, out);
    fill_instances(h, tree, r, out);
    fill_tracks(h, out);
}
