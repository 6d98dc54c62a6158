#include "callers.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "labels.h"

enum { FIRST = 256 };

bool mpr_callers_init(struct mpr_callers *c, struct mpr_arena *arena, const struct mpr_replay *r)
{
    *c = (struct mpr_callers){ .arena = arena, .r = r, .slots = 2 * FIRST, .frame_cap = FIRST, .stacks = 1, .stack_cap = FIRST };
    c->of_native = calloc((size_t)r->sites.stacks.nodes + 1, sizeof *c->of_native);
    c->of_python = calloc((size_t)r->ranges.nodes + 1, sizeof *c->of_python);
    c->frame = calloc(c->frame_cap, sizeof *c->frame);
    c->slot = calloc(c->slots, sizeof *c->slot);
    c->stack = calloc(c->stack_cap, sizeof *c->stack);
    return c->of_native && c->of_python && c->frame && c->slot && c->stack;
}

void mpr_callers_free(struct mpr_callers *c)
{
    free(c->of_native);
    free(c->of_python);
    free(c->frame);
    free(c->slot);
    free(c->stack);
}

/* ---- frames */

static uint32_t *find(const struct mpr_callers *c, const char *text)
{
    uint64_t hash = 0;
    for (const char *at = text; *at; at++) hash = mpr_hash(hash + (uint8_t)*at);
    uint32_t at = (uint32_t)hash & (c->slots - 1);
    while (c->slot[at] && strcmp(c->frame[c->slot[at] - 1], text) != 0) at = (at + 1) & (c->slots - 1);
    return &c->slot[at];
}

static bool grow_frames(struct mpr_callers *c)
{
    const char **frame = realloc(c->frame, (size_t)c->frame_cap * 2 * sizeof *frame);
    if (frame) c->frame = frame;
    uint32_t *slot = calloc((size_t)c->slots * 2, sizeof *slot);
    if (!frame || !slot) {
        free(slot);
        return false;
    }
    free(c->slot);
    c->slot = slot;
    c->slots *= 2;
    c->frame_cap *= 2;
    for (uint32_t i = 0; i < c->frames; i++) *find(c, c->frame[i]) = i + 1;
    return true;
}

static uint32_t frame_number(struct mpr_callers *c, const char *text)
{
    const uint32_t known = *find(c, text);
    if (known) return known - 1;
    if (c->frames == c->frame_cap && !grow_frames(c)) {
        c->failed = true;
        return 0;
    }
    c->frame[c->frames] = text;
    *find(c, text) = ++c->frames;
    return c->frames - 1;
}

/* ---- stacks */

static uint32_t add(struct mpr_callers *c, const char *const *path, size_t depth)
{
    if (c->stacks == c->stack_cap) {
        struct mpr_call_stack *stack = realloc(c->stack, (size_t)c->stack_cap * 2 * sizeof *stack);
        if (!stack) c->failed = true;
        if (!stack) return 0;
        c->stack = stack;
        c->stack_cap *= 2;
    }
    uint32_t *frame = mpr_arena_alloc(c->arena, depth * sizeof *frame);
    if (!frame || !path) return 0;
    for (size_t i = 0; i < depth; i++) frame[i] = frame_number(c, path[i]);
    c->stack[c->stacks] = (struct mpr_call_stack){ frame, depth };
    return c->stacks++;
}

uint32_t mpr_callers_native(struct mpr_callers *c, uint32_t node)
{
    size_t depth;
    if (node && !c->of_native[node]) {
        const char *const *path = mpr_label_stack(c->arena, c->r, node, &depth);
        c->of_native[node] = add(c, path, depth);
    }
    return node ? c->of_native[node] : 0;
}

uint32_t mpr_callers_python(struct mpr_callers *c, uint32_t node)
{
    size_t depth;
    if (node && !c->of_python[node]) {
        const char *const *path = mpr_label_node(c->arena, c->r, node, &depth);
        c->of_python[node] = add(c, path, depth);
    }
    return node ? c->of_python[node] : 0;
}

bool mpr_callers_fill(const struct mpr_callers *c, struct mpr_timeline *out)
{
    struct mpr_call_stack *stack = mpr_arena_alloc(c->arena, c->stacks * sizeof *stack);
    const char **frame = mpr_arena_alloc(c->arena, c->frames * sizeof *frame);
    if (!stack || !frame || c->failed) return false;
    memcpy(stack, c->stack, c->stacks * sizeof *stack);
    memcpy(frame, c->frame, c->frames * sizeof *frame);
    out->stack = stack;
    out->stacks = c->stacks;
    out->frame = frame;
    out->frames = c->frames;
    return true;
}
