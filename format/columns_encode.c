/* Invariants: the age table holds, for each address of a block of this frame, the newest block with it; it has at least
 * twice as many entries as a frame has blocks, so a search always ends at an empty one.  An entry is one word, address
 * and number, so that the table stays in the cache; addresses that do not fit (not 16-aligned, beyond 2^48) have no age. */
#include "columns.h"

#include <stdbool.h>

#include "mpf/columns.h"
#include "mpf/event.h"
#include "mpf/frame.h"

struct column { uint8_t *start, *at; };

struct mpf_columns {
    uint32_t max_events, events;
    uint32_t blocks;
    unsigned tick_shift;
    uint32_t thread, thread_run;        /* the run at hand */
    uint64_t step;
    uint32_t step_run;
    uint64_t prev_ref, prev_region;
    uint32_t pairs;
    uint16_t pair[PAIRS_MAX];
    uint8_t code[1 << 16];              /* op | heap << 8 -> number of the pair + 1 */
    struct column col[COLUMNS];
    uint64_t *ages, *spare_ages;        /* addr >> 4 << BLOCK_BITS | number of the block, from 1; 0: empty */
    unsigned age_bits;                  /* size of the table; it grows into the spare one */
    uint8_t *class;                     /* of each block */
    struct mpf_predictor predictor;
};

enum {
    BLOCK_BITS = 20, BLOCK_MASK = (1 << BLOCK_BITS) - 1,    /* blocks of one frame that can have an age */
    NEAR = 32,                          /* a distance that is shorter than most ages */
    SLACK = 8,
};

/* Most bytes that one event can add to each column. */
static const uint8_t widest[COLUMNS] = { [COL_OPS] = 1, [COL_THREADS] = 10, [COL_TIMES] = 15, [COL_BLOCKS] = 11, [COL_SIZES] = 10,
                                         [COL_REFS] = 11, [COL_VALUES] = 20, [COL_DATA] = 36 };

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
    return aligned(sizeof(struct mpf_columns)) + 2 * aligned(sizeof(uint64_t) << age_bits(max_events)) + aligned(max_events) +
           columns_bytes(max_events);
}

size_t mpf_columns_bound(uint32_t max_events) { return BODY_HEAD + PAIR_BYTES * PAIRS_MAX + columns_bytes(max_events); }

struct mpf_columns *mpf_columns_init(void *memory, uint32_t max_events, unsigned tick_shift)
{
    struct mpf_columns *c = memory;
    uint8_t *at = memory;
    c->max_events = max_events;
    c->tick_shift = tick_shift;
    at += aligned(sizeof *c);
    c->ages = (uint64_t *)at;
    at += aligned(sizeof *c->ages << age_bits(max_events));
    c->spare_ages = (uint64_t *)at;
    at += aligned(sizeof *c->ages << age_bits(max_events));
    c->class = at;
    at += aligned(max_events);
    for (int i = 0; i < COLUMNS; i++) {
        c->col[i].start = at;
        at += (size_t)widest[i] * max_events + SLACK;
    }
    mpf_columns_begin(c);
    return c;
}

void mpf_columns_begin(struct mpf_columns *c)
{
    c->age_bits = age_bits(c->blocks);      /* as many as the frame before needed */
    memset(c->ages, 0, sizeof *c->ages << c->age_bits);
    forget_freed(&c->predictor);
    c->events = c->blocks = c->thread_run = c->step_run = 0;
    c->thread = 0;
    c->step = 0;
    c->prev_ref = c->prev_region = 0;
    for (uint32_t i = 0; i < c->pairs; i++) c->code[c->pair[i]] = 0;
    c->pairs = 0;
    for (int i = 0; i < COLUMNS; i++) c->col[i].at = c->col[i].start;
}

uint32_t mpf_columns_count(const struct mpf_columns *c) { return c->events; }

uint32_t mpf_columns_room(const struct mpf_columns *c)
{
    const uint32_t events = c->max_events - c->events, pairs = PAIRS_MAX - c->pairs;
    return events < pairs ? events : pairs;
}

/* A LEB128 number of up to 56 bits without a branch on its length: the seven-bit groups are spread over a word, and
 * the word is stored whole (columns have SLACK bytes behind them). */
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

static inline void put(struct mpf_columns *c, int column, uint64_t v)
{
    uint8_t *p = c->col[column].at;
    for (; v >> 56; v >>= 7) *p++ = (uint8_t)v | 128;
    c->col[column].at = put_word(p, v);
}

/* ---- blocks */

static bool has_age(uint64_t addr) { return (addr & 15) == 0 && addr >> 48 == 0; }

/* The entry of the address, or the empty one where it would be. */
static inline uint64_t *find(struct mpf_columns *c, uint64_t addr)
{
    const uint64_t mask = (UINT64_C(1) << c->age_bits) - 1, key = addr >> 4;
    uint64_t i = key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - c->age_bits);
    while (c->ages[i] && c->ages[i] >> BLOCK_BITS != key) i = (i + 1) & mask;
    return &c->ages[i];
}

static void grow_ages(struct mpf_columns *c)
{
    const uint64_t *old = c->ages;
    const uint64_t entries = UINT64_C(1) << c->age_bits;
    c->ages = c->spare_ages;
    c->spare_ages = (uint64_t *)old;
    c->age_bits++;
    memset(c->ages, 0, sizeof *c->ages << c->age_bits);
    for (uint64_t i = 0; i < entries; i++)
        if (old[i]) *find(c, old[i] >> BLOCK_BITS << 4) = old[i];
}

/* The number of the newest block of the frame with this address, 0 if none. */
static inline uint32_t block_at(struct mpf_columns *c, uint64_t addr)
{
    return has_age(addr) ? (uint32_t)*find(c, addr) & BLOCK_MASK : 0;
}

/* Numbers the block and returns the number of the one that had its address before, 0 if none. */
static inline uint32_t number_block(struct mpf_columns *c, uint64_t addr, unsigned class)
{
    c->class[c->blocks++] = (uint8_t)class;
    if (!has_age(addr) || c->blocks > BLOCK_MASK) return 0;
    if (2 * c->blocks > UINT32_C(1) << c->age_bits) grow_ages(c);
    uint64_t *entry = find(c, addr);
    const uint32_t before = (uint32_t)*entry & BLOCK_MASK;
    *entry = addr >> 4 << BLOCK_BITS | c->blocks;
    return before;
}

static inline void put_place(struct mpf_columns *c, uint64_t distance, uint32_t age)
{
    if (age && distance >= NEAR) put(c, COL_BLOCKS, (uint64_t)age << 1);
    else if (distance >> 63 == 0) put(c, COL_BLOCKS, distance << 1 | 1);
    else {
        put(c, COL_BLOCKS, 0);
        put(c, COL_BLOCKS, distance);
    }
}

/* True when the address is the expected one: then its bytes are saved. */
static inline bool add_block(struct mpf_columns *c, uint64_t addr, uint64_t size, bool moved)
{
    const unsigned class = size_class(size);
    const uint32_t before = number_block(c, addr, class);
    put(c, COL_SIZES, size);
    struct mpf_predictor *p = &c->predictor;
    const uint64_t guess = moved ? p->moving : pop_freed(freed_of(p, c->thread, class));
    if (addr && addr == guess) return true;
    const uint64_t a = rotate_down(addr);
    put_place(c, zigzag(a - p->next), before ? c->blocks - before : 0);
    p->next = a + units(size);
    return false;
}

/* 0 and an address, or the age: 1 for the newest block. */
static inline void add_ref(struct mpf_columns *c, uint64_t addr, bool moving)
{
    if (moving) c->predictor.moving = addr;
    const uint32_t block = block_at(c, addr);
    if (block) {
        put(c, COL_REFS, c->blocks - block + 1);
        push_freed(freed_of(&c->predictor, c->thread, c->class[block - 1]), addr);
        return;
    }
    const uint64_t a = rotate_down(addr);
    put(c, COL_REFS, 0);
    put(c, COL_REFS, zigzag(a - c->prev_ref));
    c->prev_ref = a;
}

/* ---- one event */

static inline void add_op(struct mpf_columns *c, unsigned op, unsigned heap)
{
    const uint16_t pair = (uint16_t)(op | heap << 8);
    if (__builtin_expect(!c->code[pair], 0)) {
        c->pair[c->pairs++] = pair;
        c->code[pair] = (uint8_t)c->pairs;
    }
    *c->col[COL_OPS].at++ = (uint8_t)(c->code[pair] - 1);
}

static void end_thread_run(struct mpf_columns *c)
{
    if (!c->thread_run) return;
    put(c, COL_THREADS, c->thread);
    put(c, COL_THREADS, c->thread_run);
}

static void end_step_run(struct mpf_columns *c)
{
    if (c->step_run) put(c, COL_TIMES, c->step_run);
}

static inline void add_thread(struct mpf_columns *c, uint32_t thread)
{
    if (thread != c->thread) {
        end_thread_run(c);
        c->thread = thread;
        c->thread_run = 0;
    }
    c->thread_run++;
}

/* A step of time: how far it is from the one before, and how many events are in it. */
static inline void add_time(struct mpf_columns *c, uint64_t time)
{
    const uint64_t step = time >> c->tick_shift;
    if (step != c->step || !c->step_run) {
        end_step_run(c);
        put(c, COL_TIMES, step - c->step);
        c->step = step;
        c->step_run = 0;
    }
    c->step_run++;
}

static void add_data(struct mpf_columns *c, uint64_t addr, const uint8_t *data, uint64_t bytes)
{
    put(c, COL_DATA, addr);
    put(c, COL_DATA, bytes);
    memcpy(c->col[COL_DATA].at, data, bytes);
    c->col[COL_DATA].at += bytes;
}

static const uint8_t class_of[256] = {
#define MPF_OP(code, name, class, text) [code] = MPF_CLASS_##class,
#include "mpf/events.def"
#undef MPF_OP
};

void mpf_columns_add(struct mpf_columns *c, const struct mpf_slot *slot, uint32_t thread, const uint8_t *data)
{
    unsigned op = mpf_slot_op(slot->head);
    const uint64_t size = mpf_slot_size(slot->head);
    c->events++;
    add_thread(c, thread);
    add_time(c, slot->time);
    switch ((enum mpf_class)class_of[op]) {
    case MPF_CLASS_BLOCK:
        if (add_block(c, slot->addr, size, op == MPF_OP_MOVE_END)) op |= PREDICTED;
        break;
    case MPF_CLASS_REF: add_ref(c, slot->addr, op == MPF_OP_MOVE_BEGIN); break;
    case MPF_CLASS_REGION:
        put(c, COL_VALUES, zigzag(rotate_down(slot->addr) - c->prev_region));
        put(c, COL_VALUES, size);
        c->prev_region = rotate_down(slot->addr);
        break;
    case MPF_CLASS_VALUE:
        put(c, COL_VALUES, slot->addr);
        put(c, COL_VALUES, size);
        break;
    case MPF_CLASS_DATA: add_data(c, slot->addr, data, size); break;
    case MPF_CLASS_NONE: break;
    }
    add_op(c, op, mpf_slot_heap(slot->head));
}

/* ---- the body */

static void put_u32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof v); }

/* An operation, a heap and the operation's class, so that a reader can pass over operations that it does not know. */
static void put_pair(uint8_t *p, uint16_t pair)
{
    p[0] = (uint8_t)pair;
    p[1] = (uint8_t)(pair >> 8);
    p[2] = class_of[p[0] & ~PREDICTED];
}

long mpf_columns_finish(struct mpf_columns *c, const struct mpf_clock *from, const struct mpf_clock *to, uint8_t *out, size_t cap)
{
    end_thread_run(c);
    end_step_run(c);
    c->thread_run = c->step_run = 0;
    size_t need = BODY_HEAD + PAIR_BYTES * c->pairs;
    for (int i = 0; i < COLUMNS; i++) need += (size_t)(c->col[i].at - c->col[i].start);
    if (need > cap) return MPF_ERR_SPACE;
    memcpy(out, from, sizeof *from);
    memcpy(out + sizeof *from, to, sizeof *to);
    uint8_t *p = out + 2 * sizeof *from;
    put_u32(p, c->events);
    p[4] = (uint8_t)c->tick_shift;
    p[5] = (uint8_t)c->pairs;
    p[6] = p[7] = 0;
    p += 8;
    for (int i = 0; i < COLUMNS; i++, p += 4) put_u32(p, (uint32_t)(c->col[i].at - c->col[i].start));
    for (uint32_t i = 0; i < c->pairs; i++, p += PAIR_BYTES) put_pair(p, c->pair[i]);
    for (int i = 0; i < COLUMNS; i++) {
        const size_t n = (size_t)(c->col[i].at - c->col[i].start);
        memcpy(p, c->col[i].start, n);
        p += n;
    }
    return (long)need;
}
