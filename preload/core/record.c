/* The slow path of recording: a thread's first event, a full chunk, a large block, a forked child.
 *
 * Invariants: signals are blocked while a thread's chunk is replaced, so a handler sees either the
 * old chunk or the new one. A slot's time is read after its place is reserved, so the encoder's
 * watermark never passes a future event.
 *
 * If signals cannot be blocked, a handler may interrupt all of this. It records as always, except
 * calls that take a lock (stacks, names, encoders), which its thread may hold. While the chunk is
 * replaced, the record is created or the process begins, its events are lost and counted. */
#include "core/record.h"

#include <errno.h>
#include <string.h>

#include "base/own_stack.h"
#include "core/allocator.h"
#include "core/config.h"
#include "core/draw.h"
#include "core/encoder.h"
#include "core/feature.h"
#include "core/loss.h"
#include "core/pool.h"
#include "core/process.h"
#include "core/records.h"
#include "core/threads.h"
#include "real/real.h"

/* Reserves this many consecutive slots of the thread's chunk. Returns 0 if the chunk has fewer left
 * or does not exist. One instruction moves the cursor if no handler has moved it since it was read,
 * so it never leaves the chunk by more than the one slot of mp_record_reserve. */
static uint64_t reserve_row(struct mp_thread *t, uint64_t slots)
{
    uint64_t at, expected = __atomic_load_n(&t->cur, __ATOMIC_RELAXED);
    do {
        at = expected;
        const uint64_t last = at + (slots - 1) * sizeof(struct mpf_slot);
        const bool same_chunk = (at ^ last) < MPF_CHUNK_BYTES;
        if (!mp_cursor_valid(at) || !mp_cursor_valid(last) || !same_chunk) return 0;
        mp_machine_swap(&t->cur, &expected, at + slots * sizeof(struct mpf_slot));
    } while (expected != at);
    return at;
}

/* Reads the clock in the thread's own turn, and repeats that if the turn ended meanwhile. The turn
 * is stored last: a signal handler before that finds a newer time than it needs, or none. */
static uint64_t read_clock(struct mp_thread *t)
{
    uint64_t turn, time;
    do {
        turn = __atomic_load_n(&mp_clock_turn, __ATOMIC_RELAXED);
        const bool may = mp_turn_owner(turn) == MP_EVERYBODY || mp_turn_owner(turn) == t->number;
        if (__builtin_expect(!may, 0)) turn = mp_clock_take_turn(t->number);
        time = mp_clock_ticks();
    } while (__builtin_expect(__atomic_load_n(&mp_clock_turn, __ATOMIC_RELAXED) != turn, 0));
    t->time = time;
    __atomic_store_n(&t->turn, (uint32_t)turn, __ATOMIC_RELEASE);
    return time;
}

/* A handler that interrupted between a slot and its time has recorded after it. The slot takes the
 * time of the first of these events. Otherwise the handler's events, which follow in order, would
 * be as late as the thread's continuation, and events of other threads with their addresses would
 * precede them. */
static MP_COLD uint64_t not_newer(uint64_t later, uint64_t time)
{
    for (; mp_cursor_valid(later); later += sizeof(struct mpf_slot)) {
        const struct mpf_slot *s = mp_cursor_slot(later);
        const unsigned op = mpf_slot_op(s->head);
        if (mpf_slot_tag(s->head) != later >> 48) break; /* the handler jumped out of it */
        if (op != MPF_OP_AT && op != MPF_OP_AT_PYTHON) return s->time < time ? s->time : time;
    }
    return time;
}

uint64_t mp_record_timed(struct mp_thread *t, uint64_t at, uint64_t addr, uint64_t head)
{
    const uint64_t later = at + sizeof(struct mpf_slot);
    uint64_t time = read_clock(t);
    if (__builtin_expect(__atomic_load_n(&t->cur, __ATOMIC_RELAXED) != later, 0))
        time = not_newer(later, time);
    mp_slot_commit(mp_cursor_slot(at), time, addr, head);
    return addr;
}

/* An event's data is in the next slots. It is stored first, so that a committed event is
 * complete. */
static void put(uint64_t at, unsigned op, unsigned heap, uint64_t addr, uint64_t size,
                const uint8_t *data)
{
    struct mpf_slot *s = mp_cursor_slot(at);
    for (uint32_t i = 0; data && i < mpf_data_slots(size); i++) {
        const size_t rest = size - i * MPF_CONT_BYTES;
        uint64_t word[2] = { 0, 0 };
        memcpy(word, data + i * MPF_CONT_BYTES, rest < MPF_CONT_BYTES ? rest : MPF_CONT_BYTES);
        mp_slot_commit(s + 1 + i, word[0], word[1],
                       mpf_slot_head(MPF_OP_CONT, 0, 0, 0) | mp_cursor_tag(at));
    }
    mp_slot_commit(s, read_clock(mp_self), addr,
                   mpf_slot_head(op, heap, 0, size) | mp_cursor_tag(at));
}

/* Nothing can be recorded: every event of the thread reaches this code, which resets its cursor to
 * a place that is not a slot. The record may be inherited and wiped. Even then each attempt moves
 * its cursor. */
static void park(void)
{
    if (mp_self) __atomic_store_n(&mp_self->cur, 0, __ATOMIC_RELEASE);
}

/* Does the same in a new chunk, unless a handler has made one since. */
static uint64_t reserve_anew(struct mp_thread *t, uint64_t slots)
{
    uint64_t at = reserve_row(t, slots);
    struct mp_process *const p = at ? NULL : mp_process_enter();
    if (!p) return at;
    if (mp_record_is_current(t)) {
        if (mp_thread_chunk(t)) at = reserve_row(t, slots);
        else mp_loss(mp_pool_why(), 1);
    }
    mp_process_exit(p);
    return at;
}

/* Reserves consecutive slots for the calling thread, in a new chunk if necessary. Returns 0 if that
 * fails. Signals must be blocked. */
static uint64_t reserve_slow(struct mp_thread *t, uint64_t slots)
{
    uint64_t at = reserve_row(t, slots);
    if (at) return at;
    t->guard |= MP_INSIDE;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    at = reserve_anew(t, slots);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->guard &= ~(uint32_t)MP_INSIDE;
    return at;
}

/* IDs; 0 if there is none */
struct place {
    uint64_t stack, python;
};

static uint64_t slots_of(struct place p) { return (uint64_t) !!p.stack + (uint64_t) !!p.python; }

static uint64_t commit_at(const struct mp_thread *t, uint64_t at, unsigned op, uint64_t id)
{
    if (!id) return at;
    mp_slot_commit(mp_cursor_slot(at), t->time, id,
                   mpf_slot_head(op, MPF_HEAP_NONE, 0, 0) | mp_cursor_tag(at));
    return at + sizeof(struct mpf_slot);
}

/* Commits the event, which follows the ATs of its place in the same row, so that no event of the
 * thread is in between. Returns its slot. */
static uint64_t commit_place(const struct mp_thread *t, uint64_t at, struct place place)
{
    return commit_at(t, commit_at(t, at, MPF_OP_AT, place.stack), MPF_OP_AT_PYTHON, place.python);
}

static bool samples_ended;

void mp_record_end_samples(void) { __atomic_store_n(&samples_ended, true, __ATOMIC_RELAXED); }

/* Sampling points have exponential gaps in the bytes of the small blocks that a thread allocates,
 * and a block that contains one has call stacks. The fast path counts the bytes down. A gap beyond
 * MP_LARGE ends there and a new one is drawn, which makes no difference: exponential gaps have no
 * memory. Returns true if the block contains the thread's next point. */
static bool contains_point(struct mp_thread *t, uint64_t bytes)
{
    const bool samples =
        mp_config.stacks == MP_STACKS_SAMPLE && !__atomic_load_n(&samples_ended, __ATOMIC_RELAXED);
    uint64_t left = __atomic_load_n(&t->countdown, __ATOMIC_RELAXED);
    bool is_point = false;
    while (!is_point && bytes >= left) {
        is_point = t->to_sample && samples;
        bytes -= left;
        left = samples ? mp_draw(&t->random, mp_config.stacks_mean) : UINT64_MAX;
        t->to_sample = left <= MP_LARGE;
        if (!t->to_sample) left = MP_LARGE;
    }
    const uint64_t rest = is_point ? left : left - bytes;
    __atomic_store_n(&t->countdown, (uint32_t)rest, __ATOMIC_RELAXED);
    return is_point;
}

/* Called when the thread has its record. */
static void record(struct place place, unsigned op, unsigned heap, uint64_t addr, uint64_t size,
                   const uint8_t *data)
{
    const uint64_t signals = mp_sys_block_signals();
    struct mp_thread *const t = mp_self;
    const uint64_t at = reserve_slow(t, slots_of(place) + 1 + (data ? mpf_data_slots(size) : 0));
    if (at) put(commit_place(t, at, place), op, heap, addr, size, data);
    mp_sys_restore_signals(signals);
}

/* Records an event after the ATs of its place, without a system call. Returns false if the chunk
 * has no room. */
static bool record_here(struct place place, unsigned op, unsigned heap, uint64_t addr,
                        uint64_t size)
{
    struct mp_thread *t = mp_self;
    if (t->guard & MP_INSIDE) return false;
    const uint64_t at = reserve_row(t, slots_of(place) + 1);
    if (!at) return false;
    mp_record_at(t, commit_place(t, at, place), op, heap, addr, size, 0);
    return true;
}

static void start_encoder(void *arg)
{
    (void)arg;
    mp_encoder_start();
}

void mp_record_want_encoder(bool now)
{
    if (!mp_encoder_due(now)) return;
    const uint64_t signals = mp_sys_block_signals();
    mp_own_stack_call(start_encoder, NULL);
    mp_sys_restore_signals(signals);
}

/* Calls that reach this malloc while another one serves the program do not represent its heap. */
static bool heap_is_recorded(void)
{
    mp_real_ready();
    if (mp_real_has_heap && !mp_process && mp_features.enter) mp_features.enter();
    return mp_real_has_heap;
}

void mp_record_left_out(void)
{
    if (mp_sys_signals_come && !mp_thread_is_own()) mp_loss(MPF_LOSS_HANDLERS, 1);
}

/* Returns true if the thread must not record: in memprof's own calls, or in a handler that
 * interrupted the replacement of the chunk or the creation of the record. */
static bool is_left_out(void)
{
    const struct mp_thread *t = mp_self;
    const bool has_record = t && t->number;
    return (t && t->guard & MP_INSIDE) || (!has_record && mp_sys_signals_come);
}

static void leave_out(void)
{
    if (mp_self && !mp_self->number && !mp_thread_is_own()) park();
    mp_record_left_out();
}

/* The record of memprof's own threads has no number, and these threads never get another record. */
static bool is_registered(void)
{
    if (mp_thread_is_own()) return true;
    if (mp_self && mp_self->number && mp_record_is_current(mp_self)) return true;
    if (mp_sys_signals_come || !mp_process_ready()) return false;
    struct mp_process *const p = mp_process_enter();
    if (!p) return false;
    const uint64_t signals = mp_sys_block_signals();
    mp_thread_register();
    mp_sys_restore_signals(signals);
    mp_process_exit(p);
    return mp_self;
}

/* Gives the thread a record, and records which thread it is, again after a frame was lost. Returns
 * false if no record is available; the event is then counted as lost. This is not done in record(),
 * because both use much of a stack that may be small. */
static bool is_introduced(void)
{
    if (!is_registered()) return false;
    if (mp_self->in_log == mp_loss_now()) return true;
    const uint64_t signals = mp_sys_block_signals();
    mp_thread_tell(mp_self);
    mp_sys_restore_signals(signals);
    return true;
}

bool mp_record_heap_ready(void)
{
    if (!is_left_out()) return heap_is_recorded() && mp_process_ready() && is_introduced();
    leave_out();
    return false;
}

struct question {
    unsigned op, heap;
    uint64_t size;
    bool sampled;
    const struct mp_frame *from;
    struct place place;
};

static void find_place(void *arg)
{
    struct question *q = arg;
    if (mp_features.stack)
        q->place.stack = mp_features.stack(q->op, q->heap, q->size, q->sampled, q->from);
    if (mp_features.python)
        q->place.python = mp_features.python(q->op, q->heap, q->size, q->place.stack);
}

bool mp_record_is_sampled_block(unsigned op, unsigned heap)
{
    return heap == MPF_HEAP_PART && mp_config.host == MP_HOST_SAMPLE &&
           mp_record_is_host_block(op, heap);
}

/* Returns true if the small block is drawn to have call stacks. */
static bool is_drawn(unsigned op, unsigned heap, uint64_t size)
{
    if (mp_record_is_sampled_block(op, heap)) return true; /* its hook has drawn it */
    return mp_record_is_host_block(op, heap) && contains_point(mp_self, size);
}

/* Walks the call stacks on another stack, because that may take several KiB, with signals blocked,
 * because the kernel would run a handler on that stack. This takes two system calls. So it is not
 * done if all small blocks have call stacks. */
static __attribute__((noinline)) struct place place_of(unsigned op, unsigned heap, uint64_t size,
                                                       const struct mp_frame *from)
{
    const bool small = size < MP_LARGE;
    struct question q = { op, heap, size, small && is_drawn(op, heap, size), from, { 0 } };
    if (small && !q.sampled) {
        find_place(&q);
        return q.place;
    }
    if (mp_features.has_place && !mp_features.has_place(op, heap, size, q.sampled)) return q.place;
    const uint64_t signals = mp_sys_block_signals();
    mp_own_stack_call(find_place, &q);
    mp_sys_restore_signals(signals);
    return q.place;
}

/* After an allocation of the program the thread holds no lock of its allocator. */
static void after_event(unsigned op, unsigned heap, uint64_t size)
{
    const bool allocates = (heap == MPF_HEAP_HOST || heap == MPF_HEAP_PART) &&
                           (op == MPF_OP_ALLOC || op == MPF_OP_MOVE_END);
    mp_record_want_encoder(allocates && size >= MP_LARGE);
    if (allocates) mp_allocator_sample();
}

/* Not inlined, so that its stack is not used while the thread gets its record or the encoder is
 * started. */
static __attribute__((noinline)) void record_with_place(unsigned op, unsigned heap, uint64_t addr,
                                                        uint64_t size)
{
    const struct mp_frame from = mp_frame_of_caller();
    const struct place place =
        mp_sys_signals_come ? (struct place){ 0 } : place_of(op, heap, size, &from);
    const uint64_t kept = size < MPF_SIZE_MAX ? size : MPF_SIZE_MAX;
    if (!record_here(place, op, heap, addr, kept)) record(place, op, heap, addr, kept, NULL);
}

uint64_t mp_record_slow(unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    if (is_left_out()) leave_out();
    else if (heap == MPF_HEAP_HOST && !heap_is_recorded()) return addr;
    else if (!mp_process_ready()) park();
    else if (is_introduced()) {
        record_with_place(op, heap, addr, size);
        if (!mp_sys_signals_come) after_event(op, heap, size);
    }
    return addr;
}

void mp_record_data(unsigned op, unsigned heap, uint64_t addr, const void *data, size_t bytes)
{
    if (is_left_out()) leave_out();
    else if (mp_process_ready() && is_introduced())
        record((struct place){ 0 }, op, heap, addr, bytes < MPF_DATA_MAX ? bytes : MPF_DATA_MAX,
               data);
}

bool mp_record_instant(uint64_t *time)
{
    if (is_left_out() || !mp_process_ready() || !is_introduced()) return false;
    *time = read_clock(mp_self);
    return true;
}

struct mp_guarded mp_guard_enter(void)
{
    const bool guardable = is_registered() && !mp_thread_is_own();
    struct mp_guarded before = { .signals = mp_sys_block_signals() };
    if (!guardable) return before;
    before.guard = mp_self->guard;
    mp_self->guard |= MP_INSIDE;
    return before;
}

void mp_guard_leave(struct mp_guarded before)
{
    if (mp_self && mp_self->number) mp_self->guard = before.guard;
    mp_sys_restore_signals(before.signals);
}

bool mp_record_here(void)
{
    return !mp_sys_signals_come && (!is_registered() || !(mp_self->guard & MP_INSIDE));
}
