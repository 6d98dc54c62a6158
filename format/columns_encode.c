/* Invariants: the age table has, for each block address of this frame, the newest block with it. It
 * has at least twice as many entries as a frame has blocks, so a search always ends at an empty
 * one. An entry is one word, address and number, so that the table stays in the cache; addresses
 * that do not fit (not 16-aligned, beyond 2^48) have no age. */
#include "columns.h"

#include <stdbool.h>

#include "mpf/columns.h"
#include "mpf/event.h"
#include "mpf/frame.h"

/* Entries: addr >> 4 << BLOCK_BITS | number of the block, from 1; 0: empty. */
struct ages {
    uint64_t *entry;
    unsigned shift; /* 64 less the bits of their number */
};

/* State that changes with every event: a copy of it stays in registers while many are added. */
struct hot {
    uint8_t *at[COLUMNS];
    struct ages ages; /* grows into the spare one */
    uint8_t *class;   /* of each block */
    uint32_t events, blocks;
    uint32_t thread, thread_since; /* the run at hand, and the first event of it */
    uint32_t step_since;
    uint64_t step, step_begin, step_ticks; /* 0 ticks long: there was none yet */
    uint64_t prev_ref, prev_region;
};

struct mpf_columns {
    struct hot hot;
    uint32_t max_events;
    unsigned tick_shift;
    bool keeps_bytes;
    uint32_t pairs;
    uint16_t pair[PAIRS_MAX];
    uint8_t code[1 << 16]; /* op | heap << 8 -> number of the pair + 1 */
    uint8_t *start[COLUMNS];
    uint64_t *spare_ages;
    struct mpf_predictor predictor;
};

enum {
    BLOCK_BITS = 20,
    BLOCK_MASK = (1 << BLOCK_BITS) - 1, /* blocks of one frame that can have an age */
    NEAR = 32,                          /* a distance that is shorter than most ages */
    SLACK = 8,
};

/* The maximum number of bytes that one event adds to each column. */
static const uint8_t widest[COLUMNS] = {
    [COL_OPS] = 1,    [COL_THREADS] = 10, [COL_TIMES] = 15,  [COL_BLOCKS] = 11,
    [COL_SIZES] = 10, [COL_REFS] = 11,    [COL_VALUES] = 20, [COL_DATA] = 36
};

_Static_assert(COLUMNS == 8, "each column is here: none would be too little room");

static unsigned age_bits(uint32_t blocks)
{
    unsigned bits = 10;
    while (UINT32_C(1) << bits < 2 * blocks) bits++;
    return bits;
}

static size_t columns_bytes(uint32_t max_events)
{
    size_t n = 0;
    for (int i = 0; i < COLUMNS; i++) n += (size_t)widest[i] * max_events + SLACK;
    return n;
}

static size_t aligned(size_t n) { return (n + 63) & ~(size_t)63; }

size_t mpf_columns_memory(uint32_t max_events)
{
    return aligned(sizeof(struct mpf_columns)) +
           2 * aligned(sizeof(uint64_t) << age_bits(max_events)) + aligned(max_events) +
           columns_bytes(max_events);
}

size_t mpf_columns_bound(uint32_t max_events)
{
    return BODY_HEAD + PAIR_BYTES * PAIRS_MAX + columns_bytes(max_events);
}

struct mpf_columns *mpf_columns_init(void *memory, uint32_t max_events, unsigned tick_shift)
{
    struct mpf_columns *c = memory;
    uint8_t *at = memory;
    c->max_events = max_events;
    c->tick_shift = tick_shift;
    c->keeps_bytes = false;
    at += aligned(sizeof *c);
    c->hot.ages.entry = (uint64_t *)at;
    at += aligned(sizeof(uint64_t) << age_bits(max_events));
    c->spare_ages = (uint64_t *)at;
    at += aligned(sizeof(uint64_t) << age_bits(max_events));
    c->hot.class = at;
    at += aligned(max_events);
    for (int i = 0; i < COLUMNS; i++) {
        c->start[i] = at;
        at += (size_t)widest[i] * max_events + SLACK;
    }
    mpf_columns_begin(c);
    return c;
}

void mpf_columns_keep_bytes(struct mpf_columns *c) { c->keeps_bytes = true; }

void mpf_columns_begin(struct mpf_columns *c)
{
    const unsigned bits = age_bits(c->hot.blocks); /* as many as the frame before needed */
    c->hot = (struct hot){ .ages = { c->hot.ages.entry, 64 - bits }, .class = c->hot.class };
    memset(c->hot.ages.entry, 0, sizeof(uint64_t) << bits);
    forget_freed(&c->predictor);
    for (uint32_t i = 0; i < c->pairs; i++) c->code[c->pair[i]] = 0;
    c->pairs = 0;
    for (int i = 0; i < COLUMNS; i++) c->hot.at[i] = c->start[i];
}

uint32_t mpf_columns_count(const struct mpf_columns *c) { return c->hot.events; }

uint32_t mpf_columns_room(const struct mpf_columns *c)
{
    const uint32_t events = c->max_events - c->hot.events, pairs = PAIRS_MAX - c->pairs;
    return (events < pairs ? events : pairs) / (c->keeps_bytes ? 2 : 1);
}

static inline uint64_t entries(struct ages a) { return UINT64_C(1) << (64 - a.shift); }

/* The spare table is only used when the other one grows, and has then half of its size. */
size_t mpf_columns_touched(const struct mpf_columns *c)
{
    size_t n = sizeof *c + sizeof(uint64_t) * entries(c->hot.ages) / 2 * 3 + c->hot.blocks;
    for (int i = 0; i < COLUMNS; i++) n += (size_t)(c->hot.at[i] - c->start[i]);
    return n;
}

/* Writes a LEB128 number of up to 56 bits without a branch on its length: the seven-bit groups are
 * spread over a word, which is stored completely (columns have SLACK bytes at their ends). */
static inline uint8_t *put_word(uint8_t *p, uint64_t v)
{
    const unsigned bytes = (unsigned)(63 - __builtin_clzll(v | 1)) / 7 + 1;
    v = (v & 0x000000000fffffff) | (v & 0x00fffffff0000000) << 4;
    v = (v & 0x00003fff00003fff) | (v & 0x0fffc0000fffc000) << 2;
    v = (v & 0x007f007f007f007f) | (v & 0x3f803f803f803f80) << 1;
    v |= UINT64_C(0x8080808080808080) & ((UINT64_C(1) << (8 * (bytes - 1))) - 1);
    memcpy(p, &v, sizeof v);
    return p + bytes;
}

/* Most numbers have one byte or two, and which is foretold well enough: fewer instructions than
 * without branches. */
static inline void put(struct hot *h, int column, uint64_t v)
{
    uint8_t *p = h->at[column];
    if (__builtin_expect(v < 1 << 14, 1)) {
        const uint16_t two = (uint16_t)((v & 127) | 128 | v >> 7 << 8);
        if (v < 128) *p++ = (uint8_t)v;
        else p = (uint8_t *)memcpy(p, &two, sizeof two) + sizeof two;
        h->at[column] = p;
        return;
    }
    for (; __builtin_expect(v >> 56 != 0, 0); v >>= 7) *p++ = (uint8_t)v | 128;
    h->at[column] = put_word(p, v);
}

/* ---- blocks */

static inline bool has_age(uint64_t addr) { return (addr & 15) == 0 && addr >> 48 == 0; }

/* The entry of the address, or the empty one where it would be. */
static inline uint64_t *find(struct ages a, uint64_t addr)
{
    const uint64_t key = addr >> 4;
    uint64_t i = key * UINT64_C(0x9E3779B97F4A7C15) >> a.shift;
    while (a.entry[i] && a.entry[i] >> BLOCK_BITS != key) i = (i + 1) & (entries(a) - 1);
    return &a.entry[i];
}

static __attribute__((noinline)) struct ages grow_ages(struct mpf_columns *c, struct ages old)
{
    const struct ages new = { c->spare_ages, old.shift - 1 };
    memset(new.entry, 0, sizeof *new.entry *entries(new));
    for (uint64_t i = 0; i < entries(old); i++)
        if (old.entry[i]) *find(new, old.entry[i] >> BLOCK_BITS << 4) = old.entry[i];
    c->spare_ages = old.entry;
    return new;
}

/* The number of the newest block of the frame with this address, 0 if none. */
static inline uint32_t block_at(const struct hot *h, uint64_t addr)
{
    return has_age(addr) ? (uint32_t)*find(h->ages, addr) & BLOCK_MASK : 0;
}

/* Numbers the block and returns the number of the previous block at its address, or 0. */
static inline uint32_t number_block(struct mpf_columns *c, struct hot *h, uint64_t addr,
                                    unsigned class)
{
    h->class[h->blocks++] = (uint8_t) class;
    if (!has_age(addr) || h->blocks > BLOCK_MASK) return 0;
    if (__builtin_expect(2 * h->blocks > entries(h->ages), 0)) h->ages = grow_ages(c, h->ages);
    uint64_t *entry = find(h->ages, addr);
    const uint32_t before = (uint32_t)*entry & BLOCK_MASK;
    *entry = addr >> 4 << BLOCK_BITS | h->blocks;
    return before;
}

static inline void put_place(struct hot *h, uint64_t distance, uint32_t age)
{
    if (age && distance >= NEAR) put(h, COL_BLOCKS, (uint64_t)age << 1);
    else if (distance >> 63 == 0) put(h, COL_BLOCKS, distance << 1 | 1);
    else {
        put(h, COL_BLOCKS, 0);
        put(h, COL_BLOCKS, distance);
    }
}

/* True when the address is the expected one: then its bytes are saved. */
static inline __attribute__((always_inline)) bool add_block(struct mpf_columns *c, struct hot *h,
                                                            uint64_t addr, uint64_t size,
                                                            bool moved)
{
    const unsigned class = size_class(size);
    const uint32_t before = number_block(c, h, addr, class);
    put(h, COL_SIZES, size);
    struct mpf_predictor *p = &c->predictor;
    const uint64_t guess = moved ? p->moving : pop_freed(freed_of(p, h->thread, class));
    if (addr && addr == guess) return true;
    const uint64_t a = rotate_down(addr);
    put_place(h, zigzag(a - p->next), before ? h->blocks - before : 0);
    p->next = a + units(size);
    return false;
}

/* 0 and an address, or the age: 1 for the newest block. */
static inline __attribute__((always_inline)) void add_ref(struct mpf_columns *c, struct hot *h,
                                                          uint64_t addr, bool moving)
{
    if (moving) c->predictor.moving = addr;
    const uint32_t block = block_at(h, addr);
    if (block) {
        put(h, COL_REFS, h->blocks - block + 1);
        push_freed(freed_of(&c->predictor, h->thread, h->class[block - 1]), addr);
        return;
    }
    const uint64_t a = rotate_down(addr);
    put(h, COL_REFS, 0);
    put(h, COL_REFS, zigzag(a - h->prev_ref));
    h->prev_ref = a;
}

/* ---- one event */

static __attribute__((noinline)) void new_pair(struct mpf_columns *c, uint16_t pair)
{
    c->pair[c->pairs++] = pair;
    c->code[pair] = (uint8_t)c->pairs;
}

/* `pair` is operation | heap << 8. */
static inline void add_op(struct mpf_columns *c, struct hot *h, uint16_t pair)
{
    if (__builtin_expect(!c->code[pair], 0)) new_pair(c, pair);
    *h->at[COL_OPS]++ = (uint8_t)(c->code[pair] - 1);
}

static void end_thread_run(struct hot *h)
{
    if (h->events == h->thread_since) return;
    put(h, COL_THREADS, h->thread);
    put(h, COL_THREADS, h->events - h->thread_since);
    h->thread_since = h->events;
}

static void end_step_run(struct hot *h)
{
    if (h->events == h->step_since) return;
    put(h, COL_TIMES, h->events - h->step_since);
    h->step_since = h->events;
}

/* A step of time: how far it is from the one before, and how many events are in it. */
static inline void begin_step(const struct mpf_columns *c, struct hot *h, uint64_t step)
{
    end_step_run(h);
    put(h, COL_TIMES, step - h->step);
    h->step = step;
    h->step_begin = step << c->tick_shift;
    h->step_ticks = UINT64_C(1) << c->tick_shift;
}

static void add_data(struct hot *h, uint64_t addr, const uint8_t *data, uint64_t bytes)
{
    put(h, COL_DATA, addr);
    put(h, COL_DATA, bytes);
    memcpy(h->at[COL_DATA], data, bytes);
    h->at[COL_DATA] += bytes;
}

static const uint8_t class_of[256] = {
#define MPF_OP(code, name, class, text) [code] = MPF_CLASS_##class,
#include "mpf/events.def"
#undef MPF_OP
};

static inline void begin_event(const struct mpf_columns *c, struct hot *h, uint64_t time,
                               uint32_t thread)
{
    if (thread != h->thread) {
        end_thread_run(h);
        h->thread = thread;
    }
    if (time - h->step_begin >= h->step_ticks) begin_step(c, h, time >> c->tick_shift);
    h->events++;
}

/* Adds the bytes of a block that is not in the frame, as an event of the same thread and time. */
static __attribute__((noinline)) void add_bytes(struct mpf_columns *c, struct hot *h,
                                                const struct mpf_slot *slot)
{
    if (block_at(h, slot->addr)) return;
    h->events++;
    put(h, COL_VALUES, mpf_slot_size(slot->head));
    put(h, COL_VALUES, 0);
    add_op(c, h, MPF_OP_BLOCK_BYTES);
}

/* Adds a BLOCK or REF event. */
static inline __attribute__((always_inline)) void add_plain(struct mpf_columns *c, struct hot *h,
                                                            const struct mpf_slot *slot, bool block)
{
    const unsigned op = mpf_slot_op(slot->head);
    uint16_t pair = (uint16_t)slot->head;
    if (__builtin_expect((!block) & c->keeps_bytes, 0) && mpf_slot_size(slot->head))
        add_bytes(c, h, slot);
    if (!block) add_ref(c, h, slot->addr, op == MPF_OP_MOVE_BEGIN);
    else if (add_block(c, h, slot->addr, mpf_slot_size(slot->head), op == MPF_OP_MOVE_END))
        pair |= PREDICTED;
    add_op(c, h, pair);
}

static void add_other(struct mpf_columns *c, struct hot *h, const struct mpf_slot *slot,
                      const uint8_t *data)
{
    const unsigned op = mpf_slot_op(slot->head);
    const uint64_t size = mpf_slot_size(slot->head);
    switch ((enum mpf_class)class_of[op]) {
    case MPF_CLASS_REGION:
        put(h, COL_VALUES, zigzag(rotate_down(slot->addr) - h->prev_region));
        put(h, COL_VALUES, size);
        h->prev_region = rotate_down(slot->addr);
        break;
    case MPF_CLASS_VALUE:
        put(h, COL_VALUES, slot->addr);
        put(h, COL_VALUES, size);
        break;
    case MPF_CLASS_DATA: add_data(h, slot->addr, data, size); break;
    case MPF_CLASS_BLOCK:
    case MPF_CLASS_REF:
    case MPF_CLASS_NONE: break;
    }
    add_op(c, h, (uint16_t)slot->head);
}

void mpf_columns_add(struct mpf_columns *c, const struct mpf_slot *slot, uint32_t thread,
                     const uint8_t *data)
{
    const enum mpf_class class = class_of[mpf_slot_op(slot->head)];
    begin_event(c, &c->hot, slot->time, thread);
    if (class == MPF_CLASS_BLOCK || class == MPF_CLASS_REF)
        add_plain(c, &c->hot, slot, class == MPF_CLASS_BLOCK);
    else add_other(c, &c->hot, slot, data);
}

static inline const struct mpf_slot *slot_at(const struct mpf_slots *s, uint32_t i)
{
    return (const struct mpf_slot *)(s->base + ((uint64_t)s->place[i] << 3));
}

/* Not inlined, so that it has enough registers. */
__attribute__((noinline)) uint32_t mpf_columns_add_plain(struct mpf_columns *c,
                                                         const struct mpf_slots *s, uint32_t from,
                                                         uint64_t *time)
{
    struct hot h = c->hot;
    uint64_t now = *time;
    uint32_t i = from;
    for (; i < s->count; i++) {
        const struct mpf_slot *slot = slot_at(s, i);
        if (slot->time > now) now = slot->time;
        const enum mpf_class class = class_of[mpf_slot_op(slot->head)];
        if (__builtin_expect(class != MPF_CLASS_BLOCK && class != MPF_CLASS_REF, 0)) break;
        begin_event(c, &h, now, mpf_slot_chunk(slot)->thread);
        add_plain(c, &h, slot, class == MPF_CLASS_BLOCK);
    }
    c->hot = h;
    *time = now;
    return i;
}

/* ---- the body */

static void put_u32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof v); }

/* Writes an operation, a heap and the operation's class, so that a reader can skip unknown
 * operations. */
static void put_pair(uint8_t *p, uint16_t pair)
{
    p[0] = (uint8_t)pair;
    p[1] = (uint8_t)(pair >> 8);
    p[2] = class_of[p[0] & ~PREDICTED];
}

long mpf_columns_finish(struct mpf_columns *c, const struct mpf_clock *from,
                        const struct mpf_clock *to, uint8_t *out, size_t cap)
{
    end_thread_run(&c->hot);
    end_step_run(&c->hot);
    size_t need = BODY_HEAD + PAIR_BYTES * c->pairs;
    for (int i = 0; i < COLUMNS; i++) need += (size_t)(c->hot.at[i] - c->start[i]);
    if (need > cap) return MPF_ERR_SPACE;
    memcpy(out, from, sizeof *from);
    memcpy(out + sizeof *from, to, sizeof *to);
    uint8_t *p = out + 2 * sizeof *from;
    put_u32(p, c->hot.events);
    p[4] = (uint8_t)c->tick_shift;
    p[5] = (uint8_t)c->pairs;
    p[6] = p[7] = 0;
    p += 8;
    for (int i = 0; i < COLUMNS; i++, p += 4) put_u32(p, (uint32_t)(c->hot.at[i] - c->start[i]));
    for (uint32_t i = 0; i < c->pairs; i++, p += PAIR_BYTES) put_pair(p, c->pair[i]);
    for (int i = 0; i < COLUMNS; i++) {
        const size_t n = (size_t)(c->hot.at[i] - c->start[i]);
        memcpy(p, c->start[i], n);
        p += n;
    }
    return (long)need;
}
