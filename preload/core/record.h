/* Recording an event: the hot path.
 *
 * Any thread, any context (signal handlers included), any time after the first hook call.  Takes no
 * lock, changes no errno.  In a process that is not recorded these do nothing. */
#ifndef MP_RECORD_H
#define MP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "core/thread.h"
#include "mpf/event.h"

/* These return addr, as mp_record does, so a hook saves no registers for values that it needs after
 * the event. The first one is on the path of all allocations if each has a stack, so it is not
 * cold. */
uint64_t mp_record_slow(unsigned op, unsigned heap, uint64_t addr, uint64_t size)
    __attribute__((noinline));
uint64_t mp_record_timed(struct mp_thread *t, uint64_t at, uint64_t addr, uint64_t head);

static inline void mp_slot_commit(struct mpf_slot *s, uint64_t time, uint64_t addr, uint64_t head)
{
    s->time = time;
    s->addr = addr;
    __atomic_store_n(&s->head, head, __ATOMIC_RELEASE);
}

/* Events of small blocks may have the time of the thread's last reading of the clock. One slot in
 * every MP_TIMED_EVERY bytes has a new time. */
#define MP_TIMED       ((size_t)4096)
#define MP_TIMED_EVERY 1024u
static inline __attribute__((always_inline)) bool mp_record_needs_no_clock(
    const struct mp_thread *t, uint64_t at, unsigned op, unsigned heap, uint64_t size)
{
    if (heap != MPF_HEAP_HOST || !mpf_op_is_of_block(op)) return false;
    const uint64_t own_turn = (uint64_t)t->number << 32 | t->turn;
    return __atomic_load_n(&mp_clock_turn, __ATOMIC_RELAXED) == own_turn && size < MP_TIMED &&
           at % MP_TIMED_EVERY >= sizeof(struct mpf_slot);
}

/* Returns a slot of the thread's chunk. It is invalid if the chunk is full. */
static inline __attribute__((always_inline)) uint64_t mp_record_reserve(struct mp_thread *t)
{
    return mp_machine_take(&t->cur, sizeof(struct mpf_slot));
}

static inline __attribute__((always_inline)) uint64_t mp_record_at(struct mp_thread *t, uint64_t at,
                                                                   unsigned op, unsigned heap,
                                                                   uint64_t addr, uint64_t size,
                                                                   size_t old_bytes)
{
    const uint64_t head = op | heap << 8 | mp_cursor_tag(at) | size << 24;
    if (!mp_record_needs_no_clock(t, at, op, heap, size | old_bytes))
        return mp_record_timed(t, at, addr, head);
    mp_slot_commit(mp_cursor_slot(at), t->time, addr, head);
    return addr;
}

/* Returns true if an event of this kind can have a native stack by the settings for the host's
 * blocks. The heap of a mapping that is made writable or moved is not known here, but is one of the
 * host's. Regions announced through NVTX count as malloc's blocks. */
static inline bool mp_record_is_host_block(unsigned op, unsigned heap)
{
    if (op == MPF_OP_PROTECT_RW || op == MPF_OP_REMAP_TO) return true;
    return (op == MPF_OP_ALLOC || op == MPF_OP_MOVE_END || op == MPF_OP_MAP) &&
           (mpf_heap_is_host(heap) || heap == MPF_HEAP_PART || heap == MPF_HEAP_NVTX);
}

/* Returns true for a block of malloc if only a sample of these is recorded (counted.c). Such blocks
 * have both stacks. */
bool mp_record_is_sampled_block(unsigned op, unsigned heap);

/* Returns true if the block is large, or if small ones have counted down to it. */
static inline __attribute__((always_inline)) bool mp_record_counts_down(struct mp_thread *t,
                                                                        unsigned op, unsigned heap,
                                                                        uint64_t size)
{
    if (!mp_record_is_host_block(op, heap)) return size >= MP_LARGE;
    /* Loaded once: a signal handler may change it, and its change may be lost. */
    const uint32_t left = __atomic_load_n(&t->countdown, __ATOMIC_RELAXED);
    if (size >= left) return true;
    __atomic_store_n(&t->countdown, left - (uint32_t)size, __ATOMIC_RELAXED);
    return false;
}

/* Returns the guards with which such an event leaves the fast path. The end of a block has no
 * stack. */
static inline uint32_t mp_guards_of(unsigned op)
{
    const bool has_none = op == MPF_OP_FREE || op == MPF_OP_MOVE_BEGIN;
    return ~(uint32_t)(has_none ? MP_COUNTS | MP_STACKS_WANTED : MP_COUNTS);
}

/* @old_bytes: bytes of a block that ends, if known; otherwise 0. */
static inline __attribute__((always_inline)) uint64_t mp_record_of(unsigned op, unsigned heap,
                                                                   uint64_t addr, uint64_t size,
                                                                   size_t old_bytes)
{
    struct mp_thread *t = mp_self;
    const bool plain = __builtin_expect(t != NULL, 1) &&
                       __builtin_expect(!(t->guard & mp_guards_of(op)), 1) &&
                       __builtin_expect(!mp_record_counts_down(t, op, heap, size), 1);
    if (!plain) return mp_record_slow(op, heap, addr, size);
    const uint64_t at = mp_record_reserve(t);
    if (__builtin_expect(!mp_cursor_valid(at), 0)) return mp_record_slow(op, heap, addr, size);
    return mp_record_at(t, at, op, heap, addr, size, old_bytes);
}
static inline __attribute__((always_inline)) uint64_t mp_record(unsigned op, unsigned heap,
                                                                uint64_t addr, uint64_t size)
{
    return mp_record_of(op, heap, addr, size, 0);
}

/* Reads the clock for the calling thread: its later events have this time or a later one. In ticks.
 * Returns false if the thread's events are not recorded. */
bool mp_record_instant(uint64_t *time);

/* From now on no small host block of the process is drawn to have call stacks. */
void mp_record_end_samples(void);

/* Records a failed call for `bytes` and its reason. The upper part of a size that does not fit into
 * a slot's head is above the reason. */
static inline void mp_record_fail(unsigned heap, int error, uint64_t bytes)
{
    mp_record_slow(MPF_OP_FAIL, heap, (uint32_t)error | bytes >> 40 << 32, bytes & MPF_SIZE_MAX);
}

/* Records a failed call for `bytes` of huge pages. */
static inline void mp_record_fail_huge_pages(unsigned heap, int error, uint64_t bytes)
{
    mp_record_slow(MPF_OP_FAIL, heap, (uint32_t)error | bytes >> 40 << 32 | MPF_FAIL_HUGE_PAGES,
                   bytes & MPF_SIZE_MAX);
}

/* Records a DATA event. Data longer than MPF_DATA_MAX is cut. */
void mp_record_data(unsigned op, unsigned heap, uint64_t addr, const void *data, size_t bytes);

/* Between these two calls the thread records nothing: they enclose memprof's own calls. Signals are
 * blocked, because a handler's events would be lost. If they cannot be blocked, such events are
 * counted as lost. The result of the first is passed to the second. */
struct mp_guarded {
    uint64_t signals;
    uint32_t guard;
};
struct mp_guarded mp_guard_enter(void);
void mp_guard_leave(struct mp_guarded before);

/* Returns true if a call other than those two may be recorded, after starting the program's
 * recording. Returns false in a process that is not recorded, or if another malloc serves it. */
bool mp_record_heap_ready(void);
/* Bytes after which a thread makes sure that an encoder runs: it writes totals to the log, and
 * takes samples of resident memory. */
#define MP_WORTH_AN_ENCODER ((uint64_t)1 << 20)
/* Starts the encoder if there is work for one, or `now` is set, and none was started yet. */
void mp_record_want_encoder(bool now);

/* Returns false between those two calls, and in a handler that interrupted memprof in the thread,
 * which may hold a lock. After this call the thread has its record, and a forked child its log. */
bool mp_record_here(void);
/* Called if an event is not recorded for that reason: it is counted as lost if it is such a
 * handler's. */
void mp_record_left_out(void);

#endif
