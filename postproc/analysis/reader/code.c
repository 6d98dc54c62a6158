#include "code.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "labels.h"

void mpr_code_free(struct mpr_code *code)
{
    mpr_arena_free(&code->arena);
    mpr_index_free(&code->frame_at);
    mpr_index_free(&code->call_at);
    free(code->frame);
    free(code->stack);
    free(code->of_node);
    free(code->of_native);
    *code = (struct mpr_code){ .frames = 0 };
}

struct mpr_code_stack mpr_code_stack(const struct mpr_code *code, uint32_t number)
{
    return number ? code->stack[number - 1] : (struct mpr_code_stack){ NULL, 0 };
}

static uint32_t add_frame(struct mpr_code *code, const struct mpr_frame *frame)
{
    MPR_GROW(code->frame, code->frames, code->frame_cap);
    code->frame[code->frames] =
        (struct mpr_code_frame){ frame, .function = mpr_frame_function(&code->arena, frame) };
    return code->frames++;
}

static uint32_t add_stack(struct mpr_code *code, uint32_t *frame, size_t frames)
{
    MPR_GROW(code->stack, code->stacks, code->stack_cap);
    code->stack[code->stacks++] = (struct mpr_code_stack){ frame, frames };
    return code->stacks;
}

/* ---- Python's frames and ranges: nodes of one tree */

uint32_t mpr_code_of_node(struct mpr_code *code, const struct mpr_reader *reader, uint32_t node)
{
    const struct mpr_node *tree = reader->replay.ranges.node;
    MPR_REACH(code->of_node, node, code->nodes);
    if (!node || code->of_node[node]) return code->of_node[node];
    uint32_t *frame = mpr_arena_alloc(&code->arena, tree[node].depth * sizeof *frame);
    size_t frames = 0;
    for (uint32_t n = node; n; n = tree[n].parent) {
        const uint64_t key = (uint64_t)tree[n].domain << 32 | tree[n].name;
        uint32_t number = mpr_index_get(&code->frame_at, key);
        if (!number) {
            number = add_frame(code, mpr_label_frame(&code->arena, reader, n)) + 1;
            mpr_index_set(&code->frame_at, key, number);
        }
        frame[frames++] = number - 1;
    }
    return code->of_node[node] = add_stack(code, frame, frames);
}

/* ---- native calls */

/* A return address has several calls if some are inlined. */
uint32_t mpr_code_of_site(struct mpr_code *code, const struct mpr_reader *reader,
                          struct mpr_site at)
{
    const struct mpr_sites *sites = &reader->replay.sites;
    const struct mpr_stack_node *tree = sites->stacks.node;
    if (at.python) return mpr_code_of_node(code, reader, at.python);
    MPR_REACH(code->of_native, at.stack, code->natives);
    if (!at.stack || code->of_native[at.stack]) return code->of_native[at.stack];
    uint32_t *frame = NULL;
    size_t frames = 0, cap = 0;
    for (uint32_t n = at.stack; n; n = tree[n].parent) {
        size_t count;
        const struct mpr_frame *const *call =
            mpr_names_at(reader->names, &code->arena, sites, n, &count);
        const uint64_t key = (uintptr_t)call; /* all stacks share the array of an address */
        uint32_t first = mpr_index_get(&code->call_at, key);
        if (!first) {
            first = code->frames + 1;
            mpr_index_set(&code->call_at, key, first);
            for (size_t i = 0; i < count; i++) {
                const uint32_t number = add_frame(code, call[i]);
                struct mpr_code_frame *new = &code->frame[number];
                new->address = mpr_stack_is_cut(&tree[n]) ? 0 : tree[n].pc;
                new->module = tree[n].module;
                new->inlined = i + 1 < count;
            }
        }
        for (uint32_t i = 0; i < count; i++) {
            MPR_GROW(frame, frames, cap);
            frame[frames++] = first - 1 + i;
        }
    }
    uint32_t *kept = mpr_arena_alloc(&code->arena, frames * sizeof *kept);
    if (frames) memcpy(kept, frame, frames * sizeof *kept);
    free(frame);
    return code->of_native[at.stack] = add_stack(code, kept, frames);
}
