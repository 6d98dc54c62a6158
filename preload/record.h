/* Recording an event: the hot path.
 *
 * Any thread, any context (signal handlers included), any time after the first hook call.  Takes no lock, changes no
 * errno.  In a process that is not recorded these do nothing. */
#ifndef MP_RECORD_H
#define MP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "mpf/event.h"
#include "mpf/slot.h"

/* A thread's record: one cache line, in MADV_WIPEONFORK memory.  After a fork it reads as zeros: a cursor of 0 is at no
 * slot, so the child's first event takes the slow path. */
struct mp_thread {
    uint64_t cur;           /* next free slot and its chunk's tag; only this thread moves it, in one instruction */
    uint32_t guard;         /* enum mp_guard; not 0: no event takes the fast path */
    uint32_t number;        /* memprof's number, 1 and up */
    int32_t tid;            /* kernel's id; -1: seen dead */
    uint32_t first, last;   /* chunks, index + 1: oldest one not given back (the encoder's), and the one being filled */
    uint32_t gpu_context;   /* CUPTI's number of the driver context that its events belong to, + 1; 0: none */
    uint64_t blocked_since; /* the encoder's: since when a slot is reserved and not committed */
    uint64_t next_node;     /* of TORCH_NEXT, + 1; 0: never asked for */
    uint64_t time;          /* the clock as it was last read for one of its events */
    int32_t span;           /* mp_clock_span then */
    uint32_t in_log;        /* mp_loss_now() before its THREAD was recorded */
} __attribute__((aligned(64)));

enum mp_guard {
    MP_INSIDE = 1,          /* memprof's own calls: record nothing */
    MP_STACKS_WANTED = 2,   /* small blocks can have stacks */
};

/* A cursor is an address with the tag of the chunk above bit 48: one xadd gives a slot together with the tag that commits
 * it, whatever a signal handler does to the thread's chunk meanwhile.  Chunks are aligned to their size, so the address
 * alone tells whether it is a slot: behind the last one it is in nobody's slots (the next chunk's head), and stays there
 * for as many handlers as can interrupt each other before the first of them takes a new chunk. */
static inline uint64_t mp_cursor(const struct mpf_chunk *chunk, uint32_t slot)
{
    return (uintptr_t)&chunk->slot[slot] | (uint64_t)chunk->tag << 48;
}
static inline bool mp_cursor_valid(uint64_t cur)
{
    return (cur & (MPF_CHUNK_BYTES - 1)) - MPF_CHUNK_HEAD < MPF_CHUNK_SLOTS * sizeof(struct mpf_slot);
}
static inline struct mpf_slot *mp_cursor_slot(uint64_t cur) { return (struct mpf_slot *)(cur << 16 >> 16); }
/* The tag, in its place in a slot's head. */
static inline uint64_t mp_cursor_tag(uint64_t cur) { return cur >> 48 << 16; }

extern __thread struct mp_thread *mp_self __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Blocks of at least this size leave the fast path: they make sure that the encoder (and its sampling) runs. */
#define MP_LARGE ((size_t)1 << 20)

void mp_record_slow(unsigned op, unsigned heap, uint64_t addr, uint64_t size) MP_COLD;

static inline uint64_t mp_record_read_clock(struct mp_thread *t)
{
    t->span = __atomic_load_n(&mp_clock_span, __ATOMIC_RELAXED);
    return t->time = mp_clock_ticks();
}

/* Times of small blocks may be this thread's last reading; one slot of every 256 bytes has a new one. */
#define MP_TIMED ((size_t)4096)
static inline __attribute__((always_inline)) bool mp_record_needs_no_clock(const struct mp_thread *t, uint64_t at, unsigned op, unsigned heap, uint64_t size)
{
    if (heap != MPF_HEAP_HOST || (op != MPF_OP_ALLOC && op != MPF_OP_FREE)) return false;
    const int32_t span = __atomic_load_n(&mp_clock_span, __ATOMIC_RELAXED);
    return span > 0 && span == t->span && size < MP_TIMED && at % 256 >= sizeof(struct mpf_slot);
}

/* False: no room in the thread's chunk. */
static inline __attribute__((always_inline)) bool mp_record_fast(struct mp_thread *t, unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    uint64_t at = sizeof(struct mpf_slot);
    __asm__ volatile("xaddq %0, %1" : "+r"(at), "+m"(t->cur) : : "cc");
    if (__builtin_expect(!mp_cursor_valid(at), 0)) return false;
    struct mpf_slot *s = mp_cursor_slot(at);
    s->time = mp_record_needs_no_clock(t, at, op, heap, size) ? t->time : mp_record_read_clock(t);
    s->addr = addr;
    __atomic_store_n(&s->head, op | heap << 8 | mp_cursor_tag(at) | size << 24, __ATOMIC_RELEASE);
    return true;
}

static inline __attribute__((always_inline)) void mp_record(unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    struct mp_thread *t = mp_self;
    const bool plain = __builtin_expect(t != NULL, 1) && __builtin_expect(!t->guard, 1) && __builtin_expect(size < MP_LARGE, 1);
    if (!plain || !mp_record_fast(t, op, heap, addr, size)) mp_record_slow(op, heap, addr, size);
}

/* A failed call for `bytes`, with the reason: sizes beyond what a slot's head holds go partly above the reason. */
static inline void mp_record_fail(unsigned heap, int error, uint64_t bytes)
{
    mp_record_slow(MPF_OP_FAIL, heap, (uint32_t)error | bytes >> 40 << 32, bytes & MPF_SIZE_MAX);
}

/* A DATA event: at most MPF_DATA_MAX bytes, longer data is cut there. */
void mp_record_data(unsigned op, unsigned heap, uint64_t addr, const void *data, size_t bytes);

/* Between these two the thread records nothing: memprof's own calls.  Signals are blocked, or a handler's events would be
 * lost.  What the first returns is given back to the second. */
struct mp_guarded { uint64_t signals; uint32_t guard; };
struct mp_guarded mp_guard_enter(void);
void mp_guard_leave(struct mp_guarded before);

/* False between those two.  A thread that asks has its record from then on, and a forked child its log. */
bool mp_record_here(void);

#endif
