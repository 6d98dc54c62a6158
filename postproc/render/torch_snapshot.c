/* The snapshot is a pickle of protocol 4, which is written sequentially: in a list each value is
 * followed by APPEND, in a dictionary it follows its key.
 *
 * Keys and types are those of PyTorch (torch/csrc/cuda/memory_snapshot.cpp), which its viewer and
 * other tools expect.  Each call stack and each frame is written once, at its first use. */
#include "exports.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "code.h"
#include "contents.h"
#include "index.h"
#include "torch_trace.h"
#include "utf8.h"

/* ---- pickle */

/* Opcodes that both Python and PyTorch's viewer can read, with the names of pickletools.py. */
enum opcode {
    PROTO = 0x80,
    STOP = '.',
    MARK = '(',
    EMPTY_LIST = ']',
    APPEND = 'a', /* adds one element.  APPENDS would exceed a browser's limit of arguments, because
                   * PyTorch's viewer passes its elements as arguments of one call */
    EMPTY_DICT = '}',
    SETITEMS = 'u',
    TUPLE2 = 0x86,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    BININT1 = 'K',
    BININT2 = 'M',
    BININT = 'J',
    LONG1 = 0x8a,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE = 'X',
    MEMOIZE = 0x94,
    BINGET = 'h',
    LONG_BINGET = 'j'
};

struct snapshot {
    FILE *out;
    const struct mpr_torch_export *of;
    struct mpr_code code;    /* the call stacks of all devices */
    uint32_t memos;          /* number of memoized values, which are written again by number */
    struct mpr_index word;   /* by address of a literal: memo + 1 */
    uint32_t *stack, *frame; /* by number: memo + 1 */
    uint32_t stacks, frames;
    bool expandable; /* some segments are expandable */
};

static void put(struct snapshot *s, enum opcode code) { fputc((int)code, s->out); }

/* Writes a number with its lowest byte first. */
static void put_bytes(struct snapshot *s, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) fputc((int)(value >> 8 * i & 0xff), s->out);
}

static void begin_dict(struct snapshot *s)
{
    put(s, EMPTY_DICT);
    put(s, MARK);
}

/* Memoizes the last value.  Returns its memo + 1. */
static uint32_t memoize(struct snapshot *s)
{
    put(s, MEMOIZE);
    return ++s->memos;
}

/* Writes a memoized value again.  Returns false if @memo, the result of memoize, is 0. */
static bool put_again(struct snapshot *s, uint32_t memo)
{
    if (!memo) return false;
    const bool is_short = memo - 1 < 256;
    put(s, is_short ? BINGET : LONG_BINGET);
    put_bytes(s, memo - 1, is_short ? 1 : 4);
    return true;
}

/* Python's integers are signed, so the highest bit of the last byte must be 0.  Only a damaged log
 * has a number above 2^63. */
static void put_number(struct snapshot *s, uint64_t number)
{
    unsigned bytes = 1;
    if (number > INT64_MAX) number = INT64_MAX;
    while (bytes < 8 && number >> (8 * bytes - 1)) bytes++;
    put(s, number < 256 ? BININT1 : number < 65536 ? BININT2 : bytes <= 4 ? BININT : LONG1);
    if (bytes > 4) put_bytes(s, bytes, 1);
    put_bytes(s, number, number < 256 ? 1 : number < 65536 ? 2 : bytes <= 4 ? 4 : bytes);
}

static void put_text(struct snapshot *s, const char *text, size_t bytes)
{
    const bool is_short = bytes < 256;
    put(s, is_short ? SHORT_BINUNICODE : BINUNICODE);
    put_bytes(s, bytes, is_short ? 1 : 4);
    fwrite(text, 1, bytes, s->out);
}

/* Writes a literal, which is memoized: a key, or one of a few words. */
static void put_word(struct snapshot *s, const char *literal)
{
    const uint64_t key = (uintptr_t)literal;
    if (put_again(s, mpr_index_get(&s->word, key))) return;
    put_text(s, literal, strlen(literal));
    mpr_index_set(&s->word, key, memoize(s));
}

static void member_word(struct snapshot *s, const char *key, const char *literal)
{
    put_word(s, key);
    put_word(s, literal);
}

static void member_text(struct snapshot *s, const char *key, const char *text)
{
    size_t bytes;
    char *mended = mpr_utf8_repaired(text, &bytes);
    put_word(s, key);
    put_text(s, mended ? mended : text, bytes);
    free(mended);
}

static void member_number(struct snapshot *s, const char *key, uint64_t number)
{
    put_word(s, key);
    put_number(s, number);
}

static void member_flag(struct snapshot *s, const char *key, bool flag)
{
    put_word(s, key);
    put(s, flag ? NEWTRUE : NEWFALSE);
}

static void member_time(struct snapshot *s, uint64_t ns)
{
    member_number(s, "time_us", (s->of->survey->summary.process.start_ns + ns) / 1000);
}

/* ---- call stacks */

/* Writes "AdamW.step" as "step", as PyTorch does, and "Layer.forward [layers.5]" as "forward
 * [layers.5]". */
static void put_frame(struct snapshot *s, uint32_t number)
{
    const struct mpr_code_frame *f = &s->code.frame[number];
    const char *name = f->function, *end = name + strlen(f->frame->name);
    MPR_REACH(s->frame, number, s->frames);
    if (put_again(s, s->frame[number])) return;
    const bool native = f->address;
    for (const char *at = name; !native && at < end; at++)
        if (*at == '.' && at + 1 < end) name = at + 1;
    begin_dict(s);
    member_text(s, "name", name);
    member_text(s, "filename", f->frame->path);
    member_number(s, "line", f->frame->line);
    put(s, SETITEMS);
    s->frame[number] = memoize(s);
}

static void member_frames(struct snapshot *s, uint32_t number)
{
    const struct mpr_code_stack stack = mpr_code_stack(&s->code, number);
    put_word(s, "frames");
    MPR_REACH(s->stack, number, s->stacks);
    if (put_again(s, s->stack[number])) return;
    put(s, EMPTY_LIST);
    for (size_t i = 0; i < stack.frames; i++) {
        put_frame(s, stack.frame[i]);
        put(s, APPEND);
    }
    s->stack[number] = memoize(s);
}

/* ---- traces */

static void put_entry(struct snapshot *s, const struct mpr_torch_entry *e, const char *action)
{
    const bool oom = e->action == MPR_TORCH_OOM;
    begin_dict(s);
    member_word(s, "action", action);
    member_number(s, oom ? "device_free" : "addr", oom && e->addr == UINT64_MAX ? 0 : e->addr);
    member_number(s, "size", e->size);
    member_number(s, "stream", e->stream);
    member_time(s, e->time_ns);
    member_frames(s, e->stack);
    put(s, SETITEMS);
    put(s, APPEND);
}

static void put_action(void *arg, const struct mpr_torch_entry *e)
{
    struct snapshot *s = arg;
    static const char *const action[] = { [MPR_TORCH_ALLOC] = "alloc",
                                          [MPR_TORCH_FREE] = "free_requested",
                                          [MPR_TORCH_SEGMENT_ALLOC] = "segment_alloc",
                                          [MPR_TORCH_SEGMENT_FREE] = "segment_free",
                                          [MPR_TORCH_SEGMENT_MAP] = "segment_map",
                                          [MPR_TORCH_SEGMENT_UNMAP] = "segment_unmap",
                                          [MPR_TORCH_OOM] = "oom" };
    static_assert(sizeof action / sizeof *action == MPR_TORCH_OOM + 1, "each action has a name");
    s->expandable |= e->action == MPR_TORCH_SEGMENT_MAP;
    put_entry(s, e, action[e->action]);
    if (e->action == MPR_TORCH_FREE) put_entry(s, e, "free_completed");
}

static int put_traces(struct snapshot *s, struct mpr_torch_state *state,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_torch_export *of = s->of;
    struct mpr_torch_options options = { .min_bytes = of->min_bytes,
                                         .from_ns = of->from_ns,
                                         .until_ns = of->until_ns,
                                         .report = put_action,
                                         .arg = s };
    put_word(s, "device_traces");
    put(s, EMPTY_LIST);
    for (; options.device < of->survey->devices; options.device++) {
        put(s, EMPTY_LIST);
        if (mpr_torch_trace_read(&state[options.device], &s->code, of->log, &options, progress,
                                 error) != 0)
            return -1;
        put(s, APPEND);
    }
    return 0;
}

/* ---- annotations */

static void annotate(struct snapshot *s, const struct mpr_range_event *event, const char *name)
{
    begin_dict(s);
    member_text(s, "name", name);
    member_word(s, "stage", event->begins ? "START" : "END");
    member_number(s, "device", 0);
    member_time(s, event->time_ns);
    put(s, SETITEMS);
    put(s, APPEND);
}

/* Writes the begin or end of a range of the application or of PyTorch.  The application's step is
 * put into another range, which has the name that torch.profiler gives to steps. */
static void put_range_event(void *arg, const struct mpr_range_event *event)
{
    struct snapshot *s = arg;
    char step[40] = "";
    if (*event->domain && strcmp(event->domain, "torch") != 0) return;
    if (event->step && !*event->domain)
        snprintf(step, sizeof step, "ProfilerStep#%" PRIu64, event->step - 1);
    if (*step && event->begins) annotate(s, event, step);
    annotate(s, event, event->name);
    if (*step && !event->begins) annotate(s, event, step);
}

static int put_annotations(struct snapshot *s, const struct mpr_progress *progress,
                           struct mpr_error *error)
{
    const struct mpr_range_events_options options = { .step = s->of->survey->step,
                                                      .from_ns = s->of->from_ns,
                                                      .until_ns = s->of->until_ns,
                                                      .report = put_range_event,
                                                      .arg = s };
    put_word(s, "external_annotations");
    put(s, EMPTY_LIST);
    return mpr_range_events_read(s->of->log, &options, progress, error);
}

/* ---- segments */

static void put_block(struct snapshot *s, const char *state, uint64_t addr, uint64_t size,
                      uint32_t stack)
{
    if (!size) return;
    begin_dict(s);
    member_number(s, "address", addr);
    member_number(s, "size", size);
    member_number(s, "requested_size", size);
    member_word(s, "state", state);
    member_frames(s, stack);
    put(s, SETITEMS);
    put(s, APPEND);
}

static void put_segment(struct snapshot *s, unsigned device,
                        const struct mpr_torch_segment *segment)
{
    uint64_t live = 0, cursor = segment->addr;
    for (size_t i = 0; i < segment->blocks; i++) live += segment->block[i].size;
    begin_dict(s);
    member_number(s, "device", device);
    member_number(s, "address", segment->addr);
    member_number(s, "total_size", segment->size);
    member_number(s, "allocated_size", live);
    member_number(s, "active_size", live);
    member_number(s, "requested_size", live);
    member_number(s, "stream", segment->stream);
    member_word(s, "segment_type", segment->small ? "small" : "large");
    put_word(s, "segment_pool_id");
    put_number(s, segment->pool[0]);
    put_number(s, segment->pool[1]);
    put(s, TUPLE2);
    member_flag(s, "is_expandable", segment->expandable);
    member_frames(s, segment->stack);
    put_word(s, "blocks");
    put(s, EMPTY_LIST);
    for (const struct mpr_torch_block *b = segment->block; b < segment->block + segment->blocks;
         b++) {
        put_block(s, "inactive", cursor, b->addr - cursor, 0);
        put_block(s, "active_allocated", b->addr, b->size, b->stack);
        cursor = b->addr + b->size;
    }
    put_block(s, "inactive", cursor, segment->addr + segment->size - cursor, 0);
    put(s, SETITEMS);
    put(s, APPEND);
}

/* ---- the snapshot */

static int put_all(struct snapshot *s, struct mpr_torch_state *state,
                   const struct mpr_progress *progress, struct mpr_error *error)
{
    enum { PROTOCOL = 4 };
    put(s, PROTO);
    put_bytes(s, PROTOCOL, 1);
    begin_dict(s);
    if (put_traces(s, state, progress, error) != 0 || put_annotations(s, progress, error) != 0)
        return -1;
    put_word(s, "segments");
    put(s, EMPTY_LIST);
    for (unsigned i = 0; i < s->of->survey->devices; i++)
        for (size_t k = 0; k < state[i].segments; k++) put_segment(s, i, &state[i].segment[k]);
    put_word(s, "allocator_settings");
    begin_dict(s);
    member_flag(s, "expandable_segments", s->expandable);
    put(s, SETITEMS);
    put(s, SETITEMS);
    put(s, STOP);
    return 0;
}

int mpr_torch_snapshot_write(FILE *out, const struct mpr_torch_export *of,
                             const struct mpr_progress *progress, struct mpr_error *error)
{
    struct snapshot s = { .out = out, .of = of };
    struct mpr_torch_state *state = mpr_alloc(of->survey->devices, sizeof *state);
    const int status = put_all(&s, state, progress, error);
    for (unsigned i = 0; i < of->survey->devices; i++) mpr_torch_state_free(&state[i]);
    free(state);
    mpr_code_free(&s.code);
    mpr_index_free(&s.word);
    free(s.stack);
    free(s.frame);
    return status;
}
