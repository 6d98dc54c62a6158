/* Invariant: a slot is released only after the frame that contains it was written, and before that
 * the chunk's header names this frame. So, whenever the process is killed, each event is either in
 * the log or in the journal. */
#include "core/writer.h"

#include <string.h>

#include "core/logfile.h"
#include "core/loss.h"
#include "core/pool.h"
#include "core/records.h"
#include "core/state.h"

/* ---- memory */

static size_t aligned(size_t n) { return (n + 63) / 64 * 64; }

static size_t bytes_for(uint32_t events)
{
    return aligned(sizeof(struct mp_writer)) + aligned(sizeof(uint32_t) * events) +
           mpf_columns_memory(events);
}

struct mp_writer *mp_writer_map(unsigned number, uint32_t events)
{
    uint8_t *memory = mp_sys_map(bytes_for(events));
    if (!memory) return NULL;
    if (!mp_logfile_prepare(number, mpf_columns_bound(events))) {
        mp_sys_munmap(memory, bytes_for(events));
        return NULL;
    }
    struct mp_writer *w = (struct mp_writer *)memory;
    w->number = number;
    w->slots.place = (uint32_t *)(memory + aligned(sizeof *w));
    w->slots.most_events = (mp_process->attached ? events / 2 : events) - MP_NOTES;
    w->columns = mpf_columns_init(memory + aligned(sizeof *w) + aligned(sizeof(uint32_t) * events),
                                  events, mp_process->tick_shift);
    if (mp_process->attached) mpf_columns_keep_bytes(w->columns);
    return w;
}

void mp_writer_unmap(struct mp_writer *w, uint32_t events) { mp_sys_munmap(w, bytes_for(events)); }

/* ---- taking slots */

void mp_writer_begin(struct mp_writer *w, uint64_t after)
{
    w->slots.events = w->slots.chunks = w->chunks = w->notes = w->ends = 0;
    w->more = false;
    w->after = after;
    w->noted = 0;
}

void mp_writer_take(struct mp_writer *w, struct mp_merge *merge, uint64_t upto)
{
    mp_merge_take(merge, upto, &w->slots);
    w->more = mp_merge_more(merge);
    for (uint32_t i = 0; i < w->slots.chunks; i++)
        w->chunks += w->slots.chunk[i].slots == MPF_CHUNK_SLOTS;
    __atomic_fetch_add(&mp_process->pool.on_the_way, w->chunks, __ATOMIC_RELAXED);
}

/* ---- encoding */

/* Returns the data of the DATA event, assembled from the slots after it. */
static const uint8_t *data_of(struct mp_writer *w, const struct mpf_slot *s, uint64_t bytes)
{
    const struct mpf_slot *end = mpf_slot_chunk(s)->slot + MPF_CHUNK_SLOTS;
    for (uint32_t i = 0; i < mpf_data_slots(bytes) && s + 1 + i < end; i++)
        memcpy(w->data + i * MPF_CONT_BYTES, s + 1 + i, MPF_CONT_BYTES);
    return w->data;
}

/* A slot that was overwritten by an error of the program must not damage its frame. */
static bool makes_sense(uint64_t head)
{
    const enum mpf_class class = mpf_op_class(mpf_slot_op(head));
    return class != MPF_CLASS_NONE &&
           (class != MPF_CLASS_DATA || mpf_slot_size(head) <= MPF_DATA_MAX);
}

static void add(struct mp_writer *w, const struct mpf_slot *s, uint64_t time)
{
    if (!makes_sense(s->head)) {
        mp_loss(MPF_LOSS_TORN, 1);
        return;
    }
    const struct mpf_slot event = { time, s->addr, s->head };
    const bool has_data = mpf_op_class(mpf_slot_op(s->head)) == MPF_CLASS_DATA;
    mpf_columns_add(w->columns, &event, mpf_slot_chunk(s)->thread,
                    has_data ? data_of(w, s, mpf_slot_size(s->head)) : NULL);
}

static uint64_t add_slots(struct mp_writer *w)
{
    const struct mpf_slots slots = { mp_process->pool.base, w->slots.place, w->slots.events };
    uint64_t time = w->after;
    for (uint32_t i = 0; (i = mpf_columns_add_plain(w->columns, &slots, i, &time)) < slots.count;
         i++)
        add(w, (const struct mpf_slot *)(slots.base + ((uint64_t)slots.place[i] << 3)), time);
    return time;
}

static void add_notes(struct mp_writer *w, uint64_t time)
{
    if (w->noted > time) time = w->noted;
    for (uint32_t i = 0; i < w->notes; i++) {
        const struct mp_note *n = &w->note[i];
        const struct mpf_slot s = { time, n->addr,
                                    mpf_slot_head(n->op, MPF_HEAP_NONE, 0, n->size) };
        mpf_columns_add(w->columns, &s, 0, n->has_data ? n->data : NULL);
    }
    for (uint32_t i = 0; i < w->ends; i++) {
        const struct mpf_slot end = { time, w->end[i],
                                      mpf_slot_head(MPF_OP_THREAD_END, MPF_HEAP_NONE, 0, 0) };
        mpf_columns_add(w->columns, &end, 0, NULL);
    }
}

void mp_writer_encode(struct mp_writer *w)
{
    mpf_columns_begin(w->columns);
    add_notes(w, add_slots(w));
    const uint64_t touched =
        sizeof *w + sizeof *w->slots.place * w->slots.most_events + mpf_columns_touched(w->columns);
    if (touched > w->touched) __atomic_store_n(&w->touched, touched, __ATOMIC_RELAXED);
    mp_logfile_events(w->number, w->seq, w->columns, &w->from, &w->to);
}

/* ---- writing */

/* Stores in the chunk's header which frame will contain which slots, in an order in which a kill in
 * between does no harm. */
static void announce(const struct mp_taken *taken, uint64_t frame)
{
    struct mpf_chunk *c = mp_chunk_at(taken->chunk);
    __atomic_store_n(&c->drained, mp_meta_at(taken->chunk)->drained, __ATOMIC_RELEASE);
    __atomic_store_n(&c->frame, frame, __ATOMIC_RELEASE);
    __atomic_store_n(&c->drained_next, taken->slots, __ATOMIC_RELEASE);
}

/* Releases slots that are in the log (or lost with it): finished chunks return to the pool. Returns
 * their number. */
static uint32_t retire(struct mp_thread *t)
{
    uint32_t given = 0;
    for (uint32_t link = __atomic_load_n(&t->first, __ATOMIC_ACQUIRE); link; link = t->first) {
        struct mp_chunk_meta *meta = mp_meta_at(link - 1);
        const uint32_t next = __atomic_load_n(&meta->next, __ATOMIC_ACQUIRE);
        if (!next || meta->drained < meta->used) break;
        __atomic_store_n(&t->first, next, __ATOMIC_RELEASE);
        mp_pool_give(link - 1);
        given++;
    }
    return given;
}

/* Threads that wait for chunks are woken only if there are some: frames of samples alone must not
 * keep them waiting. At most as many are woken as there are chunks, because thousands of useless
 * wake-ups would take the encoder's time. */
static void retire_all(uint32_t given)
{
    const uint32_t threads = mp_threads_ever();
    for (uint32_t i = 0; i < threads; i++) given += retire(mp_thread_at(i));
    if (!given) return;
    __atomic_fetch_add(&mp_process->pool.released, 1, __ATOMIC_RELEASE);
    mp_sys_futex_wake_some(&mp_process->pool.released, given);
}

static void wait_for_turn(const struct mp_writer *w, uint32_t *turn)
{
    for (uint32_t now; (now = __atomic_load_n(turn, __ATOMIC_ACQUIRE)) != w->ticket;)
        mp_sys_futex_wait(turn, now, 1000000000u);
}

/* Counts the events of a lost frame, and keeps its own reports of losses. */
static void count_lost(struct mp_writer *w)
{
    w->lost = mpf_columns_count(w->columns);
    for (uint32_t i = 0; i < w->notes; i++) {
        const struct mp_note *n = &w->note[i];
        if (n->op == MPF_OP_LOST) mp_loss_again((unsigned)n->size, n->addr);
        if (n->op == MPF_OP_LOST || n->op == MPF_OP_UNWRITTEN) w->lost--;
    }
    mp_loss(MPF_LOSS_WRITE, w->lost);
}

/* Records when and why this frame was not written, and earlier ones that it should have reported.
 */
static void note_unwritten(const struct mp_writer *w)
{
    struct mpf_unwritten span;
    for (uint32_t i = 0; i < w->notes; i++) {
        if (w->note[i].op != MPF_OP_UNWRITTEN) continue;
        memcpy(&span, w->note[i].data, sizeof span);
        mp_loss_unwritten(&span);
    }
    span = (struct mpf_unwritten){ (uint64_t)-w->error, w->from.mono, w->to.mono, w->lost,
                                   mp_logfile_frame_bytes(w->number) };
    mp_loss_unwritten(&span);
}

static void write_frame(struct mp_writer *w)
{
    for (uint32_t i = 0; i < w->slots.chunks; i++) announce(&w->slots.chunk[i], mp_logfile_next());
    w->error = mp_logfile_write(w->number);
    if (!w->error) mp_process->events += mpf_columns_count(w->columns);
    else count_lost(w);
    mp_loss_frame(w->error != 0);
}

static void give_back(struct mp_writer *w)
{
    struct mpf_journal *head = mp_process->pool.head;
    if (w->error) note_unwritten(w);
    head->last = w->to;
    head->unwritten = mp_process->unwritten;
    for (uint32_t i = 0; i < w->slots.chunks; i++)
        mp_meta_at(w->slots.chunk[i].chunk)->drained = w->slots.chunk[i].slots;
    __atomic_fetch_add(&mp_process->pool.frames, 1, __ATOMIC_RELEASE);
    retire_all(w->ends);
    __atomic_fetch_sub(&mp_process->pool.on_the_way, w->chunks, __ATOMIC_RELAXED);
}

void mp_writer_write(struct mp_writer *w, uint32_t *turn)
{
    wait_for_turn(w, turn);
    write_frame(w);
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    give_back(w);
    __atomic_store_n(turn, w->ticket + 1, __ATOMIC_RELEASE);
    mp_unlock(&mp_process->epoch_lock, signals);
    mp_sys_futex_wake(turn);
}
