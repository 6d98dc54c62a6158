/* Several threads (writers) work on frames at once: one at a time takes slots for its frame, under epoch_lock; then each
 * encodes its own; then they write in the order in which they took.
 *
 * Invariants:
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
#include "merge.h"
#include "mpf/columns.h"
#include "process.h"
#include "sample.h"
#include "threads.h"

#define MARGIN_NS 20000u
#define PATIENCE_NS 500000000u
#define LOOK_NS 50000000u       /* between two looks for threads that are gone */
#define NOTES 16
#define NOTE_BYTES 128

#define ENDS_MAX 2000u          /* threads' ends in a frame */

struct note { uint64_t addr, size; uint8_t op, has_data, data[NOTE_BYTES]; };

/* What one writer is at: from taking slots to giving them back. */
struct frame {
    struct mpf_columns *columns;
    unsigned writer;
    uint32_t ticket;            /* frames are written in this order */
    uint64_t seq;               /* its number, if all before it can be written */
    uint64_t after;             /* no event of it is older */
    struct mpf_clock from, to;
    bool more;                  /* events were left when it was full */
    uint32_t chunks;            /* taken to their end */
    uint64_t touched;           /* bytes of memory that the largest frame so far took */
    uint32_t notes, ends;
    struct note note[NOTES];
    uint32_t end[ENDS_MAX];     /* numbers of threads */
    uint8_t data[MPF_DATA_MAX + MPF_CONT_BYTES];
    struct mp_selection slots;
};

struct mp_epoch {
    struct mp_merge *merge;
    struct mpf_clock last;      /* of the previous frame */
    uint64_t upto;              /* this epoch's watermark */
    uint64_t seq;               /* of the next frame */
    uint32_t ticket;            /* of the next frame */
    uint32_t turn;              /* futex: of the frame that is to be written next */
    uint32_t frame_events;      /* most events of a frame */
    uint32_t dead;              /* threads that were seen dead and are not given back, at most; read without the lock */
    uint64_t next_look;         /* for such; ns */
    uint32_t notes;
    struct note note[NOTES];
    struct frame *frame[MP_WRITERS];
};

/* Records ever in use; the counter is ahead of the array for an instant when that is full. */
static uint32_t thread_records(void)
{
    const uint32_t n = __atomic_load_n(&mp_process->threads, __ATOMIC_ACQUIRE);
    return n < MP_THREADS_MAX ? n : MP_THREADS_MAX;
}

/* ---- what is committed, and up to when */

/* Slots of the chunk that are reserved: those below the thread's cursor while it fills this chunk. */
static uint32_t reserved(const struct mp_thread *t, uint32_t chunk, bool filling)
{
    if (!filling) return mp_meta_at(chunk)->used;
    const uintptr_t first = (uintptr_t)mp_chunk_at(chunk)->slot;
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
    struct mp_chunk_meta *meta = mp_meta_at(chunk);
    if (mono - t->blocked_since > PATIENCE_NS) {
        meta->retired = 1;
        meta->ready++;
        t->blocked_since = 0;
        mp_loss(MPF_LOSS_TORN, 1);
        return false;
    }
    const struct mpf_slot *before = meta->ready ? &mp_chunk_at(chunk)->slot[meta->ready - 1] : NULL;
    uint64_t bound = mp_process->watermark;
    if (before && mpf_slot_op(before->head) != MPF_OP_CONT && before->time > bound) bound = before->time;
    if (bound < e->upto) e->upto = bound;
    return true;
}

/* Finds how far each chunk of the thread is committed, and lowers the watermark below an event in flight. */
static void survey(struct mp_epoch *e, struct mp_thread *t, bool all)
{
    for (uint32_t link = __atomic_load_n(&t->first, __ATOMIC_ACQUIRE); link; ) {
        struct mp_chunk_meta *meta = mp_meta_at(link - 1);
        const struct mpf_chunk *c = mp_chunk_at(link - 1);
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

/* ---- encode */

/* The data of the DATA event, put together from the slots behind it. */
static const uint8_t *data_of(struct frame *f, const struct mpf_slot *s, uint64_t bytes)
{
    const struct mpf_slot *end = mpf_slot_chunk(s)->slot + MPF_CHUNK_SLOTS;
    for (uint32_t i = 0; i < mpf_data_slots(bytes) && s + 1 + i < end; i++)
        memcpy(f->data + i * MPF_CONT_BYTES, s + 1 + i, MPF_CONT_BYTES);
    return f->data;
}

/* A slot that no code of ours wrote (the program writes where it should not) must not spoil its frame. */
static bool makes_sense(uint64_t head)
{
    const enum mpf_class class = mpf_op_class(mpf_slot_op(head));
    return class != MPF_CLASS_NONE && (class != MPF_CLASS_DATA || mpf_slot_size(head) <= MPF_DATA_MAX);
}

static void add(struct frame *f, const struct mpf_slot *s, uint64_t time)
{
    if (!makes_sense(s->head)) {
        mp_loss(MPF_LOSS_TORN, 1);
        return;
    }
    const struct mpf_slot event = { time, s->addr, s->head };
    const bool has_data = mpf_op_class(mpf_slot_op(s->head)) == MPF_CLASS_DATA;
    mpf_columns_add(f->columns, &event, mpf_slot_chunk(s)->thread, has_data ? data_of(f, s, mpf_slot_size(s->head)) : NULL);
}

static uint64_t add_slots(struct frame *f)
{
    const struct mpf_slots slots = { mp_process->pool.base, f->slots.place, f->slots.events };
    uint64_t time = f->after;
    for (uint32_t i = 0; (i = mpf_columns_add_plain(f->columns, &slots, i, &time)) < slots.count; i++)
        add(f, (const struct mpf_slot *)(slots.base + ((uint64_t)slots.place[i] << 3)), time);
    return time;
}

static void add_notes(struct frame *f, uint64_t time)
{
    for (uint32_t i = 0; i < f->notes; i++) {
        const struct note *n = &f->note[i];
        const struct mpf_slot s = { time, n->addr, mpf_slot_head(n->op, MPF_HEAP_NONE, 0, n->size) };
        mpf_columns_add(f->columns, &s, 0, n->has_data ? n->data : NULL);
    }
    for (uint32_t i = 0; i < f->ends; i++) {
        const struct mpf_slot end = { time, f->end[i], mpf_slot_head(MPF_OP_THREAD_END, MPF_HEAP_NONE, 0, 0) };
        mpf_columns_add(f->columns, &end, 0, NULL);
    }
}

static void encode(struct frame *f)
{
    mpf_columns_begin(f->columns);
    add_notes(f, add_slots(f));
    const uint64_t touched = sizeof *f + sizeof *f->slots.place * f->slots.most_events + mpf_columns_touched(f->columns);
    if (touched > f->touched) __atomic_store_n(&f->touched, touched, __ATOMIC_RELAXED);
    mp_logfile_events(f->writer, f->seq, f->columns, &f->from, &f->to);
}

/* ---- frame */

/* Says in the chunk's header which frame will hold what, in an order in which a kill in between does no harm. */
static void announce(const struct mp_taken *taken, uint64_t frame)
{
    struct mpf_chunk *c = mp_chunk_at(taken->chunk);
    __atomic_store_n(&c->drained, mp_meta_at(taken->chunk)->drained, __ATOMIC_RELEASE);
    __atomic_store_n(&c->frame, frame, __ATOMIC_RELEASE);
    __atomic_store_n(&c->drained_next, taken->slots, __ATOMIC_RELEASE);
}

/* The slots are in the log (or lost with it): chunks that are done go back to the pool. */
static bool retire(struct mp_thread *t)
{
    bool some = false;
    for (uint32_t link = __atomic_load_n(&t->first, __ATOMIC_ACQUIRE); link; link = t->first) {
        struct mp_chunk_meta *meta = mp_meta_at(link - 1);
        const uint32_t next = __atomic_load_n(&meta->next, __ATOMIC_ACQUIRE);
        if (!next || meta->drained < meta->used) break;
        __atomic_store_n(&t->first, next, __ATOMIC_RELEASE);
        mp_pool_give(link - 1);
        some = true;
    }
    return some;
}

/* Who waits for chunks is told only if there are some: frames of nothing but samples must not keep it waiting. */
static void retire_all(bool some)
{
    const uint32_t threads = thread_records();
    for (uint32_t i = 0; i < threads; i++) some |= retire(&mp_threads[i]);
    if (!some) return;
    __atomic_fetch_add(&mp_process->pool.released, 1, __ATOMIC_RELEASE);
    mp_sys_futex_wake(&mp_process->pool.released);
}

/* Writes the frame when those before it are written, and gives its slots back. */
static void write_in_turn(struct mp_epoch *e, struct frame *f)
{
    for (uint32_t turn; (turn = __atomic_load_n(&e->turn, __ATOMIC_ACQUIRE)) != f->ticket; ) mp_sys_futex_wait(&e->turn, turn, 1000000000u);
    for (uint32_t i = 0; i < f->slots.chunks; i++) announce(&f->slots.chunk[i], mp_logfile_next());
    const uint32_t events = mpf_columns_count(f->columns);
    if (mp_logfile_write(f->writer)) mp_process->events += events;
    else mp_loss(MPF_LOSS_WRITE, events);
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    struct mpf_journal *head = (struct mpf_journal *)mp_process->pool.base;
    head->last = f->to;
    head->lost = mp_process->lost_total;
    for (uint32_t i = 0; i < f->slots.chunks; i++) mp_meta_at(f->slots.chunk[i].chunk)->drained = f->slots.chunk[i].slots;
    retire_all(f->ends > 0);
    __atomic_fetch_sub(&mp_process->pool.on_the_way, f->chunks, __ATOMIC_RELAXED);
    __atomic_store_n(&e->turn, f->ticket + 1, __ATOMIC_RELEASE);
    mp_unlock(&mp_process->epoch_lock, signals);
    mp_sys_futex_wake(&e->turn);
}

/* ---- epoch */

static size_t aligned(size_t n) { return (n + 63) / 64 * 64; }

static void *map(size_t bytes)
{
    return mp_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static size_t frame_bytes(uint32_t events) { return aligned(sizeof(struct frame)) + aligned(sizeof(uint32_t) * events) + mpf_columns_memory(events); }

static struct frame *map_frame(unsigned writer, uint32_t events)
{
    uint8_t *memory = map(frame_bytes(events));
    if (!memory) return NULL;
    if (!mp_logfile_prepare(writer, mpf_columns_bound(events))) {
        mp_sys_munmap(memory, frame_bytes(events));
        return NULL;
    }
    struct frame *f = (struct frame *)memory;
    f->writer = writer;
    f->slots.place = (uint32_t *)(memory + aligned(sizeof *f));
    f->slots.most_events = events - NOTES;
    f->columns = mpf_columns_init(memory + aligned(sizeof *f) + aligned(sizeof(uint32_t) * events), events, mp_process->tick_shift);
    return f;
}

static struct mp_epoch *map_epoch(void)
{
    uint8_t *memory = map(aligned(sizeof(struct mp_epoch)) + mp_merge_bytes());
    if (!memory) return NULL;
    struct mp_epoch *e = (struct mp_epoch *)memory;
    e->merge = (struct mp_merge *)(memory + aligned(sizeof *e));
    e->frame_events = MP_FRAME_EVENTS;
    e->frame[0] = map_frame(0, MP_FRAME_EVENTS);
    if (!e->frame[0]) e->frame[0] = map_frame(0, e->frame_events = MP_FRAME_EVENTS_SMALL);
    e->last = mp_process->start;
    if (e->frame[0]) return e;
    mp_sys_munmap(memory, aligned(sizeof *e) + mp_merge_bytes());
    return NULL;
}

/* The writer's frame; NULL: there is no memory for one. */
static struct frame *frame_of(unsigned writer)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    if (!mp_process->epoch) mp_process->epoch = map_epoch();
    struct mp_epoch *e = mp_process->epoch;
    if (e && !e->frame[writer]) e->frame[writer] = map_frame(writer, e->frame_events);
    mp_unlock(&mp_process->epoch_lock, signals);
    return e ? e->frame[writer] : NULL;
}

uint64_t mp_epoch_resident(void)
{
    const struct mp_epoch *e = mp_process->epoch;
    uint64_t bytes = 0;
    for (unsigned i = 0; e && i < MP_WRITERS; i++) bytes += e->frame[i] ? __atomic_load_n(&e->frame[i]->touched, __ATOMIC_RELAXED) : 0;
    return bytes;
}

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
    return t->first && t->first == t->last && mp_meta_at(t->first - 1)->drained == reserved(t, t->first - 1, true);
}

static bool seen_dead(const struct mp_thread *t) { return __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) == -1; }

/* Gives back the records of threads that were seen dead before the survey, as many as one frame can tell of. */
static void reclaim_dead(struct frame *f)
{
    const uint32_t threads = thread_records();
    for (uint32_t i = 0; i < threads && f->ends < ENDS_MAX; i++) {
        struct mp_thread *t = &mp_threads[i];
        if (!seen_dead(t) || !all_drained(t)) continue;
        f->end[f->ends++] = t->number;
        mp_thread_reclaim(t);
    }
}

/* MARGIN_NS in ticks, at least: a step of 2^tick_shift ticks is between 0.5 and 1 us. */
static uint64_t margin(void) { return MARGIN_NS / 1000 * ((uint64_t)2 << mp_process->tick_shift); }

/* A thread's end shows by its kernel thread, which costs a system call. */
static void find_dead(struct mp_epoch *e, uint32_t threads, bool now)
{
    const uint64_t mono = mp_sys_clock(CLOCK_MONOTONIC);
    if (mono < e->next_look && !now) return;
    e->next_look = mono + LOOK_NS;
    uint32_t dead = 0;
    for (uint32_t i = 0; i < threads; i++) {
        const int32_t tid = __atomic_load_n(&mp_threads[i].tid, __ATOMIC_ACQUIRE);
        if (tid > 0 && !mp_sys_thread_lives(mp_process->pid, tid)) __atomic_store_n(&mp_threads[i].tid, -1, __ATOMIC_RELEASE);
        dead += seen_dead(&mp_threads[i]);
    }
    __atomic_store_n(&e->dead, dead, __ATOMIC_RELAXED);
}

static void open_epoch(struct mp_epoch *e, bool all)
{
    const uint32_t threads = thread_records();
    e->upto = all ? MP_NO_EVENT - 1 : mp_clock_ticks() - margin();
    find_dead(e, threads, all);
    for (uint32_t i = 0; i < threads; i++) survey(e, &mp_threads[i], all);
    mp_sample_take(all);
    note_losses();
    mp_merge_begin(e->merge);
    for (uint32_t i = 0; i < threads; i++) mp_merge_add(e->merge, &mp_threads[i], e->upto, mp_process->watermark);
    mp_merge_start(e->merge);
}

/* Takes slots for a frame, and memprof's own events. */
static void take_slots(struct mp_epoch *e, struct frame *f)
{
    mp_merge_take(e->merge, e->upto, &f->slots);
    if (f->slots.events) mp_process->watermark = f->slots.newest;
    f->more = mp_merge_more(e->merge);
    f->chunks = 0;
    for (uint32_t i = 0; i < f->slots.chunks; i++) f->chunks += f->slots.chunk[i].slots == MPF_CHUNK_SLOTS;
    __atomic_fetch_add(&mp_process->pool.on_the_way, f->chunks, __ATOMIC_RELAXED);
    f->notes = e->notes;
    memcpy(f->note, e->note, e->notes * sizeof *e->note);
    e->notes = 0;
}

/* The frame's place in the log. */
static void stamp(struct mp_epoch *e, struct frame *f)
{
    if (__atomic_load_n(&e->turn, __ATOMIC_ACQUIRE) == e->ticket) e->seq = mp_logfile_next();
    f->seq = e->seq++;
    f->ticket = e->ticket++;
    f->from = e->last;
    mp_clock_read(&e->last);
    f->to = e->last;
}

enum take { NEWS, ALL, REST, ENDS };    /* what is older than a margin; everything; what was left of that; threads' ends */

static bool may_take(enum take what)
{
    return what == ALL || what == REST || (__atomic_load_n(&mp_process->state, __ATOMIC_RELAXED) == MP_ON && !mp_process->ended);
}

/* Something for a frame; false: there is nothing, or the log is complete. */
static bool take(struct mp_epoch *e, struct frame *f, enum take what)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    f->slots.events = f->slots.chunks = f->chunks = f->notes = f->ends = 0;
    f->more = false;
    f->after = mp_process->watermark;
    if (what == ENDS) reclaim_dead(f);
    else if (may_take(what)) {
        if (what != REST) open_epoch(e, what == ALL);
        take_slots(e, f);
    }
    const bool some = f->slots.events || f->notes || f->ends;
    if (some) stamp(e, f);
    mp_unlock(&mp_process->epoch_lock, signals);
    return some;
}

static bool one_frame(struct mp_epoch *e, struct frame *f, enum take what)
{
    if (!take(e, f, what)) return false;
    encode(f);
    write_in_turn(e, f);
    return true;
}

static void tell_ends(struct mp_epoch *e, struct frame *f)
{
    while (__atomic_load_n(&e->dead, __ATOMIC_RELAXED) && one_frame(e, f, ENDS)) {}
}

bool mp_epoch_run(unsigned writer)
{
    const uint64_t signals = mp_lock(&mp_process->writer_lock[writer]);
    struct frame *f = frame_of(writer);
    const bool more = f && one_frame(mp_process->epoch, f, NEWS) && f->more;
    if (f && !more) tell_ends(mp_process->epoch, f);
    mp_unlock(&mp_process->writer_lock[writer], signals);
    return more;
}

/* With both locks no frame is on its way. */
void mp_epoch_end(const char *reason)
{
    const uint64_t signals = mp_lock(&mp_process->writer_lock[0]);
    const uint64_t blocked = mp_lock(&mp_process->writer_lock[1]);
    struct frame *f = frame_of(0);
    for (enum take what = ALL; f && one_frame(mp_process->epoch, f, what) && f->more; ) what = REST;
    if (f) tell_ends(mp_process->epoch, f);
    mp_process->ended = f && mp_logfile_end(reason);
    mp_unlock(&mp_process->writer_lock[1], blocked);
    mp_unlock(&mp_process->writer_lock[0], signals);
}
