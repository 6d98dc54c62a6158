/* Invariants: no byte outside the body is read; `block` holds the addresses of the BLOCK events
 * decoded so far, and every event takes its numbers only from the column of its class. */
#include "columns.h"

#include <stdbool.h>

#include "mpf/columns.h"
#include "mpf/frame.h"

static uint32_t get_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Ns per tick on the line through two clocks, in units of 2^-SCALE: one division a frame instead of
 * one a step. */
enum { SCALE = 44 };
static uint64_t scale_of(const struct mpf_clock *from, const struct mpf_clock *to)
{
    const bool line = to->ticks > from->ticks && to->mono > from->mono;
    const unsigned __int128 scale =
        line ? ((unsigned __int128)(to->mono - from->mono) << SCALE) / (to->ticks - from->ticks)
             : 0;
    return scale && scale <= INT64_MAX ? (uint64_t)scale : UINT64_C(1) << SCALE;
}

static uint64_t ns_at(const struct mpf_clock *from, uint64_t scale, uint64_t origin, uint64_t ticks)
{
    const __int128 ns = (((__int128)(int64_t)(ticks - from->ticks) * (int64_t)scale) >> SCALE) +
                        from->mono - origin;
    return ns < 0 ? 0 : (uint64_t)ns;
}

uint64_t mpf_clock_ns(const struct mpf_clock *from, const struct mpf_clock *to, uint64_t origin,
                      uint64_t ticks)
{
    return ns_at(from, scale_of(from, to), origin, ticks);
}

long mpf_columns_events(const uint8_t *body, size_t bytes)
{
    if (bytes < BODY_HEAD) return MPF_ERR_DAMAGED;
    const uint32_t n = get_u32(body + 2 * sizeof(struct mpf_clock));
    return n <= bytes ? (long)n : MPF_ERR_DAMAGED; /* each event takes a byte at least */
}

/* An operation that we know has the class that we know, so that an event of class DATA has data. */
static bool classes_fit(const uint8_t *pair, uint32_t pairs)
{
    for (const uint8_t *const end = pair + PAIR_BYTES * (size_t)pairs; pair < end;
         pair += PAIR_BYTES) {
        const enum mpf_class known = mpf_op_class(pair[0] & OPERATION);
        if (known != MPF_CLASS_NONE && known != (enum mpf_class)pair[2]) return false;
    }
    return true;
}

int mpf_columns_open(struct mpf_columns_reader *r, const uint8_t *body, size_t bytes,
                     uint64_t origin, struct mpf_block *block, uint32_t block_cap)
{
    const long events = mpf_columns_events(body, bytes);
    if (events < 0) return (int)events;
    if ((unsigned long)events > block_cap) return MPF_ERR_SPACE;
    *r =
        (struct mpf_columns_reader){ .origin = origin, .events = (uint32_t)events, .block = block };
    memcpy(&r->from, body, sizeof r->from);
    memcpy(&r->to, body + sizeof r->from, sizeof r->to);
    r->scale = scale_of(&r->from, &r->to);
    const uint8_t *p = body + 2 * sizeof r->from + 4, *end = body + bytes;
    r->tick_shift = p[0];
    r->pairs = p[1];
    if (r->tick_shift > 40) return MPF_ERR_DAMAGED;
    const uint8_t *lengths = p + 4;
    p = body + BODY_HEAD;
    if ((size_t)(end - p) < PAIR_BYTES * (size_t)r->pairs) return MPF_ERR_DAMAGED;
    if (!classes_fit(p, r->pairs)) return MPF_ERR_DAMAGED;
    r->pair = p;
    p += PAIR_BYTES * (size_t)r->pairs;
    struct mpf_column *const column[COLUMNS] = { &r->op,    &r->threads, &r->times,  &r->blocks_at,
                                                 &r->sizes, &r->refs,    &r->values, &r->data };
    for (int i = 0; i < COLUMNS; i++) {
        const uint32_t n = get_u32(lengths + 4 * i);
        if (n > (size_t)(end - p)) return MPF_ERR_DAMAGED;
        *column[i] = (struct mpf_column){ p, p + n };
        p += n;
    }
    return p == end && (size_t)(r->op.end - r->op.at) == r->events ? MPF_OK : MPF_ERR_DAMAGED;
}

static bool get_slow(struct mpf_column *c, uint64_t *v)
{
    *v = 0;
    for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
        const uint8_t b = *c->at++;
        *v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) return true;
    }
    return false;
}

static inline bool get(struct mpf_column *c, uint64_t *v)
{
    if (__builtin_expect(c->at < c->end && *c->at < 128, 1)) {
        *v = *c->at++;
        return true;
    }
    return get_slow(c, v);
}

static bool next_thread(struct mpf_columns_reader *r)
{
    uint64_t thread, run;
    if (!get(&r->threads, &thread) || !get(&r->threads, &run) || !run || run > r->events ||
        thread > UINT32_MAX)
        return false;
    r->thread = (uint32_t)thread;
    r->thread_left = (uint32_t)run;
    return true;
}

static bool next_step(struct mpf_columns_reader *r)
{
    uint64_t delta, run;
    if (!get(&r->times, &delta) || !get(&r->times, &run) || !run || run > r->events) return false;
    r->step += delta;
    r->time = ns_at(&r->from, r->scale, r->origin, r->step << r->tick_shift);
    r->step_left = (uint32_t)run;
    return true;
}

/* The address of a block that is not where it was expected. */
static bool read_place(struct mpf_columns_reader *r, uint64_t *addr)
{
    uint64_t code, distance;
    if (!get(&r->blocks_at, &code)) return false;
    if (code && !(code & 1)) {
        const uint64_t age = code >> 1;
        if (age > r->blocks) return false;
        *addr = r->block[r->blocks - age].addr;
        return true;
    }
    distance = code >> 1;
    if (!code && !get(&r->blocks_at, &distance)) return false;
    *addr = rotate_up(r->predictor.next + unzigzag(distance));
    return true;
}

static bool read_block(struct mpf_columns_reader *r, struct mpf_event *e, bool predicted)
{
    if (!get(&r->sizes, &e->size)) return false;
    const unsigned class = size_class(e->size);
    struct mpf_predictor *p = &r->predictor;
    const uint64_t guess =
        e->op == MPF_OP_MOVE_END ? p->moving : pop_freed(freed_of(p, r->thread, class));
    if (predicted) e->addr = guess;
    else if (!read_place(r, &e->addr)) return false;
    else p->next = rotate_down(e->addr) + units(e->size);
    r->block[r->blocks++] = (struct mpf_block){ e->addr, class };
    return true;
}

static bool read_ref(struct mpf_columns_reader *r, struct mpf_event *e)
{
    uint64_t age, delta;
    if (!get(&r->refs, &age) || age > r->blocks) return false;
    if (age) {
        const struct mpf_block *b = &r->block[r->blocks - age];
        e->addr = b->addr;
        push_freed(freed_of(&r->predictor, r->thread, b->class), b->addr);
    } else if (get(&r->refs, &delta)) {
        r->prev_ref += unzigzag(delta);
        e->addr = rotate_up(r->prev_ref);
    } else return false;
    if (e->op == MPF_OP_MOVE_BEGIN) r->predictor.moving = e->addr;
    return true;
}

static bool read_region(struct mpf_columns_reader *r, struct mpf_event *e)
{
    uint64_t delta;
    if (!get(&r->values, &delta) || !get(&r->values, &e->size)) return false;
    r->prev_region += unzigzag(delta);
    e->addr = rotate_up(r->prev_region);
    return true;
}

static bool read_data(struct mpf_columns_reader *r, struct mpf_event *e)
{
    if (!get(&r->data, &e->addr) || !get(&r->data, &e->size) ||
        e->size > (size_t)(r->data.end - r->data.at))
        return false;
    e->data = r->data.at;
    r->data.at += e->size;
    return true;
}

static inline bool read_event(struct mpf_columns_reader *r, struct mpf_event *e)
{
    const uint8_t code = *r->op.at++;
    if (code >= r->pairs) return false;
    const uint8_t *pair = r->pair + PAIR_BYTES * code;
    *e = (struct mpf_event){
        .time = r->time, .thread = r->thread, .op = pair[0] & OPERATION, .heap = pair[1]
    };
    const enum mpf_class class = pair[2];
    if (class == MPF_CLASS_BLOCK) return read_block(r, e, pair[0] & PREDICTED);
    if (class == MPF_CLASS_REF) return read_ref(r, e);
    if (class == MPF_CLASS_REGION) return read_region(r, e);
    if (class == MPF_CLASS_VALUE) return get(&r->values, &e->addr) && get(&r->values, &e->size);
    return class == MPF_CLASS_DATA && read_data(r, e);
}

static inline uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* How many of the next `most` events are of one thread and step; 0: damage. */
static uint32_t next_run(struct mpf_columns_reader *r, uint32_t max_run)
{
    if ((!r->thread_left && !next_thread(r)) || (!r->step_left && !next_step(r))) return 0;
    const uint32_t run = min_u32(max_run, min_u32(r->thread_left, r->step_left));
    r->thread_left -= run;
    r->step_left -= run;
    return run;
}

long mpf_columns_next(struct mpf_columns_reader *r, struct mpf_event *out, uint32_t cap)
{
    const size_t ops_left = (size_t)(r->op.end - r->op.at);
    const uint32_t count = ops_left < cap ? (uint32_t)ops_left : cap;
    for (uint32_t n = 0; n < count;) {
        uint32_t run = next_run(r, count - n);
        if (!run) return MPF_ERR_DAMAGED;
        while (run--)
            if (!read_event(r, &out[n++])) return MPF_ERR_DAMAGED;
    }
    return count;
}
