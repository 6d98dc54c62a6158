/* Recording an event: the hot path.
 *
 * Any thread, any context (signal handlers included), any time after the first hook call.  Takes no lock, changes no
 * errno.  In a process that is not recorded these do nothing. */
#ifndef MP_RECORD_H
#define MP_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "mpf/event.h"
#include "mpf/slot.h"

/* A thread's record: one cache line, in MADV_WIPEONFORK memory.  After a fork it reads as zeros, so the child's first
 * event finds cur >= end and takes the slow path. */
struct mp_thread {
    uintptr_t cur;          /* next free slot; only this thread writes it, in one instruction */
    uintptr_t end;          /* end of the chunk's slots */
    uint64_t tag;           /* the chunk's tag, shifted to its place in a slot's head */
    uint32_t guard;         /* not 0: inside memprof or inside an outer hook, record nothing */
    uint32_t number;        /* memprof's number, 1 and up */
    int32_t tid;            /* kernel's id */
    uint32_t first, last;   /* oldest chunk not given back (encoder's) and the one being filled */
    uint32_t reserved;
    uint64_t newest;        /* time of the newest slot that the encoder took */
    uint64_t blocked_since; /* the encoder's: since when a slot is reserved and not committed */
} __attribute__((aligned(64)));

extern __thread struct mp_thread *mp_self __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Blocks of at least this size leave the fast path: they make sure that the encoder (and its sampling) runs. */
#define MP_LARGE ((size_t)1 << 20)

void mp_record_slow(unsigned op, unsigned heap, uint64_t addr, uint64_t size);

static inline void mp_record(unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    struct mp_thread *t = mp_self;
    if (__builtin_expect(t != NULL, 1) && __builtin_expect(!t->guard, 1) && __builtin_expect(size < MP_LARGE, 1)) {
        uintptr_t at = sizeof(struct mpf_slot);
        __asm__ volatile("xaddq %0, %1" : "+r"(at), "+m"(t->cur) : : "cc");
        if (__builtin_expect(at < t->end, 1)) {
            struct mpf_slot *s = (struct mpf_slot *)at;
            s->time = mp_clock_ticks();
            s->addr = addr;
            __atomic_store_n(&s->head, op | heap << 8 | t->tag | size << 24, __ATOMIC_RELEASE);
            return;
        }
    }
    mp_record_slow(op, heap, addr, size);
}

/* A DATA event: at most MPF_DATA_MAX bytes, longer data is cut there. */
void mp_record_data(unsigned op, unsigned heap, uint64_t addr, const void *data, size_t bytes);

/* Between these two the thread records nothing: memprof's own calls, and hooks whose outer call records. */
uint32_t mp_guard_enter(void);      /* returns what to give back */
void mp_guard_leave(uint32_t before);

#endif
