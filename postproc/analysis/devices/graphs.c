/* Each capture is a row, together with the first executable that was made from it. Later
 * executables are rows without the capture's bytes, so that sums count these bytes once. */
#include "graphs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "index.h"
#include "labels.h"
#include "numbered_names.h"
#include "reader.h"

static void add_bytes(struct mpr_graph_bytes *to, const struct mpr_graph_bytes *more)
{
    to->segments += more->segments;
    to->executable = mpr_signed_add(to->executable, more->executable);
    to->launch = mpr_signed_add(to->launch, more->launch);
    to->all = mpr_signed_add(mpr_saturating_signed(to->segments),
                             mpr_signed_add(to->executable, to->launch));
}

/* ---- rows */

static void set_owner(struct mpr_graphs *g, const struct mpr_reader *reader, uint32_t node,
                      uint32_t thread, struct mpr_graph_row *row)
{
    row->path = mpr_label_node(&g->arena, reader, node);
    row->thread = mpr_label_thread(&g->arena, &reader->replay, thread);
    row->node = node;
    row->owner_thread = thread;
}

/* Before the rows are sorted, capture n has row n - 1. */
static void add_rows(struct mpr_graphs *g, const struct mpr_reader *reader)
{
    const struct mpr_gpu *gpu = &reader->replay.gpu;
    for (uint32_t i = 0; i < gpu->captures; i++) {
        const struct mpr_capture *c = &gpu->capture[i];
        struct mpr_graph_row *row = &g->row[g->rows++];
        *row = (struct mpr_graph_row){ .time = c->time,
                                       .burst = c->burst,
                                       .capture = i + 1,
                                       .pool = { c->pool[0], c->pool[1] },
                                       .bytes.segments = c->segment_bytes,
                                       .block_bytes = c->block_bytes,
                                       .device = c->device,
                                       .captured = true };
        set_owner(g, reader, c->node, c->thread, row);
    }
    for (uint32_t i = 0; i < gpu->graphs; i++) {
        const struct mpr_graph *graph = &gpu->graph[i];
        struct mpr_graph_row *captured = graph->capture ? &g->row[graph->capture - 1] : NULL,
                             *row = captured;
        if (!captured || captured->instantiated) {
            row = &g->row[g->rows++];
            *row = (struct mpr_graph_row){ .time = graph->time,
                                           .burst = captured ? captured->burst : 0,
                                           .capture = captured ? captured->capture : 0 };
            set_owner(g, reader, graph->node, graph->thread, row);
        }
        row->instantiated = true;
        row->nodes = graph->nodes;
        row->bytes.executable = graph->instantiated;
        row->bytes.launch = graph->launched;
        row->device = graph->device;
        row->alive = !graph->gone;
    }
    for (size_t i = 0; i < g->rows; i++) /* sets the sum */
        add_bytes(&g->row[i].bytes, &(struct mpr_graph_bytes){ .all = 0 });
}

MPR_COMPARE(by_time, struct mpr_graph_row,
            mpr_compare(a->time, b->time) ?: mpr_compare(a->capture, b->capture))

/* ---- bursts */

/* Fills the bursts and their rows. @captures: the highest possible number of a burst. */
static void fill_bursts(struct mpr_graphs *g, size_t captures)
{
    const struct mpr_graph_row **row = mpr_arena_alloc(&g->arena, g->rows * sizeof *row), ***next;
    uint32_t *place = mpr_alloc(captures + 1, sizeof *place); /* by burst number: index + 1 */
    for (size_t i = 0; i < g->rows; i++) {
        uint32_t *known = &place[g->row[i].burst];
        if (!*known) {
            g->burst[g->bursts++] = (struct mpr_graph_burst){ .number = g->row[i].burst };
            *known = (uint32_t)g->bursts;
        }
        const struct mpr_graph_row *of = &g->row[i];
        struct mpr_graph_burst *b = &g->burst[*known - 1];
        if (!b->rows++) {
            b->path = of->path;
            b->from = of->time;
        }
        b->to = of->time;
        b->captures += of->captured;
        b->executables += of->instantiated;
        b->alive += of->alive;
        b->nodes += of->nodes;
        b->block_bytes += of->block_bytes;
        add_bytes(&b->bytes, &of->bytes);
    }
    next = mpr_alloc(g->bursts, sizeof *next);
    for (size_t i = 0; i < g->bursts; row += g->burst[i++].rows) g->burst[i].row = next[i] = row;
    for (size_t i = 0; i < g->rows; i++) *next[place[g->row[i].burst] - 1]++ = &g->row[i];
    free(next);
    free(place);
}

/* Number 0, for graphs that were built by hand, is last. */
MPR_COMPARE(by_number, struct mpr_graph_burst, mpr_compare(a->number - 1, b->number - 1))

/* ---- sizes
 *
 * The number that varies in the names of a burst's ranges: a server captures one graph for each
 * batch size, "capture bs=8". If several numbers vary, the last one is the size: "worker 3 >
 * capture bs=8". */

enum { NUMBERS = 16 }; /* limit in a path */

/* The numbers in a path. */
struct numbers {
    struct {
        size_t frame;
        struct mpr_name_number at;
    } number[NUMBERS];
    size_t count;
};

static struct numbers numbers_of(const struct mpr_graph_row *row)
{
    struct numbers n = { .count = 0 };
    for (size_t i = 0; i < row->path.depth; i++) {
        struct mpr_name_number at[NUMBERS];
        const size_t found = mpr_numbers_find(row->path.frame[i], at, NUMBERS - n.count);
        for (size_t k = 0; k < found; k++, n.count++) {
            n.number[n.count].frame = i;
            n.number[n.count].at = at[k];
        }
    }
    return n;
}

/* Returns true if the paths are equal except for their numbers. */
static bool is_like(const struct mpr_graph_row *row, const struct numbers *n,
                    const struct mpr_graph_row *first, const struct numbers *of_first)
{
    if (row->path.depth != first->path.depth || n->count != of_first->count) return false;
    for (size_t i = 0; i < n->count; i++)
        if (n->number[i].frame != of_first->number[i].frame ||
            n->number[i].at.from != of_first->number[i].at.from)
            return false;
    return true;
}

/* Returns the index of the last number that varies among rows whose paths differ from the first
 * one's only in numbers; the count of numbers if none varies. */
static size_t varying(const struct mpr_graph_burst *burst, const struct numbers *of_first)
{
    size_t last = of_first->count;
    for (size_t i = 1; i < burst->rows; i++) {
        const struct numbers n = numbers_of(burst->row[i]);
        if (!is_like(burst->row[i], &n, burst->row[0], of_first)) continue;
        for (size_t k = last == n.count ? 0 : last + 1; k < n.count; k++)
            if (n.number[k].at.number != of_first->number[k].at.number) last = k;
    }
    return last;
}

/* Returns the word before a number: "bs" in "capture bs=8". */
static const char *word_before(struct mpr_arena *arena, const char *name, size_t number)
{
    size_t to = number;
    while (to && !isalpha((unsigned char)name[to - 1])) to--;
    size_t from = to;
    while (from && (isalnum((unsigned char)name[from - 1]) || name[from - 1] == '_')) from--;
    return to > from ? mpr_arena_format(arena, "%.*s", (int)(to - from), name + from) : "number";
}

static void fill_sizes(struct mpr_graph_burst *burst, struct mpr_arena *arena)
{
    const struct mpr_graph_row *first = burst->row[0];
    const struct numbers of_first = numbers_of(first);
    const size_t which = varying(burst, &of_first);
    struct mpr_index known = { 0 };
    int64_t sum = 0;
    if (!burst->number || which == of_first.count) return;
    burst->counted =
        word_before(arena, mpr_frame_numbered(first->path.frame[of_first.number[which].frame]),
                    of_first.number[which].at.from);
    burst->size = mpr_arena_alloc(arena, burst->rows * sizeof *burst->size);
    for (size_t i = 0; i < burst->rows; i++) {
        const struct mpr_graph_row *row = burst->row[i];
        const struct numbers n = numbers_of(row);
        const uint64_t number =
            is_like(row, &n, first, &of_first) ? n.number[which].at.number : MPR_GRAPH_NO_SIZE;
        uint32_t place = mpr_index_get(&known, number);
        if (!place) {
            burst->size[burst->sizes++] =
                (struct mpr_graph_size){ .burst = burst->number, .size = number };
            mpr_index_set(&known, number, place = (uint32_t)burst->sizes);
        }
        struct mpr_graph_size *size = &burst->size[place - 1];
        size->graphs += row->captured;
        add_bytes(&size->bytes, &row->bytes);
    }
    mpr_index_free(&known);
    for (size_t i = 0; i < burst->sizes; i++)
        burst->size[i].cumulative = sum = mpr_signed_add(sum, burst->size[i].bytes.all);
}

void mpr_graphs_fill(struct mpr_graphs *g, const struct mpr_reader *reader)
{
    const struct mpr_gpu *gpu = &reader->replay.gpu;
    const size_t rows = (size_t)gpu->captures + gpu->graphs;
    g->row = mpr_arena_alloc(&g->arena, rows * sizeof *g->row);
    g->burst = mpr_arena_alloc(&g->arena, rows * sizeof *g->burst);
    add_rows(g, reader);
    qsort(g->row, g->rows, sizeof *g->row, by_time);
    fill_bursts(g, gpu->captures);
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
