#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "labels.h"
#include "timeline_parts.h"

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
