/* Values of the machine refer to objects by number.  An object begins as an empty dictionary or
 * list.  A dictionary becomes a row when its items are set; later items are ignored.  A list of
 * frames becomes a call stack when it is a member of a dictionary; equal stacks are one. */
#include "pickle.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "index.h"
#include "map.h"

/* ---- objects and values */

enum kind { NEW_DICT, OTHER_DICT, LIST, FRAME, STACK, ENTRY, BLOCK, SEGMENT, ANNOTATION };

struct mpr_pickle_object {
    uint32_t row; /* in the table of its kind */
    uint8_t kind;
};

struct mpr_pickle_list {
    uint32_t *object; /* numbers */
    uint32_t objects, cap;
    uint32_t next_unused;
};

enum type { NONE, MARKER, FLAG, INTEGER, OTHER_NUMBER, TEXT, PAIR, OBJECT };

struct value {
    uint64_t number; /* TEXT: offset in the file.  PAIR: index of its first number */
    uint32_t bytes;  /* of a text */
    uint8_t type;
};

struct machine {
    struct mpr_pickle *out;
    const char *path;
    struct mpr_error *error;
    size_t at; /* offset of the next byte */
    struct value *stack, *memo;
    size_t depth, stack_cap, memos, memo_cap;
    uint64_t *pair; /* two numbers for each */
    size_t pairs, pair_cap;
    struct mpr_index stack_of; /* by hash of a call stack: numbers */
    bool done;
};

/* More values at once have no snapshot: Python writes lists in pieces of a thousand, and PyTorch's
 * own writer a trace at once. */
enum { DEPTH_MAX = 1 << 24 };

static int fail(struct machine *m, const char *reason)
{
    return mpr_fail(m->error, "%s: offset %zu: %s, so it is not a memory snapshot of PyTorch",
                    m->path, m->at, reason);
}

/* ---- bytes */

static bool has(const struct machine *m, size_t bytes) { return m->out->bytes - m->at >= bytes; }

/* Reads a number, least byte first. */
static int read_number(struct machine *m, unsigned bytes, uint64_t *number)
{
    *number = 0;
    if (!has(m, bytes)) return mpr_fail(m->error, "%s: the file ends inside of a value", m->path);
    for (unsigned i = 0; i < bytes; i++) *number |= (uint64_t)m->out->data[m->at + i] << 8 * i;
    m->at += bytes;
    return 0;
}

/* ---- the machine's stack and memo */

static int push(struct machine *m, struct value value)
{
    if (m->depth == DEPTH_MAX) return fail(m, "too many values");
    *MPR_ADD(m->stack, m->depth, m->stack_cap) = value;
    return 0;
}

/* Returns the index of the newest mark, or SIZE_MAX. */
static size_t newest_mark(const struct machine *m)
{
    for (size_t i = m->depth; i-- > 0;)
        if (m->stack[i].type == MARKER) return i;
    return SIZE_MAX;
}

static int push_object(struct machine *m, enum kind kind)
{
    struct mpr_pickle *p = m->out;
    *MPR_ADD(p->object, p->objects, p->object_cap) =
        (struct mpr_pickle_object){ .kind = (uint8_t)kind };
    return push(m, (struct value){ .type = OBJECT, .number = p->objects - 1 });
}

static int memoize(struct machine *m, uint64_t place)
{
    if (!m->depth) return fail(m, "nothing to remember");
    if (place > m->memos) return fail(m, "values are remembered out of order");
    if (place == m->memos) {
        MPR_GROW(m->memo, m->memos, m->memo_cap);
        m->memos++;
    }
    m->memo[place] = m->stack[m->depth - 1];
    return 0;
}

static int recall(struct machine *m, uint64_t place)
{
    if (place >= m->memos) return fail(m, "a value is used that was not remembered");
    return push(m, m->memo[place]);
}

/* ---- lists and call stacks */

static struct mpr_pickle_object *object_of(const struct machine *m, const struct value *v)
{
    return v->type == OBJECT ? &m->out->object[v->number] : NULL;
}

static uint32_t new_list(struct mpr_pickle *p)
{
    uint32_t number = p->unused_list;
    if (number) {
        p->unused_list = p->list[number].next_unused;
        p->list[number].objects = 0;
        return number;
    }
    *MPR_ADD(p->list, p->lists, p->list_cap) = (struct mpr_pickle_list){ .objects = 0 };
    return p->lists - 1;
}

static int append(struct machine *m, const struct value *list, const struct value *value,
                  size_t count)
{
    struct mpr_pickle *p = m->out;
    struct mpr_pickle_object *o = object_of(m, list);
    if (!o || (o->kind != LIST && o->kind != STACK)) return fail(m, "an append to another value");
    if (o->kind == STACK) return 0;
    if (!o->row) o->row = new_list(p);
    struct mpr_pickle_list *l = &p->list[o->row];
    for (size_t i = 0; i < count; i++) {
        if (value[i].type != OBJECT) continue;
        *MPR_ADD(l->object, l->objects, l->cap) = (uint32_t)value[i].number;
    }
    return 0;
}

static bool is_stack(const struct mpr_pickle *p, uint32_t number, const uint32_t *frame,
                     uint32_t frames)
{
    const struct mpr_pickle_stack *s = &p->stack[number];
    return s->frames == frames &&
           memcmp(&p->stack_frame[s->first], frame, frames * sizeof *frame) == 0;
}

/* Returns the number of the call stack with these frames. */
static uint32_t intern_stack(struct machine *m, const uint32_t *frame, uint32_t frames)
{
    struct mpr_pickle *p = m->out;
    uint64_t hash = 0;
    for (uint32_t i = 0; i < frames; i++) hash = mpr_hash(hash + frame[i]);
    MPR_INDEX_EACH(number, &m->stack_of, hash)
        if (is_stack(p, number, frame, frames)) return number;
    MPR_GROW(p->stack, p->stacks, p->stack_cap);
    p->stack[p->stacks] = (struct mpr_pickle_stack){ p->stack_frames, frames };
    for (uint32_t i = 0; i < frames; i++)
        *MPR_ADD(p->stack_frame, p->stack_frames, p->stack_frame_cap) = frame[i];
    mpr_index_add(&m->stack_of, hash, p->stacks);
    return p->stacks++;
}

/* Returns the call stack of a list of frames, or 0.  The list becomes the stack. */
static uint32_t stack_of(struct machine *m, const struct value *v)
{
    struct mpr_pickle *p = m->out;
    struct mpr_pickle_object *o = object_of(m, v);
    if (!o || (o->kind != LIST && o->kind != STACK) || !o->row) return 0;
    if (o->kind == STACK) return o->row;
    struct mpr_pickle_list *l = &p->list[o->row];
    uint32_t frames = 0;
    for (uint32_t i = 0; i < l->objects; i++) {
        const struct mpr_pickle_object *f = &p->object[l->object[i]];
        if (f->kind == FRAME) l->object[frames++] = f->row;
    }
    const uint32_t number = frames ? intern_stack(m, l->object, frames) : 0;
    l->next_unused = p->unused_list;
    p->unused_list = o->row;
    o->kind = STACK;
    o->row = number;
    return number;
}

/* ---- dictionaries */

// clang-format off
#define KEYS(X)                                                                                    \
    X(action) X(addr) X(address) X(blocks) X(device) X(device_free) X(device_traces)               \
    X(external_annotations) X(filename) X(frames) X(is_expandable) X(line) X(name)                 \
    X(requested_size) X(segment_pool_id) X(segments) X(size) X(stage) X(state) X(stream)           \
    X(time_us) X(total_size)
// clang-format on

enum key {
#define X(name) KEY_##name,
    KEYS(X)
#undef X
        KEY_COUNT
};
static const char *const key_names[] = {
#define X(name) #name,
    KEYS(X)
#undef X
};

struct fields {
    const struct value *at[KEY_COUNT]; /* NULL if the dictionary does not have it */
};

static bool is_text(const struct machine *m, const struct value *v, const char *text)
{
    return v && v->type == TEXT && v->bytes == strlen(text) &&
           memcmp(m->out->data + v->number, text, v->bytes) == 0;
}

static struct fields fields_of(const struct machine *m, const struct value *item, size_t items)
{
    struct fields f = { { NULL } };
    for (size_t i = 0; i + 1 < items; i += 2) {
        if (item[i].type != TEXT || !item[i].bytes) continue;
        const char first = (char)m->out->data[item[i].number];
        for (size_t k = 0; k < KEY_COUNT; k++) {
            if (key_names[k][0] != first || !is_text(m, &item[i], key_names[k])) continue;
            f.at[k] = &item[i + 1];
            break;
        }
    }
    return f;
}

static uint64_t number_or(const struct fields *f, enum key key, uint64_t otherwise)
{
    const struct value *v = f->at[key];
    return v && (v->type == INTEGER || v->type == FLAG) ? v->number : otherwise;
}

static uint64_t number_of(const struct fields *f, enum key key) { return number_or(f, key, 0); }

static struct mpr_pickle_text text_of(const struct fields *f, enum key key)
{
    const struct value *v = f->at[key];
    if (!v || v->type != TEXT) return (struct mpr_pickle_text){ 0, 0 };
    return (struct mpr_pickle_text){ v->number, v->bytes };
}

static uint32_t frames_of(struct machine *m, const struct fields *f)
{
    return f->at[KEY_frames] ? stack_of(m, f->at[KEY_frames]) : 0;
}

static uint32_t list_of(const struct machine *m, const struct fields *f, enum key key)
{
    const struct mpr_pickle_object *o = f->at[key] ? object_of(m, f->at[key]) : NULL;
    return o && o->kind == LIST ? o->row : 0;
}

static enum mpr_pickle_action action_of(const struct machine *m, const struct value *v)
{
    static const char *const names[] = {
        [MPR_PICKLE_ALLOC] = "alloc",
        [MPR_PICKLE_FREE_REQUESTED] = "free_requested",
        [MPR_PICKLE_FREE_COMPLETED] = "free_completed",
        [MPR_PICKLE_SEGMENT_ALLOC] = "segment_alloc",
        [MPR_PICKLE_SEGMENT_FREE] = "segment_free",
        [MPR_PICKLE_SEGMENT_MAP] = "segment_map",
        [MPR_PICKLE_SEGMENT_UNMAP] = "segment_unmap",
        [MPR_PICKLE_OOM] = "oom",
    };
    for (unsigned i = 0; i < MPR_PICKLE_OTHER; i++)
        if (is_text(m, v, names[i])) return (enum mpr_pickle_action)i;
    return MPR_PICKLE_OTHER;
}

static uint32_t add_entry(struct machine *m, const struct fields *f)
{
    struct mpr_pickle *p = m->out;
    const struct mpr_pickle_entry e = {
        .addr = number_of(f, KEY_addr),
        .size = number_of(f, KEY_size),
        .stream = number_of(f, KEY_stream),
        .time_us = number_or(f, KEY_time_us, UINT64_MAX),
        .device_free = number_or(f, KEY_device_free, UINT64_MAX),
        .stack = frames_of(m, f),
        .action = (uint8_t)action_of(m, f->at[KEY_action]),
    };
    *MPR_ADD(p->entry, p->entries, p->entry_cap) = e;
    return p->entries - 1;
}

static uint32_t add_frame(struct machine *m, const struct fields *f)
{
    struct mpr_pickle *p = m->out;
    *MPR_ADD(p->frame, p->frames, p->frame_cap) =
        (struct mpr_pickle_frame){ text_of(f, KEY_name), text_of(f, KEY_filename),
                                   number_of(f, KEY_line) };
    return p->frames - 1;
}

static uint32_t add_block(struct machine *m, const struct fields *f)
{
    struct mpr_pickle *p = m->out;
    const struct mpr_pickle_block b = {
        .addr = number_of(f, KEY_address),
        .size = number_of(f, KEY_size),
        .requested = number_of(f, KEY_requested_size),
        .stack = frames_of(m, f),
        .allocated = is_text(m, f->at[KEY_state], "active_allocated"),
    };
    *MPR_ADD(p->block, p->blocks, p->block_cap) = b;
    return p->blocks - 1;
}

static uint32_t add_segment(struct machine *m, const struct fields *f)
{
    struct mpr_pickle *p = m->out;
    const struct value *pool = f->at[KEY_segment_pool_id];
    struct mpr_pickle_segment s = {
        .addr = number_of(f, KEY_address),
        .size = number_of(f, KEY_total_size),
        .stream = number_of(f, KEY_stream),
        .device = number_of(f, KEY_device),
        .stack = frames_of(m, f),
        .expandable = number_of(f, KEY_is_expandable) != 0,
        .list = list_of(m, f, KEY_blocks),
    };
    if (pool && pool->type == PAIR) memcpy(s.pool, &m->pair[2 * pool->number], sizeof s.pool);
    *MPR_ADD(p->segment, p->segments, p->segment_cap) = s;
    return p->segments - 1;
}

static uint32_t add_annotation(struct machine *m, const struct fields *f)
{
    struct mpr_pickle *p = m->out;
    *MPR_ADD(p->annotation, p->annotations, p->annotation_cap) =
        (struct mpr_pickle_annotation){ text_of(f, KEY_name), number_or(f, KEY_time_us, UINT64_MAX),
                                        is_text(m, f->at[KEY_stage], "START") };
    return p->annotations - 1;
}

static void note_outermost(struct machine *m, const struct fields *f)
{
    struct mpr_pickle *p = m->out;
    if (f->at[KEY_device_traces]) p->traces = list_of(m, f, KEY_device_traces);
    if (f->at[KEY_segments]) p->all_segments = list_of(m, f, KEY_segments);
    if (f->at[KEY_external_annotations])
        p->all_annotations = list_of(m, f, KEY_external_annotations);
}

/* Sets items of a dictionary: keys and values in turn. */
static int set_items(struct machine *m, const struct value *dict, const struct value *item,
                     size_t items)
{
    const struct mpr_pickle_object *o = object_of(m, dict);
    if (!o || o->kind == LIST || o->kind == STACK || items % 2)
        return fail(m, "items of another value than a dictionary");
    const struct fields f = fields_of(m, item, items);
    const uint32_t number = (uint32_t)dict->number;
    enum kind kind = OTHER_DICT;
    uint32_t row = 0;
    note_outermost(m, &f);
    if (o->kind != NEW_DICT) return 0;
    if (f.at[KEY_action]) row = add_entry(m, &f), kind = ENTRY;
    else if (f.at[KEY_filename] && f.at[KEY_line]) row = add_frame(m, &f), kind = FRAME;
    else if (f.at[KEY_blocks]) row = add_segment(m, &f), kind = SEGMENT;
    else if (f.at[KEY_state]) row = add_block(m, &f), kind = BLOCK;
    else if (f.at[KEY_stage]) row = add_annotation(m, &f), kind = ANNOTATION;
    m->out->object[number] = (struct mpr_pickle_object){ row, (uint8_t)kind };
    return 0;
}

/* ---- opcodes; names as in pickletools.py */

enum opcode {
    MARK = '(',
    STOP = '.',
    POP = '0',
    POP_MARK = '1',
    BINFLOAT = 'G',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    NONE_VALUE = 'N',
    BINUNICODE = 'X',
    APPEND = 'a',
    APPENDS = 'e',
    BINGET = 'h',
    LONG_BINGET = 'j',
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    SETITEM = 's',
    TUPLE = 't',
    EMPTY_TUPLE = ')',
    SETITEMS = 'u',
    EMPTY_LIST = ']',
    EMPTY_DICT = '}',
    PROTO = 0x80,
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    LONG1 = 0x8a,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE8 = 0x8d,
    MEMOIZE = 0x94,
    FRAMING = 0x95
};

static int push_text(struct machine *m, unsigned bytes)
{
    uint64_t length;
    if (read_number(m, bytes, &length) != 0) return -1;
    if (!has(m, length) || length > UINT32_MAX)
        return mpr_fail(m->error, "%s: the file ends inside of a text", m->path);
    const struct value v = { .type = TEXT, .number = m->at, .bytes = (uint32_t)length };
    m->at += length;
    return push(m, v);
}

static int push_number(struct machine *m, unsigned bytes, bool is_signed)
{
    uint64_t number;
    if (read_number(m, bytes, &number) != 0) return -1;
    const bool negative = is_signed && bytes && bytes <= 8 && number >> (8 * bytes - 1);
    struct value value = { .type = OTHER_NUMBER };
    if (!negative) value = (struct value){ .type = INTEGER, .number = number };
    return push(m, value);
}

/* A number of up to 255 bytes.  Streams and addresses have up to 9, because the highest bit is the
 * sign. */
static int push_long(struct machine *m)
{
    uint64_t bytes, number, high;
    if (read_number(m, 1, &bytes) != 0) return -1;
    if (bytes <= 8) return push_number(m, (unsigned)bytes, true);
    if (read_number(m, 8, &number) != 0 || read_number(m, 1, &high) != 0) return -1;
    if (!has(m, bytes - 9))
        return mpr_fail(m->error, "%s: the file ends inside of a value", m->path);
    m->at += bytes - 9;
    return push(m, bytes == 9 && !high ? (struct value){ .type = INTEGER, .number = number }
                                       : (struct value){ .type = OTHER_NUMBER });
}

/* Replaces the newest values by a tuple.  Only pairs of numbers matter: the ids of pools. */
static int make_tuple(struct machine *m, size_t count)
{
    struct value v = { .type = OTHER_NUMBER };
    if (count > m->depth) return fail(m, "a tuple without values");
    const struct value *at = count ? &m->stack[m->depth - count] : NULL;
    if (count == 2 && at[0].type == INTEGER && at[1].type == INTEGER) {
        v = (struct value){ .type = PAIR, .number = m->pairs / 2 };
        *MPR_ADD(m->pair, m->pairs, m->pair_cap) = at[0].number;
        *MPR_ADD(m->pair, m->pairs, m->pair_cap) = at[1].number;
    }
    m->depth -= count;
    return push(m, v);
}

/* Applies the values above the newest mark to the value below it. */
static int apply_marked(struct machine *m, bool items)
{
    const size_t mark = newest_mark(m);
    if (mark == SIZE_MAX || !mark) return fail(m, "a mark is missing");
    const struct value *to = &m->stack[mark - 1], *first = &m->stack[mark + 1];
    const size_t count = m->depth - mark - 1;
    m->depth = mark;
    return items ? set_items(m, to, first, count) : append(m, to, first, count);
}

static int apply_newest(struct machine *m, size_t count, bool items)
{
    if (m->depth < count + 1) return fail(m, "a value is missing");
    m->depth -= count;
    const struct value *to = &m->stack[m->depth - 1], *first = &m->stack[m->depth];
    return items ? set_items(m, to, first, count) : append(m, to, first, count);
}

static int drop(struct machine *m, size_t depth)
{
    if (depth > m->depth) return fail(m, "a value is missing");
    m->depth = depth;
    return 0;
}

static int with_number(struct machine *m, unsigned bytes,
                       int (*act)(struct machine *m, uint64_t number))
{
    uint64_t number;
    return read_number(m, bytes, &number) != 0 ? -1 : act(m, number);
}

static int check_protocol(struct machine *m, uint64_t number)
{
    return number >= 2 && number <= 5 ? 0 : fail(m, "a pickle of an unknown protocol");
}

static int ignore(struct machine *m, uint64_t number)
{
    (void)m, (void)number;
    return 0;
}

static int run_one(struct machine *m, uint8_t opcode)
{
    switch (opcode) {
    case PROTO: return with_number(m, 1, check_protocol);
    case FRAMING: return with_number(m, 8, ignore);
    case BINFLOAT:
        return with_number(m, 8, ignore) != 0 ? -1
                                              : push(m, (struct value){ .type = OTHER_NUMBER });
    case MARK: return push(m, (struct value){ .type = MARKER });
    case STOP: m->done = true; return 0;
    case POP: return drop(m, m->depth - 1);
    case POP_MARK: return drop(m, newest_mark(m));
    case NONE_VALUE: return push(m, (struct value){ .type = NONE });
    case NEWTRUE: return push(m, (struct value){ .type = FLAG, .number = 1 });
    case NEWFALSE: return push(m, (struct value){ .type = FLAG });
    case BININT: return push_number(m, 4, true);
    case BININT1: return push_number(m, 1, false);
    case BININT2: return push_number(m, 2, false);
    case LONG1: return push_long(m);
    case SHORT_BINUNICODE: return push_text(m, 1);
    case BINUNICODE: return push_text(m, 4);
    case BINUNICODE8: return push_text(m, 8);
    case EMPTY_DICT: return push_object(m, NEW_DICT);
    case EMPTY_LIST: return push_object(m, LIST);
    case EMPTY_TUPLE: return make_tuple(m, 0);
    case TUPLE1: return make_tuple(m, 1);
    case TUPLE2: return make_tuple(m, 2);
    case TUPLE3: return make_tuple(m, 3);
    case TUPLE: {
        const size_t mark = newest_mark(m);
        if (mark == SIZE_MAX) return fail(m, "a mark is missing");
        const size_t count = m->depth - mark - 1;
        memmove(&m->stack[mark], &m->stack[mark + 1], count * sizeof *m->stack);
        m->depth--;
        return make_tuple(m, count);
    }
    case APPEND: return apply_newest(m, 1, false);
    case APPENDS: return apply_marked(m, false);
    case SETITEM: return apply_newest(m, 2, true);
    case SETITEMS: return apply_marked(m, true);
    case MEMOIZE: return memoize(m, m->memos);
    case BINPUT: return with_number(m, 1, memoize);
    case LONG_BINPUT: return with_number(m, 4, memoize);
    case BINGET: return with_number(m, 1, recall);
    case LONG_BINGET: return with_number(m, 4, recall);
    default: m->at--; return fail(m, "a value of an unknown type");
    }
}

/* ---- reading */

bool mpr_pickle_recognizes(const uint8_t *data, size_t bytes)
{
    return bytes > 2 && data[0] == PROTO && data[1] >= 2 && data[1] <= 5;
}

static int run(struct machine *m, struct mpr_map *map)
{
    enum { PAGES = 16 << 20 };
    while (!m->done) {
        if (m->at > map->dropped + PAGES) mpr_map_drop(map, m->at);
        if (!has(m, 1)) return mpr_fail(m->error, "%s: the snapshot is cut at its end", m->path);
        if (run_one(m, m->out->data[m->at++]) != 0) return -1;
    }
    if (m->out->traces || m->out->all_segments) return 0;
    return mpr_fail(m->error,
                    "%s: a pickle without 'device_traces' and 'segments', so it is not a "
                    "memory snapshot of PyTorch",
                    m->path);
}

int mpr_pickle_read(struct mpr_pickle *pickle, struct mpr_map *map, const char *path,
                    struct mpr_error *error)
{
    struct machine m = { .out = pickle, .path = path, .error = error };
    *pickle = (struct mpr_pickle){ .data = map->data, .bytes = map->size };
    /* row 0 of each table is empty and unused */
    *MPR_ADD(pickle->frame, pickle->frames, pickle->frame_cap) = (struct mpr_pickle_frame){ 0 };
    *MPR_ADD(pickle->stack, pickle->stacks, pickle->stack_cap) = (struct mpr_pickle_stack){ 0 };
    *MPR_ADD(pickle->entry, pickle->entries, pickle->entry_cap) = (struct mpr_pickle_entry){ 0 };
    *MPR_ADD(pickle->block, pickle->blocks, pickle->block_cap) = (struct mpr_pickle_block){ 0 };
    *MPR_ADD(pickle->segment, pickle->segments, pickle->segment_cap) =
        (struct mpr_pickle_segment){ 0 };
    *MPR_ADD(pickle->annotation, pickle->annotations, pickle->annotation_cap) =
        (struct mpr_pickle_annotation){ 0 };
    *MPR_ADD(pickle->list, pickle->lists, pickle->list_cap) = (struct mpr_pickle_list){ 0 };
    *MPR_ADD(pickle->object, pickle->objects, pickle->object_cap) = (struct mpr_pickle_object){ 0 };
    const int status = run(&m, map);
    free(m.stack);
    free(m.memo);
    free(m.pair);
    mpr_index_free(&m.stack_of);
    if (status != 0) mpr_pickle_free(pickle);
    return status;
}

void mpr_pickle_free(struct mpr_pickle *pickle)
{
    for (uint32_t i = 0; i < pickle->lists; i++) free(pickle->list[i].object);
    free(pickle->frame);
    free(pickle->stack);
    free(pickle->stack_frame);
    free(pickle->entry);
    free(pickle->block);
    free(pickle->segment);
    free(pickle->annotation);
    free(pickle->list);
    free(pickle->object);
    *pickle = (struct mpr_pickle){ .data = NULL };
}

/* ---- lists */

uint32_t mpr_pickle_length(const struct mpr_pickle *pickle, uint32_t list)
{
    return pickle->list[list].objects;
}

static uint32_t row_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index,
                       enum kind kind)
{
    const struct mpr_pickle_object *o = &pickle->object[pickle->list[list].object[index]];
    return o->kind == kind ? o->row : 0;
}

uint32_t mpr_pickle_entry_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index)
{
    return row_at(pickle, list, index, ENTRY);
}

uint32_t mpr_pickle_segment_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index)
{
    return row_at(pickle, list, index, SEGMENT);
}

uint32_t mpr_pickle_block_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index)
{
    return row_at(pickle, list, index, BLOCK);
}

uint32_t mpr_pickle_annotation_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index)
{
    return row_at(pickle, list, index, ANNOTATION);
}

uint32_t mpr_pickle_list_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index)
{
    return row_at(pickle, list, index, LIST);
}
