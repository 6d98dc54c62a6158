/* Several threads (writers) work on frames at the same time. One after the other takes slots for
 * its frame, under epoch_lock. Then each encodes its own frame, and they write in the order in
 * which they took the slots.
 *
 * Invariants:
 *  - Frames are in time order: frame n has the events with W(n-1) < time <= W(n). An event seen
 * later than its watermark (because a clock is early by more than MARGIN_NS) gets the watermark's
 * time.
 *  - A thread's events keep the order of its slots. */
#include "core/epoch.h"

#include <string.h>

#include "base/clock.h"
#include "core/logfile.h"
#include "core/measure.h"
#include "core/merge.h"
#include "core/pool.h"
#include "core/records.h"
#include "core/sample.h"
#include "core/state.h"
#include "core/survey.h"
#include "core/window.h"
#include "core/writer.h"

#define MARGIN_NS        20000u
#define RUN_PATIENCE_NS  UINT64_C(1000000000) /* for a thread that may hang in a write */
#define HOLD_PATIENCE_NS UINT64_C(10000000000)
#define LOOK_NS          50000000u /* between two checks for threads that have ended */

struct mp_epoch {
    struct mp_merge *merge;
    struct mpf_clock last; /* of the previous frame */
    uint64_t upto;         /* this epoch's watermark */
    uint64_t seq;          /* of the next frame */
    uint32_t ticket;       /* of the next frame */
    uint32_t turn;         /* futex: the ticket of the frame that is to be written next */
    bool busy;             /* a frame was full */
    /* Maximum number of threads that were seen to have ended and still have a record. Read without
     * the lock. */
    uint32_t dead;
    /* Times of the next check for ended threads in ns: normally, and while chunks are short. */
    uint64_t next_look, next_hurried;
    uint32_t notes;
    struct mp_note note[MP_NOTES];
    struct mp_writer *writer[MP_WRITERS];
};

static size_t epoch_bytes(void) { return (sizeof(struct mp_epoch) + 63) / 64 * 64; }

static struct mp_epoch *map_epoch(void)
{
    uint8_t *memory = mp_sys_map(epoch_bytes() + mp_merge_bytes());
    if (!memory) return NULL;
    struct mp_epoch *e = (struct mp_epoch *)memory;
    e->merge = (struct mp_merge *)(memory + epoch_bytes());
    e->writer[0] = mp_writer_map(0, MP_FRAME_EVENTS_SMALL);
    e->last = mp_process->start;
    if (e->writer[0]) return e;
    mp_sys_munmap(memory, epoch_bytes() + mp_merge_bytes());
    return NULL;
}

/* Maps memory for frames of the writer, whose lock is held: memory for large frames once a frame
 * was full. */
static void provide_writer(struct mp_epoch *e, unsigned number)
{
    struct mp_writer *const before = e->writer[number];
    if (before && (before->is_large || !e->busy)) return;
    struct mp_writer *large =
        e->busy && !mp_sys_limited() ? mp_writer_map(number, MP_FRAME_EVENTS) : NULL;
    if (large) large->is_large = true;
    if (large && before) mp_writer_unmap(before, MP_FRAME_EVENTS_SMALL);
    if (large || !before)
        e->writer[number] = large ? large : mp_writer_map(number, MP_FRAME_EVENTS_SMALL);
}

/* Called under epoch_lock. Returns NULL without memory. */
static struct mp_epoch *epoch(void)
{
    if (!mp_process->epoch) mp_process->epoch = map_epoch();
    return mp_process->epoch;
}

/* Called with the writer's lock held. Returns NULL without memory. */
static struct mp_writer *writer_of(unsigned number)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    struct mp_epoch *e = epoch();
    if (e) provide_writer(e, number);
    mp_unlock(&mp_process->epoch_lock, signals);
    return e ? e->writer[number] : NULL;
}

/* The first encoder may already be running. Its writer is unchanged. */
void mp_epoch_prepare(void)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    epoch();
    mp_unlock(&mp_process->epoch_lock, signals);
}

uint64_t mp_epoch_resident(void)
{
    const struct mp_epoch *e = mp_process->epoch;
    uint64_t bytes = 0;
    for (unsigned i = 0; e && i < MP_WRITERS; i++)
        bytes += e->writer[i] ? __atomic_load_n(&e->writer[i]->touched, __ATOMIC_RELAXED) : 0;
    return bytes;
}

void mp_epoch_note(unsigned op, uint64_t addr, const void *data, uint64_t size)
{
    struct mp_epoch *e = mp_process->epoch;
    if (e->notes == MP_NOTES || (data && size > MP_NOTE_BYTES)) return;
    struct mp_note *n = &e->note[e->notes++];
    *n =
        (struct mp_note){ .op = (uint8_t)op, .addr = addr, .size = size, .has_data = data != NULL };
    if (data) memcpy(n->data, data, size);
}

static void note_losses(void)
{
    for (unsigned reason = 0; reason < MP_LOSSES; reason++) {
        const uint64_t n = __atomic_exchange_n(&mp_process->lost[reason], 0, __ATOMIC_RELAXED);
        if (n) mp_epoch_note(MPF_OP_LOST, n, NULL, reason);
    }
    const struct mpf_unwritten unwritten = mp_process->unwritten;
    if (unwritten.events)
        mp_epoch_note(MPF_OP_UNWRITTEN, unwritten.error, &unwritten, sizeof unwritten);
    mp_process->unwritten = (struct mpf_unwritten){ 0 };
}

static bool seen_dead(const struct mp_thread *t)
{
    return __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) == -1;
}

/* Reclaims the records of threads that had ended before the survey, at most as many as one frame
 * can report. */
static void reclaim_dead(struct mp_writer *w)
{
    const uint32_t threads = mp_threads_ever();
    for (uint32_t i = 0; i < threads && w->ends < MP_ENDS; i++) {
        struct mp_thread *t = mp_thread_at(i);
        if (!seen_dead(t) || !mp_survey_drained(t)) continue;
        w->end[w->ends++] = t->number;
        mp_window_ends_of(t->number);
        mp_thread_reclaim(t);
    }
}

/* Returns at least MARGIN_NS in ticks: a step of 2^tick_shift ticks is between 0.5 and 1 us. */
uint64_t mp_epoch_margin(void)
{
    return MARGIN_NS / 1000 * ((uint64_t)2 << mp_process->tick_shift);
}

/* With more threads the pool may have more chunks. If a filter hides which threads have ended, the
 * number of the process's threads is the limit. */
static void count_alive(uint32_t alive)
{
    char main_state;
    struct mp_pool *pool = &mp_process->pool;
    const long process_threads = alive > pool->alive ? mp_sys_threads(&main_state) : 0;
    if (process_threads > 0 && (uint32_t)process_threads < alive) alive = (uint32_t)process_threads;
    const bool more = alive > pool->alive;
    __atomic_store_n(&pool->alive, alive, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pool->looks, 1, __ATOMIC_RELEASE);
    if (!more || !mp_pool_wanted()) return;
    __atomic_fetch_add(&pool->released, 1, __ATOMIC_RELEASE);
    mp_sys_futex_wake(&pool->released);
}

/* The end of a thread is found by its kernel thread, with a system call for each. Looking takes at
 * most a fifth of the encoder's time. */
static void find_dead(struct mp_epoch *e, uint32_t threads, bool now)
{
    const uint64_t start = mp_sys_clock(CLOCK_MONOTONIC);
    if (!now && start < (mp_pool_is_short() ? e->next_hurried : e->next_look)) return;
    uint32_t dead = 0, alive = 0;
    for (uint32_t i = 0; i < threads; i++) {
        const int32_t tid = __atomic_load_n(&mp_thread_at(i)->tid, __ATOMIC_ACQUIRE);
        if (tid > 0 && !mp_sys_thread_lives(mp_process->pid, tid))
            __atomic_store_n(&mp_thread_at(i)->tid, -1, __ATOMIC_RELEASE);
        dead += seen_dead(mp_thread_at(i));
        alive += mp_thread_at(i)->number && !seen_dead(mp_thread_at(i));
    }
    const uint64_t end = mp_sys_clock(CLOCK_MONOTONIC);
    e->next_look = end + LOOK_NS;
    e->next_hurried = end + 4 * (end - start);
    __atomic_store_n(&e->dead, dead, __ATOMIC_RELAXED);
    count_alive(alive);
}

static void open_epoch(struct mp_epoch *e, bool at_end)
{
    const uint32_t threads = mp_threads_ever();
    e->upto = at_end ? MP_NO_EVENT - 1 : mp_clock_ticks() - mp_epoch_margin();
    find_dead(e, threads, at_end);
    for (uint32_t i = 0; i < threads; i++) e->upto = mp_survey(mp_thread_at(i), e->upto, at_end);
    mp_sample_take(at_end);
    mp_window_tick();
    note_losses();
    mp_merge_begin(e->merge);
    for (uint32_t i = 0; i < threads; i++)
        mp_merge_add(e->merge, mp_thread_at(i), e->upto, mp_process->watermark);
    mp_merge_start(e->merge);
}

/* Gives memprof's samples the current time, even if nothing was recorded for a long time. If there
 * are more events, samples precede them. */
static void date_notes(const struct mp_epoch *e, struct mp_writer *w)
{
    const uint64_t now = mp_clock_ticks(), at = e->upto < now ? e->upto : now;
    if (at <= mp_process->watermark) return;
    w->noted = mp_process->watermark = at;
}

/* Takes slots and memprof's own events for a frame. At the end of the log the latter count the
 * events of all remaining frames, so they are in the last one. */
static void take_slots(struct mp_epoch *e, struct mp_writer *w, bool at_end)
{
    mp_writer_take(w, e->merge, e->upto);
    if (__atomic_load_n(&mp_measures, __ATOMIC_RELAXED)) mp_measure_take(&w->slots);
    if (!at_end) mp_measure_taken(w->more ? w->slots.newest - 1 : e->upto);
    if (w->slots.events) mp_process->watermark = w->slots.newest;
    if (at_end && w->more) return;
    w->notes = e->notes;
    memcpy(w->note, e->note, e->notes * sizeof *e->note);
    e->notes = 0;
    if (w->notes && !w->more) date_notes(e, w);
}

/* Sets the frame's place in the log. */
static void set_sequence(struct mp_epoch *e, struct mp_writer *w)
{
    if (__atomic_load_n(&e->turn, __ATOMIC_ACQUIRE) == e->ticket) e->seq = mp_logfile_next();
    w->seq = e->seq++;
    w->ticket = e->ticket++;
    w->from = e->last;
    mp_clock_read(&e->last);
    w->to = e->last;
}

enum take {
    NEWS,
    ALL,
    REST,
    ENDS
}; /* events older than a margin; all events; the remaining events; ends of threads */

static bool may_take(enum take part)
{
    return part == ALL || part == REST ||
           (__atomic_load_n(&mp_process->state, __ATOMIC_RELAXED) == MP_ON && !mp_process->ended);
}

/* Takes events for a frame. Returns false if there are none, or if the log is complete. */
static bool take(struct mp_epoch *e, struct mp_writer *w, enum take part)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    mp_writer_begin(w, mp_process->watermark);
    if (part == ENDS) reclaim_dead(w);
    else if (may_take(part)) {
        if (part != REST) open_epoch(e, part == ALL);
        take_slots(e, w, part != NEWS);
    }
    const bool some = w->slots.events || w->notes || w->ends;
    if (some) set_sequence(e, w);
    e->busy |= w->more;
    mp_unlock(&mp_process->epoch_lock, signals);
    return some;
}

static bool one_frame(struct mp_epoch *e, struct mp_writer *w, enum take part)
{
    if (!take(e, w, part)) return false;
    mp_writer_encode(w);
    mp_writer_write(w, &e->turn);
    return true;
}

static void tell_ends(struct mp_epoch *e, struct mp_writer *w)
{
    while (__atomic_load_n(&e->dead, __ATOMIC_RELAXED) && one_frame(e, w, ENDS)) {}
}

bool mp_epoch_run(unsigned writer)
{
    uint64_t signals;
    if (!mp_lock_within(&mp_process->writer_lock[writer], RUN_PATIENCE_NS, &signals)) return false;
    struct mp_writer *w = writer_of(writer);
    const bool more = w && one_frame(mp_process->epoch, w, NEWS) && w->more;
    if (w && !more) tell_ends(mp_process->epoch, w);
    mp_unlock(&mp_process->writer_lock[writer], signals);
    return more;
}

static void release(const struct mp_held *held, unsigned locks)
{
    for (unsigned i = locks; i-- > 0;) mp_unlock(&mp_process->writer_lock[i], held->signals[i]);
}

struct mp_held mp_epoch_hold(void)
{
    struct mp_held held = { .complete = false };
    for (unsigned i = 0; i < MP_WRITERS; i++) {
        if (mp_lock_within(&mp_process->writer_lock[i], HOLD_PATIENCE_NS, &held.signals[i]))
            continue;
        release(&held, i);
        return held;
    }
    held.complete = true;
    return held;
}

void mp_epoch_release(struct mp_held held) { release(&held, MP_WRITERS); }

bool mp_epoch_end(const char *reason)
{
    const struct mp_held held = mp_epoch_hold();
    if (!held.complete) return false;
    struct mp_writer *w = writer_of(0);
    for (enum take part = ALL; w && one_frame(mp_process->epoch, w, part) && w->more;
         w = writer_of(0))
        part = REST;
    if (w) tell_ends(mp_process->epoch, w);
    mp_process->ended = w && mp_logfile_end(reason);
    mp_epoch_release(held);
    return true;
}
