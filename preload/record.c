/* The slow path of recording: a thread's first event, a full chunk, a large block, a forked child.
 *
 * Invariants: signals are blocked while a thread's chunk is replaced, so a handler sees either the old chunk or the new
 * one; a slot's time is taken after its place is reserved, so the encoder's watermark never passes an event to come. */
#include "record.h"

#include <errno.h>
#include <string.h>

#include "encoder.h"
#include "loss.h"
#include "process.h"
#include "python.h"
#include "stack.h"
#include "threads.h"

/* Reserves n slots in a row: their cursor, or 0 when the chunk has no room for them.  Signals are blocked: no handler
 * comes between. */
static uint64_t reserve(struct mp_thread *t, uint32_t n)
{
    const uint64_t at = t->cur, last = at + (n - 1) * sizeof(struct mpf_slot);
    const bool same_chunk = (at ^ last) < MPF_CHUNK_BYTES;
    if (!mp_cursor_valid(at) || !mp_cursor_valid(last) || !same_chunk) return 0;
    __atomic_store_n(&t->cur, last + sizeof(struct mpf_slot), __ATOMIC_RELEASE);
    return at;
}

static void commit(struct mpf_slot *s, uint64_t time, uint64_t addr, uint64_t head)
{
    s->time = time;
    s->addr = addr;
    __atomic_store_n(&s->head, head, __ATOMIC_RELEASE);
}

/* Data follows its event in the next slots; it is stored first, so that a committed event is a whole one. */
static void put(uint64_t at, unsigned op, unsigned heap, uint64_t addr, uint64_t size, const uint8_t *data)
{
    struct mpf_slot *s = mp_cursor_slot(at);
    for (uint32_t i = 0; data && i < mpf_data_slots(size); i++) {
        const size_t rest = size - i * MPF_CONT_BYTES;
        uint64_t word[2] = { 0, 0 };
        memcpy(word, data + i * MPF_CONT_BYTES, rest < MPF_CONT_BYTES ? rest : MPF_CONT_BYTES);
        commit(s + 1 + i, word[0], word[1], mpf_slot_head(MPF_OP_CONT, 0, 0, 0) | mp_cursor_tag(at));
    }
    commit(s, mp_record_read_clock(mp_self), addr, mpf_slot_head(op, heap, 0, size) | mp_cursor_tag(at));
}

/* Nothing can be recorded: every event of the thread comes here, and puts its cursor back to a place that is no slot.  The
 * record may be an inherited one that was wiped: its cursor moves with each try all the same. */
static void park(void)
{
    if (mp_self) __atomic_store_n(&mp_self->cur, 0, __ATOMIC_RELEASE);
}

/* n slots for the calling thread, by whatever it takes; 0: none.  Signals are blocked. */
static uint64_t reserve_slow(uint32_t n)
{
    struct mp_thread *t = mp_self;
    if (!t || !t->number) t = mp_thread_register();
    if (!t) {
        park();
        return 0;
    }
    uint64_t at = reserve(t, n);
    if (at) return at;
    t->guard |= MP_INSIDE;
    if (mp_thread_chunk(t)) at = reserve(t, n);
    else mp_loss(MPF_LOSS_STALLED, 1);
    t->guard &= ~(uint32_t)MP_INSIDE;
    return at;
}

struct place { uint64_t stack, python; };       /* ids, 0: none */

static void put_place(unsigned op, uint64_t id)
{
    const uint64_t at = id ? reserve_slow(1) : 0;
    if (at) put(at, op, MPF_HEAP_NONE, id, 0, NULL);
}

/* The event is behind the ATs that say its place: signals are blocked, so no other event comes between. */
static void record(struct place place, unsigned op, unsigned heap, uint64_t addr, uint64_t size, const uint8_t *data)
{
    const uint64_t signals = mp_sys_block_signals();
    struct mp_thread *t = mp_self;
    if (t && t->number && t->in_log != mp_loss_now()) mp_thread_tell(t);
    put_place(MPF_OP_AT, place.stack);
    put_place(MPF_OP_AT_PYTHON, place.python);
    const uint64_t at = reserve_slow(1 + (data ? mpf_data_slots(size) : 0));
    if (at) put(at, op, heap, addr, size, data);
    mp_sys_restore_signals(signals);
}

/* A small block's event that came here only because it can have a stack, or can start the encoder.  With a stack, both slots are
 * reserved in one instruction; where a handler came between and the AT has the chunk's last slot, it stands for the thread's
 * next event all the same: *stack is 0 then. */
static bool record_small(uint64_t *stack, unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    struct mp_thread *t = mp_self;
    if (!t || !t->guard || size >= MP_LARGE || (*stack && !(t->guard & MP_STACKS_WANTED))) return false;
    if (!*stack) return mp_record_fast(t, op, heap, addr, size);
    uint64_t at = 2 * sizeof(struct mpf_slot);
    if (!mp_cursor_valid(t->cur + at)) return false;        /* wide steps stay away from the chunk's end */
    __asm__ volatile("xaddq %0, %1" : "+r"(at), "+m"(t->cur) : : "cc");
    if (!mp_cursor_valid(at)) return false;
    put(at, MPF_OP_AT, MPF_HEAP_NONE, *stack, 0, NULL);
    *stack = 0;
    at += sizeof(struct mpf_slot);
    if (!mp_cursor_valid(at)) return false;
    put(at, op, heap, addr, size, NULL);
    return true;
}

/* Only where a block was made is it certain that the thread holds no lock of the C library's allocator. */
static void start_encoder(unsigned op, unsigned heap, uint64_t size)
{
    struct mp_thread *t = mp_self;
    const bool wanted = t && t->guard & MP_ENCODER_WANTED;
    if (heap != MPF_HEAP_HOST || (op != MPF_OP_ALLOC && op != MPF_OP_MOVE_END) || (!wanted && size < MP_LARGE)) return;
    if (wanted) t->guard &= ~(uint32_t)MP_ENCODER_WANTED;
    mp_encoder_start(size >= MP_LARGE);
}

void mp_record_slow(unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    const struct mp_thread *t = mp_self;
    if (t && t->guard & MP_INSIDE) return;
    if (!mp_process_ready()) {
        park();
        return;
    }
    struct place place = { .stack = mp_stack_of(op, heap, size) };
    if (!record_small(&place.stack, op, heap, addr, size)) {
        if (mp_stack_large(op, heap, size)) place.python = mp_python_here();
        record(place, op, heap, addr, size < MPF_SIZE_MAX ? size : MPF_SIZE_MAX, NULL);
    }
    start_encoder(op, heap, size);
}

void mp_record_data(unsigned op, unsigned heap, uint64_t addr, const void *data, size_t bytes)
{
    const struct mp_thread *t = mp_self;
    if ((t && t->guard & MP_INSIDE) || !mp_process_ready()) return;
    record((struct place){ 0 }, op, heap, addr, bytes < MPF_DATA_MAX ? bytes : MPF_DATA_MAX, data);
}

static bool registered(void)
{
    if (mp_self && mp_self->number) return true;
    if (!mp_process_ready()) return false;
    const uint64_t signals = mp_sys_block_signals();
    mp_thread_register();
    mp_sys_restore_signals(signals);
    return mp_self;
}

struct mp_guarded mp_guard_enter(void)
{
    const bool here = registered();
    struct mp_guarded before = { .signals = mp_sys_block_signals() };
    if (!here) return before;
    before.guard = mp_self->guard;
    mp_self->guard |= MP_INSIDE;
    return before;
}

void mp_guard_leave(struct mp_guarded before)
{
    if (mp_self && mp_self->number) mp_self->guard = before.guard;
    mp_sys_restore_signals(before.signals);
}

bool mp_record_here(void) { return !registered() || !(mp_self->guard & MP_INSIDE); }

uint32_t mp_loss_generation;

/* While no frame can be written, what is recorded once is not recorded for each of them: it is when one is written again. */
void mp_loss_frame(bool lost)
{
    if (mp_process->losing == lost) return;
    mp_process->losing = lost;
    __atomic_fetch_add(&mp_loss_generation, 1, __ATOMIC_RELEASE);
}

void mp_loss_again(unsigned reason, uint64_t events) { __atomic_fetch_add(&mp_process->lost[reason], events, __ATOMIC_RELAXED); }

void mp_loss(unsigned reason, uint64_t events)
{
    if (!mp_process || reason >= MP_LOSSES) return;
    mp_loss_again(reason, events);
    __atomic_fetch_add(&mp_process->lost_total, events, __ATOMIC_RELAXED);
}
