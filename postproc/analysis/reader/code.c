#include "code.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "labels.h"
#include "names.h"
#include "symbols.h"

void mpr_code_free(struct mpr_code *code)
{
    mpr_arena_free(&code->arena);
    mpr_index_free(&code->range);
    mpr_index_free(&code->call_at);
    free(code->frame);
    free(code->stack);
    free(code->python);
    free(code->of_node);
    free(code->of_native);
    free(code->call);
    *code = (struct mpr_code){ .frames = 0 };
}

struct mpr_code_stack mpr_code_stack(const struct mpr_code *code, uint32_t number)
{
    return number ? code->stack[number - 1] : (struct mpr_code_stack){ NULL, 0 };
}

static uint32_t add_frame(struct mpr_code *code, const struct mpr_code_frame *frame)
{
    MPR_GROW(code->frame, code->frames, code->frame_cap);
    code->frame[code->frames] = *frame;
    return code->frames++;
}

static uint32_t add_stack(struct mpr_code *code, uint32_t *frame, size_t frames)
{
    MPR_GROW(code->stack, code->stacks, code->stack_cap);
    code->stack[code->stacks++] = (struct mpr_code_stack){ frame, frames };
    return code->stacks;
}

/* ---- Python's frames and ranges: nodes of one tree */

/* Replay keeps of a frame what people read, "function (file.py:12)". */
void mpr_code_see(struct mpr_code *code, const struct mpr_replay *r, const struct mpf_event *e)
{
    uint64_t line;
    if (e->op != MPF_OP_FRAME || e->size < sizeof line + 2 || e->data[e->size - 1] != 0) return;
    const uint32_t name = mpr_index_get(&r->sites.known[MPR_KNOWN_FRAME], e->addr);
    if (name < MPR_FRAME_NAME) return;
    MPR_REACH(code->python, name - MPR_FRAME_NAME, code->pythons);
    uint32_t *const known = &code->python[name - MPR_FRAME_NAME];
    const char *function = (const char *)e->data + sizeof line,
               *end = (const char *)e->data + e->size, *file = function + strlen(function) + 1;
    if (*known || file >= end) return;
    memcpy(&line, e->data, sizeof line);
    *known = add_frame(code,
                       &(struct mpr_code_frame){ .function = mpr_arena_text(&code->arena, function),
                                                 .file = mpr_arena_text(&code->arena, file),
                                                 .line = line }) +
             1;
}

/* A range, or what stands among the frames and is no place. */
static uint32_t named(struct mpr_code *code, const struct mpr_reader *reader, uint32_t node)
{
    const struct mpr_node *n = &reader->replay.ranges.node[node];
    const uint64_t key = (uint64_t)n->domain << 32 | n->name;
    const uint32_t known = mpr_index_get(&code->range, key);
    if (known) return known - 1;
    const char *label = mpr_arena_text(&code->arena, mpr_label_range(&code->arena, reader, node));
    const uint32_t frame =
        add_frame(code, &(struct mpr_code_frame){ .function = label, .file = "" });
    mpr_index_set(&code->range, key, frame + 1);
    return frame;
}

static uint32_t frame_of(struct mpr_code *code, const struct mpr_reader *reader, uint32_t node)
{
    const uint32_t name = reader->replay.ranges.node[node].name;
    const uint32_t python = name - MPR_FRAME_NAME;
    if (name >= MPR_FRAME_NAME && python < code->pythons && code->python[python])
        return code->python[python] - 1;
    return named(code, reader, node);
}

uint32_t mpr_code_of_node(struct mpr_code *code, const struct mpr_reader *reader, uint32_t node)
{
    const struct mpr_node *tree = reader->replay.ranges.node;
    MPR_REACH(code->of_node, node, code->nodes);
    if (!node || code->of_node[node]) return code->of_node[node];
    uint32_t *frame = mpr_arena_alloc(&code->arena, tree[node].depth * sizeof *frame);
    size_t frames = 0;
    for (uint32_t n = node; n; n = tree[n].parent) frame[frames++] = frame_of(code, reader, n);
    return code->of_node[node] = add_stack(code, frame, frames);
}

/* ---- native calls */

static void add_unnamed(struct mpr_code *code, const struct mpr_reader *reader, uint32_t node)
{
    const struct mpr_sites *sites = &reader->replay.sites;
    const struct mpr_stack_node *n = &sites->stacks.node[node];
    size_t count;
    add_frame(code, &(struct mpr_code_frame){
                        .function = *mpr_names_at(reader->names, &code->arena, sites, node, &count),
                        .file = "",
                        .address = mpr_stack_is_cut(n) ? 0 : n->pc,
                        .module = n->module });
}

/* Where no source is known the object file tells functions of one name apart. */
static struct mpr_code_frame named_call(struct mpr_code *code, const struct mpr_sites *sites,
                                        const struct mpr_stack_node *n,
                                        const struct mpr_symbol *symbol)
{
    const char *object = n->module ? sites->module[n->module - 1].path : "",
               *file = symbol->file ? symbol->file : object;
    return (struct mpr_code_frame){ .function = mpr_arena_text(&code->arena, symbol->function),
                                    .file = mpr_arena_text(&code->arena, file),
                                    .line = symbol->file ? symbol->line : 0,
                                    .address = n->pc,
                                    .module = n->module };
}

/* Of one return address, whoever called. */
static struct mpr_code_calls calls_at(struct mpr_code *code, const struct mpr_reader *reader,
                                      uint32_t node)
{
    const struct mpr_sites *sites = &reader->replay.sites;
    const struct mpr_stack_node *n = &sites->stacks.node[node];
    const uint64_t key = mpr_hash(mpr_hash(n->pc) + n->module);
    const uint32_t known = mpr_index_get(&code->call_at, key);
    if (known) return code->call[known - 1];
    size_t count;
    const struct mpr_symbol *symbol =
        mpr_names_calls(reader->names, sites, n->module, n->pc, &count);
    MPR_GROW(code->call, code->calls, code->call_cap);
    struct mpr_code_calls *calls = &code->call[code->calls++];
    *calls = (struct mpr_code_calls){ code->frames, (uint32_t)count + !count };
    mpr_index_set(&code->call_at, key, code->calls);
    if (!count) add_unnamed(code, reader, node);
    for (size_t i = 0; i < count; i++) {
        struct mpr_code_frame frame = named_call(code, sites, n, &symbol[i]);
        frame.inlined = i + 1 < count;
        add_frame(code, &frame);
    }
    return *calls;
}

static uint32_t of_native(struct mpr_code *code, const struct mpr_reader *reader, uint32_t node)
{
    const struct mpr_stack_node *tree = reader->replay.sites.stacks.node;
    MPR_REACH(code->of_native, node, code->natives);
    if (!node || code->of_native[node]) return code->of_native[node];
    size_t frames = 0;
    for (uint32_t n = node; n; n = tree[n].parent) frames += calls_at(code, reader, n).count;
    uint32_t *frame = mpr_arena_alloc(&code->arena, frames * sizeof *frame), *at = frame;
    for (uint32_t n = node; n; n = tree[n].parent) {
        const struct mpr_code_calls calls = calls_at(code, reader, n);
        for (uint32_t i = 0; i < calls.count; i++) *at++ = calls.first + i;
    }
    return code->of_native[node] = add_stack(code, frame, frames);
}

uint32_t mpr_code_of_site(struct mpr_code *code, const struct mpr_reader *reader,
                          struct mpr_site at)
{
    return at.python ? mpr_code_of_node(code, reader, at.python)
                     : of_native(code, reader, at.stack);
}
