/* Invariants:
 *  - frames are in time order: frame n holds the events with W(n-1) < time <= W(n); an event seen later than its
 *    watermark (a clock that reads early by more than MARGIN_NS) gets the watermark's time;
 *  - a thread's events keep the order of its slots;
 *  - a slot is given back only after the frame that holds it was written, and the chunk's header says beforehand which
 *    frame that is: whatever instant the process is killed at, the event is in the log or in the journal, never in both.
 *
 * An event is in flight when its slot is reserved and not committed: its thread was descheduled or interrupted between.
 * The watermark stays behind it.  After PATIENCE_NS it is given up (the thread jumped out of a signal handler). */
#include "epoch.h"

#include <string.h>

#include "logfile.h"
#include "loss.h"
#include "mpf/columns.h"
#include "process.h"
#include "sample.h"
#include "threads.h"

#define MARGIN_NS 20000u
#define PATIENCE_NS 500000000u
#define NOTES 16
#define NOTE_BYTES 128

/* The next event of a thread that is not in a frame yet. */
struct cursor {
    uint64_t time;
    struct mp_thread *thread;
    uint32_t chunk, at;         /* index of the chunk, number of the slot */
};

struct note { uint64_t addr, size; uint8_t op, has_data, data[NOTE_BYTES]; };

struct mp_epoch {
    struct mpf_columns *columns;
    struct mpf_clock last;      /* of the previous frame */
    uint64_t upto;              /* this epoch's watermark */
    uint64_t frame_data;        /* bytes of data in the frame at hand */
    uint32_t frame_events;      /* most events of a frame */
    uint32_t cursors;
    uint32_t notes;
    struct note note[NOTES];
    uint8_t data[MPF_DATA_MAX + MPF_CONT_BYTES];
    struct cursor cursor[];     /* a binary heap by time */
};

/* Records ever in use; the counter is ahead of the array for an instant when that is full. */
static uint32_t thread_records(void)
{
    const uint32_t n = __atomic_load_n(&mp_process->threads, __ATOMIC_ACQUIRE);
    return n < MP_THREADS_MAX ? n : MP_THREADS_MAX;
}

static struct mpf_chunk *chunk_of(uint32_t chunk) { return mp_pool_chunk(&mp_process->pool, chunk); }
static struct mp_chunk_meta *meta_of(uint32_t chunk) { return &mp_process->pool.meta[chunk]; }

/* ---- what is committed, and up to when */

/* Slots of the chunk that are reserved: those below the thread's cursor while it fills this chunk. */
static uint32_t reserved(const struct mp_thread *t, uint32_t chunk, bool filling)
{
    if (!filling) return meta_of(chunk)->used;
    const uintptr_t first = (uintptr_t)chunk_of(chunk)->slot;
    const uintptr_t cur = (uintptr_t)mp_cursor_slot(__atomic_load_n(&t->cur, __ATOMIC_ACQUIRE));
    const uintptr_t n = (cur - first) / sizeof(struct mpf_slot);
    if (cur < first || n > MPF_CHUNK_SLOTS + 2) return 0;       /* it is just taking the next chunk */
    return n < MPF_CHUNK_SLOTS ? (uint32_t)n : MPF_CHUNK_SLOTS;
}

static bool committed(const struct mpf_chunk *c, uint32_t slot)
{
    return mpf_slot_tag(__atomic_load_n(&c->slot[slot].head, __ATOMIC_ACQUIRE)) == c->tag;
}

/* A slot is in flight: hold the watermark at the thread's last event, or give the slot up. */
static bool wait_for(struct mp_epoch *e, struct mp_thread *t, uint32_t chunk)
{
    const uint64_t mono = mp_sys_clock(CLOCK_MONOTONIC);
    if (!t->blocked_since) t->blocked_since = mono;
    struct mp_chunk_meta *meta = meta_of(chunk);
    if (mono - t->blocked_since > PATIENCE_NS) {
        meta->retired = 1;
        meta->ready++;
        t->blocked_since = 0;
        mp_loss(MPF_LOSS_TORN, 1);
        return false;
    }
    const struct mpf_slot *before = meta->ready ? &chunk_of(chunk)->slot[meta->ready - 1] : NULL;
    uint64_t bound = mp_process->watermark;
    if (before && mpf_slot_op(before->head) != MPF_OP_CONT && before->time > bound) bound = before->time;
    if (bound < e->upto) e->upto = bound;
    return true;
}

/* Finds how far each chunk of the thread is committed, and lowers the watermark below an event in flight. */
static void survey(struct mp_epoch *e, struct mp_thread *t, bool all)
{
    for (uint32_t link = __atomic_load_n(&t->first, __ATOMIC_ACQUIRE); link; ) {
        struct mp_chunk_meta *meta = meta_of(link - 1);
        const struct mpf_chunk *c = chunk_of(link - 1);
        const uint32_t next = __atomic_load_n(&meta->next, __ATOMIC_ACQUIRE);
        const uint32_t end = reserved(t, link - 1, !next);
        for (;;) {
            while (meta->ready < end && committed(c, meta->ready)) meta->ready++;
            if (meta->ready >= end) {
                t->blocked_since = 0;
                break;
            }
            if (all || wait_for(e, t, link - 1)) return;
        }
        link = next;
    }
}

/* ---- merge */

static void sift_down(struct mp_epoch *e, uint32_t i)
{
    const struct cursor c = e->cursor[i];
    for (uint32_t child; (child = 2 * i + 1) < e->cursors; i = child) {
        if (child + 1 < e->cursors && e->cursor[child + 1].time < e->cursor[child].time) child++;
        if (c.time <= e->cursor[child].time) break;
        e->cursor[i] = e->cursor[child];
    }
    e->cursor[i] = c;
}

static bool is_event(const struct mpf_chunk *c, uint32_t slot)
{
    return committed(c, slot) && mpf_slot_op(c->slot[slot].head) != MPF_OP_CONT;
}

/* Moves the cursor to an event, over data that belongs to the one before and slots that were given up; false at the end
 * of what is ready. */
static bool settle(struct cursor *c)
{
    for (;;) {
        struct mp_chunk_meta *meta = meta_of(c->chunk);
        const struct mpf_chunk *chunk = chunk_of(c->chunk);
        while (c->at < meta->ready && !is_event(chunk, c->at)) meta->pending = ++c->at;
        if (c->at < meta->ready) {
            const uint64_t time = chunk->slot[c->at].time;
            if (time > c->time) c->time = time;
            return true;
        }
        const uint32_t next = __atomic_load_n(&meta->next, __ATOMIC_ACQUIRE);
        if (!next || meta->ready < meta->used) return false;
        meta->pending = meta->used;         /* slots given up at its end are done too */
        c->chunk = next - 1;
        c->at = meta_of(c->chunk)->drained;
    }
}

static void gather_cursors(struct mp_epoch *e)
{
    e->cursors = 0;
    const uint32_t threads = thread_records();
    for (uint32_t i = 0; i < threads; i++) {
        struct mp_thread *t = &mp_threads[i];
        const uint32_t first = __atomic_load_n(&t->first, __ATOMIC_ACQUIRE);
        if (!first) continue;
        const uint64_t floor = t->newest > mp_process->watermark ? t->newest : mp_process->watermark;
        struct cursor c = { .time = floor, .thread = t, .chunk = first - 1, .at = meta_of(first - 1)->drained };
        if (settle(&c) && c.time <= e->upto) e->cursor[e->cursors++] = c;
    }
    for (uint32_t i = e->cursors / 2; i-- > 0; ) sift_down(e, i);
}

/* The data of the DATA event in slot `at`, put together from the slots behind it. */
static const uint8_t *data_of(struct mp_epoch *e, const struct mpf_chunk *c, uint32_t at, uint64_t bytes)
{
    for (uint32_t i = 0; i < mpf_data_slots(bytes) && at + 1 + i < MPF_CHUNK_SLOTS; i++)
        memcpy(e->data + i * MPF_CONT_BYTES, &c->slot[at + 1 + i], MPF_CONT_BYTES);
    return e->data;
}

/* A slot that no code of ours wrote (the program writes where it should not) must not spoil its frame. */
static bool makes_sense(uint64_t head)
{
    const enum mpf_class class = mpf_op_class(mpf_slot_op(head));
    return class != MPF_CLASS_NONE && (class != MPF_CLASS_DATA || mpf_slot_size(head) <= MPF_DATA_MAX);
}

static void add(struct mp_epoch *e, const struct mpf_chunk *chunk, uint32_t at, uint64_t time)
{
    const struct mpf_slot *s = &chunk->slot[at];
    const struct mpf_slot event = { time, s->addr, s->head };
    const uint8_t *data = NULL;
    if (!makes_sense(s->head)) {
        mp_loss(MPF_LOSS_TORN, 1);
        return;
    }
    if (mpf_op_class(mpf_slot_op(s->head)) == MPF_CLASS_DATA) {
        data = data_of(e, chunk, at, mpf_slot_size(s->head));
        e->frame_data += mpf_slot_size(s->head);
    }
    mpf_columns_add(e->columns, &event, chunk->thread, data);
}

static bool frame_full(const struct mp_epoch *e)
{
    return mpf_columns_room(e->columns) <= NOTES || e->frame_data >= e->frame_events * MPF_CONT_BYTES - MPF_DATA_MAX;
}

/* Adds the cursor's events up to the limit; false at the end of what is ready. */
static bool add_until(struct mp_epoch *e, struct cursor *c, uint64_t limit)
{
    bool more = true;
    while (more && c->time <= limit && !frame_full(e)) {
        const struct mpf_chunk *chunk = chunk_of(c->chunk);
        const uint32_t ready = meta_of(c->chunk)->ready;
        uint32_t at = c->at;
        for (; at < ready && !frame_full(e); at++) {
            if (!is_event(chunk, at)) continue;
            const uint64_t time = chunk->slot[at].time;
            if (time > limit) break;
            if (time > c->time) c->time = time;
            add(e, chunk, at, c->time);
        }
        c->thread->newest = c->time;
        meta_of(c->chunk)->pending = c->at = at;
        more = settle(c);
    }
    return more;
}

/* Adds events in time order until the watermark or a full frame; returns the time of the last one. */
static uint64_t merge(struct mp_epoch *e)
{
    uint64_t time = mp_process->watermark;
    while (e->cursors && !frame_full(e)) {
        struct cursor *c = &e->cursor[0];
        uint64_t limit = e->upto;
        for (uint32_t i = 1; i < 3 && i < e->cursors; i++)
            if (e->cursor[i].time < limit) limit = e->cursor[i].time;
        const bool more = add_until(e, c, limit);
        time = c->thread->newest;
        if (!more || c->time > e->upto) e->cursor[0] = e->cursor[--e->cursors];
        if (e->cursors) sift_down(e, 0);
    }
    return time;
}

/* ---- frame */

/* Says in the chunk's header which frame will hold what, in an order in which a kill in between does no harm. */
static void announce(uint32_t chunk, uint64_t frame)
{
    const struct mp_chunk_meta *meta = meta_of(chunk);
    struct mpf_chunk *c = chunk_of(chunk);
    __atomic_store_n(&c->drained, meta->drained, __ATOMIC_RELEASE);
    __atomic_store_n(&c->frame, frame, __ATOMIC_RELEASE);
    __atomic_store_n(&c->drained_next, meta->pending, __ATOMIC_RELEASE);
}

static void announce_all(uint64_t frame)
{
    const uint32_t threads = thread_records();
    for (uint32_t i = 0; i < threads; i++)
        for (uint32_t link = __atomic_load_n(&mp_threads[i].first, __ATOMIC_ACQUIRE); link; ) {
            const struct mp_chunk_meta *meta = meta_of(link - 1);
            if (meta->pending > meta->drained) announce(link - 1, frame);
            link = __atomic_load_n(&meta->next, __ATOMIC_ACQUIRE);
        }
}

/* The slots are in the log (or lost with it): chunks that are done go back to the pool. */
static void retire(struct mp_thread *t)
{
    for (uint32_t link = __atomic_load_n(&t->first, __ATOMIC_ACQUIRE); link; link = t->first) {
        struct mp_chunk_meta *meta = meta_of(link - 1);
        meta->drained = meta->pending;
        const uint32_t next = __atomic_load_n(&meta->next, __ATOMIC_ACQUIRE);
        if (!next || meta->drained < meta->used) return;
        __atomic_store_n(&t->first, next, __ATOMIC_RELEASE);
        mp_pool_give(link - 1);
    }
}

static void retire_all(void)
{
    const uint32_t threads = thread_records();
    for (uint32_t i = 0; i < threads; i++) retire(&mp_threads[i]);
    __atomic_fetch_add(&mp_process->pool.released, 1, __ATOMIC_RELEASE);
    mp_sys_futex_wake(&mp_process->pool.released);
}

static void add_notes(struct mp_epoch *e, uint64_t time)
{
    for (uint32_t i = 0; i < e->notes; i++) {
        const struct note *n = &e->note[i];
        const struct mpf_slot s = { time, n->addr, mpf_slot_head(n->op, MPF_HEAP_NONE, 0, n->size) };
        mpf_columns_add(e->columns, &s, 0, n->has_data ? n->data : NULL);
    }
    e->notes = 0;
}

static void finish_frame(struct mp_epoch *e, uint64_t time, bool last)
{
    if (last) add_notes(e, time);
    const uint32_t events = mpf_columns_count(e->columns);
    if (!events) return;
    struct mpf_clock to;
    mp_clock_read(&to);
    const uint64_t frame = mp_logfile_next();
    announce_all(frame);
    if (mp_logfile_events(e->columns, &e->last, &to)) mp_process->events += events;
    else mp_loss(MPF_LOSS_WRITE, events);
    struct mpf_journal *head = (struct mpf_journal *)mp_process->pool.base;
    head->last = e->last = to;
    head->lost = mp_process->lost_total;
    mp_process->watermark = time;
    retire_all();
}

static void begin_frame(struct mp_epoch *e)
{
    mpf_columns_begin(e->columns);
    e->frame_data = 0;
}

/* ---- epoch */

static size_t epoch_bytes(void) { return (sizeof(struct mp_epoch) + MP_THREADS_MAX * sizeof(struct cursor) + 63) / 64 * 64; }

static struct mp_epoch *map_epoch(uint32_t frame_events)
{
    uint8_t *memory = mp_sys_mmap(NULL, epoch_bytes() + mpf_columns_memory(frame_events), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (!memory) return NULL;
    struct mp_epoch *e = (struct mp_epoch *)memory;
    if (!mp_logfile_prepare(mpf_columns_bound(frame_events))) {
        mp_sys_munmap(memory, epoch_bytes() + mpf_columns_memory(frame_events));
        return NULL;
    }
    e->columns = mpf_columns_init(memory + epoch_bytes(), frame_events, mp_process->tick_shift);
    e->frame_events = frame_events;
    e->last = mp_process->start;
    return e;
}

static struct mp_epoch *epoch(void)
{
    if (!mp_process->epoch) mp_process->epoch = map_epoch(MP_FRAME_EVENTS);
    if (!mp_process->epoch) mp_process->epoch = map_epoch(MP_FRAME_EVENTS_SMALL);
    return mp_process->epoch;
}

uint64_t mp_epoch_resident(void) { return mp_process->epoch ? mpf_columns_memory(mp_process->epoch->frame_events) : 0; }

void mp_epoch_note(unsigned op, uint64_t addr, const void *data, uint64_t size)
{
    struct mp_epoch *e = mp_process->epoch;
    if (e->notes == NOTES || (data && size > NOTE_BYTES)) return;
    struct note *n = &e->note[e->notes++];
    *n = (struct note){ .op = (uint8_t)op, .addr = addr, .size = size, .has_data = data != NULL };
    if (data) memcpy(n->data, data, size);
}

static void note_losses(void)
{
    for (unsigned reason = 0; reason < MP_LOSSES; reason++) {
        const uint64_t n = __atomic_exchange_n(&mp_process->lost[reason], 0, __ATOMIC_RELAXED);
        if (n) mp_epoch_note(MPF_OP_LOST, n, NULL, reason);
    }
}

/* Everything of the thread is in the log: nothing refers to its record and its last chunk any more. */
static bool all_drained(const struct mp_thread *t)
{
    return t->first && t->first == t->last && meta_of(t->first - 1)->drained == reserved(t, t->first - 1, true);
}

static bool seen_dead(const struct mp_thread *t) { return __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) == -1; }

/* Gives back the records of threads that were seen dead before the survey, as many as one frame can tell of. */
static void reclaim_dead(struct mp_epoch *e, uint32_t threads)
{
    begin_frame(e);
    for (uint32_t i = 0; i < threads && !frame_full(e); i++) {
        struct mp_thread *t = &mp_threads[i];
        if (!seen_dead(t) || !all_drained(t)) continue;
        const struct mpf_slot end = { mp_process->watermark, t->number, mpf_slot_head(MPF_OP_THREAD_END, MPF_HEAP_NONE, 0, 0) };
        mpf_columns_add(e->columns, &end, 0, NULL);
        mp_thread_reclaim(t);
    }
    finish_frame(e, mp_process->watermark, false);
}

/* MARGIN_NS in ticks, at least: a step of 2^tick_shift ticks is between 0.5 and 1 us. */
static uint64_t margin(void) { return MARGIN_NS / 1000 * ((uint64_t)2 << mp_process->tick_shift); }

static void run(struct mp_epoch *e, bool all)
{
    const uint32_t threads = thread_records();
    uint32_t dead = 0;
    e->upto = all ? UINT64_MAX : mp_clock_ticks() - margin();
    for (uint32_t i = 0; i < threads; i++) {
        struct mp_thread *t = &mp_threads[i];
        const int32_t tid = __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE);
        if (tid > 0 && !mp_sys_thread_lives(mp_process->pid, tid)) __atomic_store_n(&t->tid, -1, __ATOMIC_RELEASE);
        dead += seen_dead(t);
        survey(e, t, all);
    }
    mp_sample_take(all);
    note_losses();
    gather_cursors(e);
    do {
        begin_frame(e);
        const uint64_t time = merge(e);
        finish_frame(e, time, !e->cursors);
    } while (e->cursors);
    if (dead) reclaim_dead(e, threads);
}

void mp_epoch_run(void)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    const bool on = __atomic_load_n(&mp_process->state, __ATOMIC_RELAXED) == MP_ON && !mp_process->ended;
    struct mp_epoch *e = on ? epoch() : NULL;
    if (e) run(e, false);
    mp_unlock(&mp_process->epoch_lock, signals);
}

void mp_epoch_end(const char *reason)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    struct mp_epoch *e = epoch();
    if (e) run(e, true);
    mp_process->ended = e && mp_logfile_end(reason);
    mp_unlock(&mp_process->epoch_lock, signals);
}
