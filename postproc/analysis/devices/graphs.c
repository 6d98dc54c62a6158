/* A capture becomes a row; the first executable that was made of it joins that row, later ones have
 * rows of their own without the capture's bytes, so that sums count them once. */
#include "graphs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "index.h"
#include "labels.h"
#include "places.h"
#include "reader.h"

int64_t mpr_graph_total(const struct mpr_graph_row *row)
{
    return mpr_plus(mpr_amount(row->segment_bytes),
                    mpr_plus(row->executable_bytes, row->launch_bytes));
}

int64_t mpr_burst_total(const struct mpr_graph_burst *burst)
{
    return mpr_plus(mpr_amount(burst->segment_bytes),
                    mpr_plus(burst->executable_bytes, burst->launch_bytes));
}

/* ---- rows */

static void set_place(struct mpr_graphs *g, const struct mpr_reader *reader, uint32_t node,
                      uint32_t thread, struct mpr_graph_row *row)
{
    const struct mpr_replay *r = &reader->replay;
    row->path = mpr_label_node(&g->arena, reader, node);
    row->thread = mpr_label_thread(&g->arena, r, thread);
    row->node = node;
    row->maker = thread;
}

static void add_captures(struct mpr_graphs *g, const struct mpr_reader *reader)
{
    const struct mpr_replay *r = &reader->replay;
    for (uint32_t i = 0; i < r->gpu.captures; i++) {
        const struct mpr_capture *c = &r->gpu.capture[i];
        struct mpr_graph_row *row = &g->row[g->rows++];
        *row = (struct mpr_graph_row){ .time = c->time,
                                       .burst = c->burst,
                                       .capture = i + 1,
                                       .pool = { c->pool[0], c->pool[1] },
                                       .segment_bytes = c->segment_bytes,
                                       .block_bytes = c->block_bytes,
                                       .device = c->device,
                                       .captured = true };
        set_place(g, reader, c->node, c->thread, row);
    }
}

/* The row of the executable: its capture's while that has none. */
static struct mpr_graph_row *row_of(struct mpr_graphs *g, const struct mpr_reader *reader,
                                    const struct mpr_graph *graph)
{
    struct mpr_graph_row *captured = graph->capture ? &g->row[graph->capture - 1] : NULL;
    if (captured && !captured->instantiated) return captured;
    struct mpr_graph_row *row = &g->row[g->rows++];
    *row = (struct mpr_graph_row){ .time = graph->time };
    if (captured) {
        row->burst = captured->burst;
        row->capture = captured->capture;
    }
    set_place(g, reader, graph->node, graph->thread, row);
    return row;
}

static void add_executables(struct mpr_graphs *g, const struct mpr_reader *reader)
{
    const struct mpr_replay *r = &reader->replay;
    for (uint32_t i = 0; i < r->gpu.graphs; i++) {
        const struct mpr_graph *graph = &r->gpu.graph[i];
        struct mpr_graph_row *row = row_of(g, reader, graph);
        row->instantiated = true;
        row->nodes = graph->nodes;
        row->executable_bytes = graph->instantiated;
        row->launch_bytes = graph->launched;
        row->device = graph->device;
        row->alive = !graph->gone;
    }
}

static int by_time(const void *left, const void *right)
{
    const struct mpr_graph_row *a = left, *b = right;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    return a->capture < b->capture ? -1 : a->capture > b->capture;
}

/* ---- bursts */

static void add_to_burst(struct mpr_graph_burst *b, const struct mpr_graph_row *row)
{
    if (!b->captures && !b->executables) {
        b->path = row->path;
        b->from = row->time;
    }
    b->to = row->time;
    b->captures += row->captured;
    b->executables += row->instantiated;
    b->alive += row->alive;
    b->nodes += row->nodes;
    b->segment_bytes += row->segment_bytes;
    b->block_bytes += row->block_bytes;
    b->executable_bytes = mpr_plus(b->executable_bytes, row->executable_bytes);
    b->launch_bytes = mpr_plus(b->launch_bytes, row->launch_bytes);
}

/* at: by number, indices + 1. */
static struct mpr_graph_burst *burst_of(struct mpr_graphs *g, uint32_t *at, uint64_t number)
{
    if (!at[number]) {
        g->burst[g->bursts++] = (struct mpr_graph_burst){ .number = number };
        at[number] = (uint32_t)g->bursts;
    }
    return &g->burst[at[number] - 1];
}

static int by_number(const void *left, const void *right)
{
    const struct mpr_graph_burst *a = left, *b = right;
    const uint64_t x = a->number - 1, y = b->number - 1; /* 0, built by hand, comes last */
    return x < y ? -1 : x > y;
}

/* Each burst's rows in a row of their own. */
static void gather(struct mpr_graphs *g, const uint32_t *at)
{
    const struct mpr_graph_row **row = mpr_arena_alloc(&g->arena, g->rows * sizeof *row);
    const struct mpr_graph_row ***next = mpr_alloc(g->bursts, sizeof *next);
    for (size_t i = 0; i < g->rows; i++) g->burst[at[g->row[i].burst] - 1].rows++;
    for (size_t i = 0; i < g->bursts; i++) {
        g->burst[i].row = next[i] = row;
        row += g->burst[i].rows;
    }
    for (size_t i = 0; i < g->rows; i++) *next[at[g->row[i].burst] - 1]++ = &g->row[i];
    free(next);
}

/* ---- by the number that varies in their ranges' names: a server captures one graph for each batch
 * size, "capture bs=8".  If several numbers vary, the last one counts: "worker 3 > capture bs=8".
 */

enum { PLACES = 16 }; /* looked at in a path, at most */

/* A number of a path. */
struct place {
    size_t name; /* which of the path's */
    struct mpr_place at;
};

static size_t places_of(const struct mpr_graph_row *row, struct place *place)
{
    size_t found = 0;
    for (size_t i = 0; i < row->path.depth; i++) {
        struct mpr_place at[PLACES];
        const size_t here = mpr_places_find(row->path.frame[i], at, PLACES - found);
        for (size_t k = 0; k < here; k++) place[found++] = (struct place){ i, at[k] };
    }
    return found;
}

/* Do the rows differ in numbers only, if at all? */
static bool is_like(const struct mpr_graph_row *row, const struct place *place, size_t places,
                    const struct mpr_graph_row *first, const struct place *of_first, size_t most)
{
    if (row->path.depth != first->path.depth || places != most) return false;
    for (size_t i = 0; i < places; i++)
        if (place[i].name != of_first[i].name || place[i].at.from != of_first[i].at.from)
            return false;
    return true;
}

/* The last place where a row like the first one has another number; `places` where none has. */
static size_t varying(const struct mpr_graph_burst *burst, const struct place *of_first,
                      size_t places)
{
    size_t last = places;
    for (size_t i = 1; i < burst->rows; i++) {
        struct place place[PLACES];
        const size_t count = places_of(burst->row[i], place);
        if (!is_like(burst->row[i], place, count, burst->row[0], of_first, places)) continue;
        for (size_t k = last == places ? 0 : last + 1; k < places; k++)
            if (place[k].at.number != of_first[k].at.number) last = k;
    }
    return last;
}

/* The name of the number: the word before it, "bs" in "capture bs=8". */
static const char *word_before(struct mpr_arena *arena, const char *name, size_t number)
{
    size_t to = number;
    while (to && !isalpha((unsigned char)name[to - 1])) to--;
    size_t from = to;
    while (from && (isalnum((unsigned char)name[from - 1]) || name[from - 1] == '_')) from--;
    return to > from ? mpr_arena_format(arena, "%.*s", (int)(to - from), name + from) : "number";
}

static struct mpr_graph_size *size_of(struct mpr_graph_burst *burst, struct mpr_index *known,
                                      uint64_t number)
{
    const uint32_t at = mpr_index_get(known, number);
    if (at) return &burst->size[at - 1];
    burst->size[burst->sizes++] = (struct mpr_graph_size){ .burst = burst->number, .size = number };
    mpr_index_set(known, number, (uint32_t)burst->sizes);
    return &burst->size[burst->sizes - 1];
}

static void add(struct mpr_graph_size *size, const struct mpr_graph_row *row)
{
    size->graphs += row->captured;
    size->segment_bytes += row->segment_bytes;
    size->executable_bytes = mpr_plus(size->executable_bytes, row->executable_bytes);
    size->launch_bytes = mpr_plus(size->launch_bytes, row->launch_bytes);
    size->bytes = mpr_plus(size->bytes, mpr_graph_total(row));
}

static void add_up(struct mpr_graph_burst *burst)
{
    int64_t sum = 0;
    for (size_t i = 0; i < burst->sizes; i++)
        burst->size[i].cumulative = sum = mpr_plus(sum, burst->size[i].bytes);
}

static void fill_sizes(struct mpr_graph_burst *burst, struct mpr_arena *arena)
{
    struct place of_first[PLACES], place[PLACES];
    struct mpr_index known = { 0 };
    const size_t places = places_of(burst->row[0], of_first);
    const size_t which = varying(burst, of_first, places);
    if (!burst->number || which == places) return;
    burst->counted =
        word_before(arena, mpr_frame_numbered(burst->row[0]->path.frame[of_first[which].name]),
                    of_first[which].at.from);
    burst->size = mpr_arena_alloc(arena, burst->rows * sizeof *burst->size);
    for (size_t i = 0; i < burst->rows; i++) {
        const struct mpr_graph_row *row = burst->row[i];
        const size_t count = places_of(row, place);
        const bool like = is_like(row, place, count, burst->row[0], of_first, places);
        add(size_of(burst, &known, like ? place[which].at.number : MPR_GRAPH_NO_SIZE), row);
    }
    mpr_index_free(&known);
    add_up(burst);
}

/* ---- all */

void mpr_graphs_fill(struct mpr_graphs *g, const struct mpr_reader *reader)
{
    const struct mpr_replay *r = &reader->replay;
    const size_t most = (size_t)r->gpu.captures + r->gpu.graphs;
    g->row = mpr_arena_alloc(&g->arena, most * sizeof *g->row);
    g->burst = mpr_arena_alloc(&g->arena, most * sizeof *g->burst);
    uint32_t *at = mpr_arena_alloc(&g->arena, ((size_t)r->gpu.captures + 1) * sizeof *at);
    add_captures(g, reader);
    add_executables(g, reader);
    qsort(g->row, g->rows, sizeof *g->row, by_time);
    for (size_t i = 0; i < g->rows; i++) add_to_burst(burst_of(g, at, g->row[i].burst), &g->row[i]);
    gather(g, at);
    for (size_t i = 0; i < g->bursts; i++) fill_sizes(&g->burst[i], &g->arena);
    qsort(g->burst, g->bursts, sizeof *g->burst, by_number);
}

int mpr_graphs_read(struct mpr_graphs *graphs, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    *graphs = (struct mpr_graphs){ 0 };
    if (mpr_reader_run(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    mpr_reader_summary(&reader, path, &graphs->arena, &graphs->summary);
    mpr_graphs_fill(graphs, &reader);
    mpr_reader_close(&reader);
    return 0;
}

void mpr_graphs_free(struct mpr_graphs *graphs) { mpr_arena_free(&graphs->arena); }
