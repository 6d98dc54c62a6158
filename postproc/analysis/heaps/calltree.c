/* Frames with the same name and the same caller are one node, also if their addresses differ. */
#include "calltree.h"

#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "cell_totals.h"
#include "index.h"
#include "labels.h"
#include "mpf/event.h"
#include "reader.h"

void mpr_calltree_free(struct mpr_calltree *t) { mpr_arena_free(&t->arena); }

/* ---- the tree while it is built */

struct node {
    struct mpr_call call;
    uint32_t parent, first, next;
};

struct tree {
    struct node *node; /* node 0 is the root of all stacks */
    uint32_t nodes, cap;
    struct mpr_index number; /* by hash of parent and frame */
};

static uint32_t child(struct tree *t, uint32_t parent, const struct mpr_frame *frame)
{
    const uint64_t hash = mpr_hash_text(frame->text) + parent;
    MPR_INDEX_EACH(number, &t->number, hash)
        if (t->node[number].parent == parent &&
            mpr_frame_compare(t->node[number].call.frame, frame) == 0)
            return number;
    MPR_GROW(t->node, t->nodes, t->cap);
    t->node[t->nodes] =
        (struct node){ .call.frame = frame, .parent = parent, .next = t->node[parent].first };
    t->node[parent].first = t->nodes;
    mpr_index_add(&t->number, hash, t->nodes);
    return t->nodes++;
}

static void add_stack(struct tree *t, struct mpr_path path, bool bottom_up, uint64_t bytes,
                      uint64_t blocks)
{
    uint32_t at = 0;
    for (size_t i = 0; i < path.depth; i++) {
        at = child(t, at, path.frame[bottom_up ? path.depth - 1 - i : i]);
        t->node[at].call.bytes += bytes;
        t->node[at].call.blocks += blocks;
    }
    t->node[at].call.own_bytes += bytes;
    t->node[at].call.own_blocks += blocks;
}

/* Smallest first, so that the largest is on top of the stack. */
static int by_bytes(const void *left, const void *right, void *tree)
{
    const struct tree *t = tree;
    const struct mpr_call *a = &t->node[*(const uint32_t *)left].call,
                          *b = &t->node[*(const uint32_t *)right].call;
    return mpr_compare(a->bytes, b->bytes) ?: mpr_frame_compare(b->frame, a->frame);
}

static void fill_calls(struct mpr_calltree *out, struct tree *t)
{
    uint32_t *stack = mpr_alloc(t->nodes, sizeof *stack);
    size_t *place = mpr_alloc(t->nodes, sizeof *place), top = 0;
    out->call = mpr_arena_alloc(&out->arena, t->nodes * sizeof *out->call);
    for (uint32_t number = 0;; number = stack[--top]) {
        const struct node *n = &t->node[number];
        const size_t from = top;
        if (number) {
            const size_t at = place[number] = out->calls++;
            struct mpr_call *call = &out->call[at];
            *call = n->call;
            call->parent = n->parent ? place[n->parent] : at;
            call->depth = n->parent ? out->call[call->parent].depth + 1 : 0;
        }
        for (uint32_t i = n->first; i; i = t->node[i].next) stack[top++] = i;
        qsort_r(stack + from, top - from, sizeof *stack, by_bytes, t);
        if (!top) break;
    }
    free(stack);
    free(place);
}

/* ---- a heap */

/* Lists the heaps that have call stacks. Returns the requested heap, or the one with the largest
 * peak, or -1 if none has stacks. */
static int choose_heap(struct mpr_calltree *t, const struct mpr_accounts *accounts)
{
    bool has_stacks[MPR_HEAPS] = { false };
    int found = -1;
    uint8_t *other = mpr_arena_alloc(&t->arena, MPR_HEAPS * sizeof *other);
    for (uint32_t i = 0; i < accounts->cells; i++)
        if (accounts->cell[i].key) has_stacks[accounts->cell[i].heap] = true;
    for (int i = 0; i < MPR_HEAPS; i++) {
        if (!accounts->heap[i].used || !has_stacks[i]) continue;
        other[t->others++] = (uint8_t)i;
        const bool larger =
            found < 0 || accounts->heap[i].peak_bytes > accounts->heap[found].peak_bytes;
        if (t->options.heap ? i == t->options.heap : larger) found = i;
    }
    t->other = other;
    return found;
}

static void fill(struct mpr_calltree *t, const struct mpr_reader *reader)
{
    const struct mpr_accounts *accounts = &reader->replay.accounts;
    const int heap = choose_heap(t, accounts);
    struct tree tree = { 0 };
    uint64_t known_bytes = 0, known_blocks = 0, estimated_blocks = 0;
    if (heap < 0) return;
    struct mpr_cell_totals *totals = mpr_cell_totals_heap(&reader->replay, (uint8_t)heap);
    MPR_GROW(tree.node, tree.nodes, tree.cap);
    tree.node[tree.nodes++] = (struct node){ .call.frame = &mpr_frame_none };
    for (uint32_t i = 0; i < accounts->cells; i++) {
        const struct mpr_cell *cell = &accounts->cell[i];
        const uint64_t bytes = totals[i].bytes, blocks = totals[i].blocks;
        if (cell->heap != heap) continue;
        t->samples += totals[i].samples;
        estimated_blocks += blocks;
        if (!cell->key || !bytes) continue;
        add_stack(&tree, mpr_label_path(&t->arena, reader, cell), t->options.bottom_up, bytes,
                  blocks);
        known_bytes += bytes;
        known_blocks += blocks;
    }
    t->heap = (uint8_t)heap;
    t->inside = mpr_heap_around(t->heap);
    t->time = accounts->heap[heap].peak_time;
    t->bytes = accounts->heap[heap].peak_bytes;
    t->blocks = heap == MPF_HEAP_PYTHON ? estimated_blocks : accounts->heap[heap].peak_blocks;
    t->unknown_bytes = mpr_saturating_sub(t->bytes, known_bytes);
    t->unknown_blocks = mpr_saturating_sub(t->blocks, known_blocks);
    fill_calls(t, &tree);
    free(totals);
    free(tree.node);
    mpr_index_free(&tree.number);
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
