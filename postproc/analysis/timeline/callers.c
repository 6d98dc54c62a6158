#include "callers.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "labels.h"

void mpr_callers_init(struct mpr_callers *c, struct mpr_arena *arena,
                      const struct mpr_reader *reader)
{
    const struct mpr_replay *r = &reader->replay;
    *c = (struct mpr_callers){ .arena = arena, .reader = reader };
    c->of_native = mpr_alloc((size_t)r->sites.stacks.nodes + 1, sizeof *c->of_native);
    c->of_python = mpr_alloc((size_t)r->ranges.nodes + 1, sizeof *c->of_python);
    MPR_GROW(c->stack, c->stacks, c->stack_cap);
    c->stack[c->stacks++] = (struct mpr_call_stack){ 0 };
}

void mpr_callers_free(struct mpr_callers *c)
{
    free(c->of_native);
    free(c->of_python);
    free(c->frame);
    mpr_index_free(&c->frame_number);
    free(c->stack);
}

/* ---- frames */

uint32_t mpr_callers_frame(struct mpr_callers *c, const struct mpr_frame *frame)
{
    const uint64_t hash = mpr_hash_text(frame->text);
    uint32_t number;
    for (struct mpr_probe p = mpr_index_probe(&c->frame_number, hash);
         (number = mpr_probe_next(&p));)
        if (mpr_frame_compare(c->frame[number - 1], frame) == 0) return number - 1;
    MPR_GROW(c->frame, c->frames, c->frame_cap);
    c->frame[c->frames] = frame;
    mpr_index_add(&c->frame_number, hash, ++c->frames);
    return c->frames - 1;
}

/* ---- stacks */

struct mpr_call_stack mpr_callers_path(struct mpr_callers *c, struct mpr_path path)
{
    uint32_t *frame = mpr_arena_alloc(c->arena, path.depth * sizeof *frame);
    for (size_t i = 0; i < path.depth; i++) frame[i] = mpr_callers_frame(c, path.frame[i]);
    return (struct mpr_call_stack){ frame, path.depth };
}

static uint32_t add(struct mpr_callers *c, struct mpr_path path)
{
    MPR_GROW(c->stack, c->stacks, c->stack_cap);
    c->stack[c->stacks] = mpr_callers_path(c, path);
    return c->stacks++;
}

uint32_t mpr_callers_native(struct mpr_callers *c, uint32_t node)
{
    if (node && !c->of_native[node])
        c->of_native[node] = add(c, mpr_label_stack(c->arena, c->reader, node));
    return node ? c->of_native[node] : 0;
}

uint32_t mpr_callers_python(struct mpr_callers *c, uint32_t node)
{
    if (node && !c->of_python[node])
        c->of_python[node] = add(c, mpr_label_node(c->arena, c->reader, node));
    return node ? c->of_python[node] : 0;
}

void mpr_callers_fill(const struct mpr_callers *c, struct mpr_timeline *out)
{
    struct mpr_call_stack *stack = mpr_arena_alloc(c->arena, c->stacks * sizeof *stack);
    const struct mpr_frame **frame = mpr_arena_alloc(c->arena, c->frames * sizeof *frame);
    memcpy(stack, c->stack, c->stacks * sizeof *stack);
    if (c->frames) memcpy(frame, c->frame, c->frames * sizeof *frame);
    out->stack = stack;
    out->stacks = c->stacks;
    out->frame = frame;
    out->frames = c->frames;
}
