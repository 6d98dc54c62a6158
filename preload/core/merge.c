/* A loser tree: each inner node keeps the loser of the match between the winners below it, so after
 * the winner's next event only the matches on its path are repeated. If threads alternate at
 * random, branches would be mispredicted, so matches have none. If one thread has many events in a
 * row, they are taken together.
 *
 * An event's time is never before that of the previous event of its thread, nor before the
 * watermark: the time in the slot is raised to that. Times of merged events are the maximum so far,
 * so they need not be stored. */
#include "core/merge.h"

#include <string.h>

#include "core/state.h"
#include "mpf/event.h"

/* Number of consecutive events of one thread after which the next event of the other threads is
 * looked up */
#define LONG_ROW 8u
/* slots: one event's data, and memprof's own events' */
#define DATA_ROOM (MPF_DATA_MAX / MPF_CONT_BYTES * 2)

struct stream {
    uint64_t time;                     /* of the next event */
    const struct mpf_slot *next, *end; /* its slot; the end of the ready slots in its chunk */
    uint32_t chunk;                    /* index */
    uint32_t tag;
};

struct match {
    uint64_t time;
    uint64_t stream;
};

struct mp_merge {
    uint32_t streams, leaves; /* leaves: a power of two; leaves after the streams have no event */
    uint32_t winner;
    uint32_t kinds;
    uint16_t kind[MP_KINDS_MAX]; /* of the current frame */
    uint8_t known[1 << 16];
    uint32_t taken; /* entries of `chunk`: the chunks passed since the last frame */
    struct mp_taken chunk[MP_TAKEN_MAX];
    struct match loser[MP_THREADS_MAX];
    struct stream stream[MP_THREADS_MAX];
};

size_t mp_merge_bytes(void) { return (sizeof(struct mp_merge) + 63) / 64 * 64; }

/* ---- a thread's slots */

static inline bool is_event(const struct stream *s)
{
    const uint64_t head = s->next->head;
    return mpf_slot_tag(head) == s->tag && mpf_slot_op(head) != MPF_OP_CONT;
}

static void open_chunk(struct stream *s, uint32_t chunk)
{
    const struct mpf_slot *slot = mp_chunk_at(chunk)->slot;
    const struct mp_chunk_meta *meta = mp_meta_at(chunk);
    s->chunk = chunk;
    s->tag = meta->tag;
    s->next = slot + meta->pending;
    s->end = slot + meta->ready;
}

/* Marks the chunk's slots below the stream's place as taken. */
static void note_taken(struct mp_merge *m, const struct stream *s)
{
    struct mp_chunk_meta *meta = mp_meta_at(s->chunk);
    const uint32_t slots = (uint32_t)(s->next - mp_chunk_at(s->chunk)->slot);
    if (slots <= meta->pending) return;
    if (m->taken && m->chunk[m->taken - 1].chunk == s->chunk) m->taken--;
    if (m->taken == MP_TAKEN_MAX) return;
    m->chunk[m->taken++] = (struct mp_taken){ s->chunk, slots };
    meta->pending = slots;
}

/* Moves to the next event, over data of the previous event and slots that were given up, or to
 * MP_NO_EVENT at the end of the ready slots. Returns the number of slots passed. */
static __attribute__((noinline)) uint32_t settle(struct mp_merge *m, struct stream *s)
{
    for (uint32_t passed = 0;;) {
        for (; s->next < s->end && !is_event(s); s->next++) passed++;
        if (s->next < s->end) {
            if (s->next->time > s->time) s->time = s->next->time;
            return passed;
        }
        const struct mp_chunk_meta *meta = mp_meta_at(s->chunk);
        const uint32_t next = __atomic_load_n(&meta->next, __ATOMIC_ACQUIRE);
        note_taken(m, s);
        if (!next || meta->ready < meta->used) {
            s->time = MP_NO_EVENT;
            return passed;
        }
        open_chunk(s, next - 1);
    }
}

void mp_merge_begin(struct mp_merge *m) { m->streams = 0; }

void mp_merge_add(struct mp_merge *m, const struct mp_thread *t, uint64_t upto, uint64_t floor)
{
    const uint32_t first = __atomic_load_n(&t->first, __ATOMIC_ACQUIRE);
    if (!first) return;
    struct stream *s = &m->stream[m->streams];
    open_chunk(s, first - 1);
    s->time = floor;
    settle(m, s);
    if (s->time <= upto) m->streams++;
}

/* ---- the tree */

/* Plays all matches of the tree below a node and returns the winner. */
static uint32_t play(struct mp_merge *m, uint32_t node)
{
    if (node >= m->leaves) return node - m->leaves;
    const uint32_t a = play(m, 2 * node), b = play(m, 2 * node + 1);
    const bool second = m->stream[b].time < m->stream[a].time;
    const uint32_t loser = second ? a : b;
    m->loser[node] = (struct match){ m->stream[loser].time, loser };
    return second ? b : a;
}

void mp_merge_start(struct mp_merge *m)
{
    for (m->leaves = 1; m->leaves < m->streams;) m->leaves *= 2;
    for (uint32_t i = m->streams; i < m->leaves; i++) m->stream[i].time = MP_NO_EVENT;
    m->winner = m->streams ? play(m, 1) : 0;
}

/* Returns the winner after the time of the stream has changed. */
static inline uint32_t replay(struct mp_merge *m, uint32_t stream)
{
    uint64_t time = m->stream[stream].time, winner = stream;
    for (uint32_t node = (m->leaves + stream) / 2; node; node /= 2) {
        struct match *other = &m->loser[node];
        const uint64_t swap = -(uint64_t)(other->time < time);
        const uint64_t times = (time ^ other->time) & swap,
                       streams = (winner ^ other->stream) & swap;
        other->time ^= times;
        time ^= times;
        other->stream ^= streams;
        winner ^= streams;
    }
    return (uint32_t)winner;
}

/* Returns the time up to which the winner stays the winner. */
static uint64_t winner_until(const struct mp_merge *m, uint32_t stream, uint64_t upto)
{
    for (uint32_t node = (m->leaves + stream) / 2; node; node /= 2)
        if (m->loser[node].time < upto) upto = m->loser[node].time;
    return upto;
}

/* ---- a frame */

/* Returns false if the frame already has the maximum number of kinds of events. */
static bool new_kind(struct mp_merge *m, uint16_t kind)
{
    if (m->kinds == MP_KINDS_MAX) return false;
    m->kind[m->kinds++] = kind;
    m->known[kind] = 1;
    return true;
}

static void forget_kinds(struct mp_merge *m)
{
    while (m->kinds) m->known[m->kind[--m->kinds]] = 0;
}

static inline uint32_t place_of(const struct mpf_slot *s)
{
    return (uint32_t)(((uintptr_t)s - (uintptr_t)mp_process->pool.base) >> 3);
}

/* Takes the stream's event. Returns false if the frame is full. */
static inline bool take(struct mp_merge *m, struct stream *s, struct mp_selection *out)
{
    const uint16_t kind = (uint16_t)s->next->head;
    if (out->events == out->most_events ||
        (__builtin_expect(!m->known[kind], 0) && !new_kind(m, kind)))
        return false;
    out->newest = s->time;
    out->place[out->events++] = place_of(s->next);
    s->next++;
    if (__builtin_expect(s->next == s->end || !is_event(s), 0)) {
        out->data_slots += settle(m, s);
        return out->data_slots + DATA_ROOM <= out->most_events;
    }
    if (s->next->time > s->time) s->time = s->next->time;
    return true;
}

/* The most frequent events: four kinds of small host blocks. */
enum { USUAL = MPF_OP_ALLOC | MPF_HEAP_HOST << 8, USUALS = MPF_OPS_OF_BLOCKS };

static inline bool is_usual(const struct mpf_slot *s, uint32_t first)
{
    return ((uint32_t)s->head & 0xffffff) - first < USUALS;
}

/* Takes the stream's events up to a time, except its last one, while they are usual: of known kinds
 * and without data. */
static inline void take_usual(struct stream *s, uint64_t limit, struct mp_selection *out)
{
    const uint32_t room = out->most_events - out->events;
    const struct mpf_slot *at = s->next, *const end =
                                             s->end - at < (ptrdiff_t)room ? s->end : at + room;
    const uint32_t first = USUAL | s->tag << 16;
    uint32_t *to = out->place + out->events, place = place_of(at);
    uint64_t time = s->time;
    if (at == end || !is_usual(at, first)) return;
    for (; at + 1 < end && is_usual(at + 1, first) && at[1].time <= limit; at++) {
        *to++ = place;
        place += sizeof *at >> 3;
        if (at[1].time > time) time = at[1].time;
    }
    out->events = (uint32_t)(to - out->place);
    s->next = at;
    s->time = time;
}

/* Stores how far each chunk is taken. If no slot was taken, skipped slots belong to a later
 * frame. */
static void hand_over(struct mp_merge *m, struct mp_selection *out)
{
    out->chunks = 0;
    if (!out->events) return;
    for (uint32_t i = 0; i < m->streams; i++)
        if (m->stream[i].time != MP_NO_EVENT) note_taken(m, &m->stream[i]);
    memcpy(out->chunk, m->chunk, m->taken * sizeof *m->chunk);
    out->chunks = m->taken;
    m->taken = 0;
    forget_kinds(m);
}

/* Takes the winner's events as long as it wins. Returns false if the frame is full. */
static inline bool take_row(struct mp_merge *m, struct stream *s, uint64_t limit,
                            struct mp_selection *out)
{
    do {
        if (limit) take_usual(s, limit, out);
        if (!take(m, s, out)) return false;
    } while (s->time <= limit);
    return true;
}

void mp_merge_take(struct mp_merge *m, uint64_t upto, struct mp_selection *out)
{
    uint32_t winner = m->winner, row = 0;
    out->events = out->data_slots = 0;
    for (uint16_t kind = USUAL; kind < USUAL + USUALS; kind++)
        if (!m->known[kind]) new_kind(m, kind);
    for (bool room = m->streams > 0; room && m->stream[winner].time <= upto;) {
        const uint64_t limit = row < LONG_ROW ? 0 : winner_until(m, winner, upto);
        room = take_row(m, &m->stream[winner], limit, out);
        const uint32_t next = replay(m, winner);
        row = next == winner ? row + 1 : 0;
        winner = next;
    }
    m->winner = winner;
    hand_over(m, out);
    if (m->streams && m->stream[winner].time > upto) m->streams = 0;
}

bool mp_merge_more(const struct mp_merge *m) { return m->streams > 0; }
