/* Stacks whose frames have the same names share their nodes, whatever their addresses. */
#include "calltree.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "held.h"
#include "index.h"
#include "labels.h"
#include "mpf/event.h"
#include "reader.h"

void mpr_calltree_free(struct mpr_calltree *t) { mpr_arena_free(&t->arena); }

/* ---- the tree while it grows */

struct node {
    const struct mpr_frame *frame;
    uint64_t bytes, blocks, own_bytes, own_blocks;
    uint32_t parent, first, next;
};

struct growing {
    struct node *node; /* 0 is above all */
    uint32_t nodes, cap;
    struct mpr_index number; /* by hash of parent and name */
};

static uint32_t child(struct growing *g, uint32_t parent, const struct mpr_frame *frame)
{
    const uint64_t hash = mpr_hash_text(frame->text) + parent;
    uint32_t number;
    for (struct mpr_probe p = mpr_index_probe(&g->number, hash); (number = mpr_probe_next(&p));)
        if (g->node[number].parent == parent &&
            mpr_frame_compare(g->node[number].frame, frame) == 0)
            return number;
    MPR_GROW(g->node, g->nodes, g->cap);
    g->node[g->nodes] =
        (struct node){ .frame = frame, .parent = parent, .next = g->node[parent].first };
    g->node[parent].first = g->nodes;
    mpr_index_add(&g->number, hash, g->nodes);
    return g->nodes++;
}

static void add_stack(struct growing *g, struct mpr_path path, bool bottom_up, uint64_t bytes,
                      uint64_t blocks)
{
    uint32_t at = 0;
    for (size_t i = 0; i < path.depth; i++) {
        at = child(g, at, path.frame[bottom_up ? path.depth - 1 - i : i]);
        g->node[at].bytes += bytes;
        g->node[at].blocks += blocks;
    }
    g->node[at].own_bytes += bytes;
    g->node[at].own_blocks += blocks;
}

/* ---- in order */

static const struct growing *ordered;

static int by_bytes(const void *left, const void *right)
{
    const struct node *a = &ordered->node[*(const uint32_t *)left],
                      *b = &ordered->node[*(const uint32_t *)right];
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return mpr_frame_compare(a->frame, b->frame);
}

/* Pushes the children so that the largest is on top. */
static size_t push_children(const struct growing *g, uint32_t parent, uint32_t *stack, size_t top)
{
    const size_t from = top;
    for (uint32_t i = g->node[parent].first; i; i = g->node[i].next) stack[top++] = i;
    qsort(stack + from, top - from, sizeof *stack, by_bytes);
    for (size_t a = from, b = top; a + 1 < b; a++, b--) {
        const uint32_t swapped = stack[a];
        stack[a] = stack[b - 1];
        stack[b - 1] = swapped;
    }
    return top;
}

static void put_in_order(struct mpr_calltree *t, const struct growing *g)
{
    uint32_t *stack = mpr_alloc(g->nodes, sizeof *stack);
    size_t *place = mpr_alloc(g->nodes, sizeof *place);
    t->call = mpr_arena_alloc(&t->arena, g->nodes * sizeof *t->call);
    ordered = g;
    size_t top = push_children(g, 0, stack, 0);
    while (top) {
        const uint32_t index = stack[--top];
        const struct node *n = &g->node[index];
        const size_t at = place[index] = t->calls++, parent = n->parent ? place[n->parent] : at;
        t->call[at] =
            (struct mpr_call){ n->frame,     parent,    n->parent ? t->call[parent].depth + 1 : 0,
                               n->bytes,     n->blocks, n->own_bytes,
                               n->own_blocks };
        top = push_children(g, index, stack, top);
    }
    free(stack);
    free(place);
}

/* ---- a heap */

static bool has_stacks(const struct mpr_replay *r, unsigned heap)
{
    for (uint32_t i = 0; i < r->books.cells; i++)
        if (r->books.cell[i].heap == heap && r->books.cell[i].key) return true;
    return false;
}

static int choose_heap(struct mpr_calltree *t, const struct mpr_replay *r)
{
    int found = -1;
    uint8_t *other = mpr_arena_alloc(&t->arena, MPR_HEAPS * sizeof *other);
    for (int i = 0; i < MPR_HEAPS; i++) {
        if (!r->books.heap[i].used || !has_stacks(r, (unsigned)i)) continue;
        other[t->others++] = (uint8_t)i;
        const bool larger =
            found < 0 || r->books.heap[i].peak_bytes > r->books.heap[found].peak_bytes;
        if (t->options.heap ? i == t->options.heap : larger) found = i;
    }
    t->other = other;
    return found;
}

static void fill(struct mpr_calltree *t, const struct mpr_reader *reader)
{
    const struct mpr_replay *r = &reader->replay;
    struct growing g = { 0 };
    const int heap = choose_heap(t, r);
    uint64_t known_bytes = 0, known_blocks = 0;
    if (heap < 0) return;
    struct mpr_held *held = mpr_held_heap(r, (uint8_t)heap);
    t->heap = (uint8_t)heap;
    t->inside = mpr_heap_around(t->heap);
    t->time = r->books.heap[heap].peak_time;
    t->bytes = r->books.heap[heap].peak_bytes;
    t->blocks = heap == MPF_HEAP_PYTHON ? 0 : r->books.heap[heap].peak_blocks; /* the sum of its
                                                                                  estimates */
    MPR_GROW(g.node, g.nodes, g.cap);
    g.node[g.nodes++] = (struct node){ .frame = &mpr_frame_none };
    for (uint32_t i = 0; i < r->books.cells; i++) {
        const struct mpr_cell *cell = &r->books.cell[i];
        const uint64_t bytes = held[i].then, blocks = held[i].then_blocks;
        if (cell->heap != heap) continue;
        t->samples += held[i].samples;
        if (heap == MPF_HEAP_PYTHON) t->blocks += blocks;
        if (!cell->key || !bytes) continue;
        const struct mpr_path path = mpr_label_path(&t->arena, reader, cell);
        add_stack(&g, path, t->options.bottom_up, bytes, blocks);
        known_bytes += bytes;
        known_blocks += blocks;
    }
    t->unknown_bytes = mpr_less(t->bytes, known_bytes);
    t->unknown_blocks = mpr_less(t->blocks, known_blocks);
    put_in_order(t, &g);
    free(held);
    free(g.node);
    mpr_index_free(&g.number);
}

int mpr_calltree_read(struct mpr_calltree *t, const char *path,
                      const struct mpr_calltree_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    *t = (struct mpr_calltree){ .options = *options };
    if (mpr_reader_run(&reader, path, options->python ? MPR_GROUP_PYTHON : MPR_GROUP_STACK,
                       options->at, progress, error) != 0)
        return -1;
    mpr_reader_summary(&reader, path, &t->arena, &t->summary);
    fill(t, &reader);
    t->note = mpr_label_notes(&t->arena, &reader, &t->notes);
    mpr_reader_close(&reader);
    return 0;
}
