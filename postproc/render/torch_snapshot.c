/* Names and shapes are PyTorch's (torch/csrc/cuda/memory_snapshot.cpp), for its viewer and others
 * to find them.  Call stacks and their frames are written once each, at their first use. */
#include "torch_snapshot.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "code.h"
#include "range_turns.h"
#include "torch_trace.h"

static uint64_t time_us(const struct mpr_torch_snapshot *s, uint64_t ns)
{
    return (s->start_ns + ns) / 1000;
}

/* ---- call stacks */

/* "AdamW.step" is "step" there; a module's path behind it, "forward [layers.5]", stays. */
static const char *own_name(const struct mpr_code_frame *f)
{
    const char *own = f->function, *end = own + strlen(f->frame->name);
    if (f->address) return own; /* of no Python */
    for (const char *at = own; at < end; at++)
        if (*at == '.' && at + 1 < end) own = at + 1;
    return own;
}

static void put_frame(struct mpr_torch_snapshot *s, uint32_t number)
{
    struct mpr_pickle *p = &s->pickle;
    const struct mpr_code_frame *f = &s->code->frame[number];
    MPR_REACH(s->frame, number, s->frames);
    if (s->frame[number]) {
        mpr_pickle_again(p, s->frame[number] - 1);
        return;
    }
    mpr_pickle_dict(p);
    mpr_pickle_member_text(p, "name", own_name(f));
    mpr_pickle_member_text(p, "filename", f->frame->path);
    mpr_pickle_member_number(p, "line", f->frame->line);
    mpr_pickle_dict_end(p);
    s->frame[number] = mpr_pickle_keep(p) + 1;
}

static void put_frames(struct mpr_torch_snapshot *s, uint32_t number)
{
    struct mpr_pickle *p = &s->pickle;
    const struct mpr_code_stack stack = mpr_code_stack(s->code, number);
    mpr_pickle_word(p, "frames");
    MPR_REACH(s->stack, number, s->stacks);
    if (s->stack[number]) {
        mpr_pickle_again(p, s->stack[number] - 1);
        return;
    }
    mpr_pickle_list(p);
    for (size_t i = 0; i < stack.frames; i++) {
        put_frame(s, stack.frame[i]);
        mpr_pickle_append(p);
    }
    s->stack[number] = mpr_pickle_keep(p) + 1;
}

/* ---- traces */

void mpr_torch_snapshot_begin(struct mpr_torch_snapshot *s, FILE *out, const struct mpr_code *code,
                              uint64_t start_ns)
{
    *s = (struct mpr_torch_snapshot){ .code = code, .start_ns = start_ns };
    mpr_pickle_begin(&s->pickle, out);
    mpr_pickle_dict(&s->pickle);
    mpr_pickle_word(&s->pickle, "device_traces");
    mpr_pickle_list(&s->pickle);
}

void mpr_torch_snapshot_trace(struct mpr_torch_snapshot *s) { mpr_pickle_list(&s->pickle); }

void mpr_torch_snapshot_trace_end(struct mpr_torch_snapshot *s) { mpr_pickle_append(&s->pickle); }

static void put_entry(struct mpr_torch_snapshot *s, const struct mpr_torch_entry *e,
                      const char *action)
{
    struct mpr_pickle *p = &s->pickle;
    const bool oom = e->action == MPR_TORCH_OOM;
    mpr_pickle_dict(p);
    mpr_pickle_member_word(p, "action", action);
    mpr_pickle_member_number(p, oom ? "device_free" : "addr",
                             oom && e->addr == UINT64_MAX ? 0 : e->addr);
    mpr_pickle_member_number(p, "size", e->size);
    mpr_pickle_member_number(p, "stream", e->stream);
    mpr_pickle_member_number(p, "time_us", time_us(s, e->time_ns));
    put_frames(s, e->stack);
    mpr_pickle_dict_end(p);
    mpr_pickle_append(p);
}

void mpr_torch_snapshot_entry(struct mpr_torch_snapshot *s, const struct mpr_torch_entry *e)
{
    static const char *const action[] = { [MPR_TORCH_ALLOC] = "alloc",
                                          [MPR_TORCH_FREE] = "free_requested",
                                          [MPR_TORCH_SEGMENT_ALLOC] = "segment_alloc",
                                          [MPR_TORCH_SEGMENT_FREE] = "segment_free",
                                          [MPR_TORCH_SEGMENT_MAP] = "segment_map",
                                          [MPR_TORCH_SEGMENT_UNMAP] = "segment_unmap",
                                          [MPR_TORCH_OOM] = "oom" };
    static_assert(sizeof action / sizeof *action == MPR_TORCH_OOM + 1, "each action is here");
    s->expandable |= e->action == MPR_TORCH_SEGMENT_MAP;
    put_entry(s, e, action[e->action]);
    if (e->action == MPR_TORCH_FREE) put_entry(s, e, "free_completed");
}

/* ---- annotations */

void mpr_torch_snapshot_annotations(struct mpr_torch_snapshot *s)
{
    mpr_pickle_word(&s->pickle, "external_annotations");
    mpr_pickle_list(&s->pickle);
}

static void annotate(struct mpr_torch_snapshot *s, const struct mpr_range_turn *turn,
                     const char *name)
{
    struct mpr_pickle *p = &s->pickle;
    mpr_pickle_dict(p);
    mpr_pickle_member_text(p, "name", name);
    mpr_pickle_member_word(p, "stage", turn->begins ? "START" : "END");
    mpr_pickle_member_number(p, "device", 0);
    mpr_pickle_member_number(p, "time_us", time_us(s, turn->time_ns));
    mpr_pickle_dict_end(p);
    mpr_pickle_append(p);
}

/* Of the application and of PyTorch; and the application's steps by the name that torch.profiler
 * gives steps, around the range that they are told by. */
void mpr_torch_snapshot_turn(struct mpr_torch_snapshot *s, const struct mpr_range_turn *turn)
{
    char step[40] = "";
    if (*turn->domain && strcmp(turn->domain, "torch") != 0) return;
    if (turn->step && !*turn->domain)
        snprintf(step, sizeof step, "ProfilerStep#%" PRIu64, turn->step - 1);
    if (*step && turn->begins) annotate(s, turn, step);
    annotate(s, turn, turn->name);
    if (*step && !turn->begins) annotate(s, turn, step);
}

/* ---- segments */

void mpr_torch_snapshot_segments(struct mpr_torch_snapshot *s)
{
    mpr_pickle_word(&s->pickle, "segments");
    mpr_pickle_list(&s->pickle);
}

static void put_block(struct mpr_torch_snapshot *s, const char *state, uint64_t addr, uint64_t size,
                      uint32_t stack)
{
    struct mpr_pickle *p = &s->pickle;
    if (!size) return;
    mpr_pickle_dict(p);
    mpr_pickle_member_number(p, "address", addr);
    mpr_pickle_member_number(p, "size", size);
    mpr_pickle_member_number(p, "requested_size", size);
    mpr_pickle_member_word(p, "state", state);
    put_frames(s, stack);
    mpr_pickle_dict_end(p);
    mpr_pickle_append(p);
}

static void put_blocks(struct mpr_torch_snapshot *s, const struct mpr_torch_segment *segment)
{
    uint64_t cursor = segment->addr;
    mpr_pickle_word(&s->pickle, "blocks");
    mpr_pickle_list(&s->pickle);
    for (size_t i = 0; i < segment->blocks; i++) {
        const struct mpr_torch_block *b = &segment->block[i];
        put_block(s, "inactive", cursor, b->addr - cursor, 0);
        put_block(s, "active_allocated", b->addr, b->size, b->stack);
        cursor = b->addr + b->size;
    }
    put_block(s, "inactive", cursor, segment->addr + segment->size - cursor, 0);
}

static uint64_t allocated(const struct mpr_torch_segment *segment)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < segment->blocks; i++) bytes += segment->block[i].size;
    return bytes;
}

static void put_segment(struct mpr_torch_snapshot *s, unsigned device,
                        const struct mpr_torch_segment *segment)
{
    struct mpr_pickle *p = &s->pickle;
    const uint64_t bytes = allocated(segment);
    mpr_pickle_dict(p);
    mpr_pickle_member_number(p, "device", device);
    mpr_pickle_member_number(p, "address", segment->addr);
    mpr_pickle_member_number(p, "total_size", segment->size);
    mpr_pickle_member_number(p, "allocated_size", bytes);
    mpr_pickle_member_number(p, "active_size", bytes);
    mpr_pickle_member_number(p, "requested_size", bytes);
    mpr_pickle_member_number(p, "stream", segment->stream);
    mpr_pickle_member_word(p, "segment_type", segment->small ? "small" : "large");
    mpr_pickle_word(p, "segment_pool_id");
    mpr_pickle_number(p, segment->pool[0]);
    mpr_pickle_number(p, segment->pool[1]);
    mpr_pickle_pair(p);
    mpr_pickle_member_flag(p, "is_expandable", segment->expandable);
    put_frames(s, segment->stack);
    put_blocks(s, segment);
    mpr_pickle_dict_end(p);
    mpr_pickle_append(p);
}

void mpr_torch_snapshot_state(struct mpr_torch_snapshot *s, unsigned device,
                              const struct mpr_torch_state *state)
{
    for (size_t i = 0; i < state->segments; i++) put_segment(s, device, &state->segment[i]);
}

/* ---- the end */

void mpr_torch_snapshot_end(struct mpr_torch_snapshot *s)
{
    struct mpr_pickle *p = &s->pickle;
    mpr_pickle_word(p, "allocator_settings");
    mpr_pickle_dict(p);
    mpr_pickle_member_flag(p, "expandable_segments", s->expandable);
    mpr_pickle_dict_end(p);
    mpr_pickle_dict_end(p);
    mpr_pickle_end(p);
}

void mpr_torch_snapshot_free(struct mpr_torch_snapshot *s)
{
    mpr_pickle_free(&s->pickle);
    free(s->stack);
    free(s->frame);
}
