/* The record of a program's thread, and its cursor in the chunk that it fills. */
#ifndef MP_THREAD_H
#define MP_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpf/slot.h"

/* Blocks of malloc and their usable bytes, since the thread's start. */
struct mp_totals {
    uint64_t bytes, blocks;
};

/* A thread's record, in MADV_WIPEONFORK memory. After a fork it reads as zeros: a cursor of 0 is
 * not a slot, so the child's first event takes the slow path. Recording touches one cache line, and
 * the second one if blocks are counted (counted.h). */
struct mp_thread {
    /* Next free slot and its chunk's tag. Only this thread moves it, in one instruction. */
    uint64_t cur;
    uint32_t guard; /* enum mp_guard: the events that leave the fast path */
    /* Bytes of small host blocks until one leaves the fast path: at most MP_LARGE (record.c). */
    uint32_t countdown;
    uint64_t time;   /* the last time that was read for one of its events */
    uint32_t turn;   /* the lower half of mp_clock_turn at that time, */
    uint32_t number; /* and the upper half in this thread's turn: memprof's number of it, from 1 */
    /* Indices of chunks + 1: the oldest one not released yet (changed by the encoder), and the one
     * being filled. */
    uint32_t first, last;
    /* 1 + the driver context of its events (CUPTI's number of it, or bits of its address with
     * interposition), or 0 */
    uint32_t gpu_context;
    uint32_t in_log; /* mp_loss_now() before its THREAD was recorded */
    int32_t tid;     /* the kernel's ID, or -1 after the thread was seen dead */
    /* survey.c: for how many ns a slot has been reserved without being committed, and when that was
     * last seen (0: no slot is) */
    uint32_t blocked;
    uint64_t looked;

    uint64_t next_node; /* 1 + autograd's next number, or 0 before the first query */
    struct mp_totals made, freed;
    /* counted.c: value of made.bytes at which the next block is examined, whatever its size; 0 at
     * first. sampled.c: bytes from the end of the countdown to the next sampling point */
    uint64_t due;
    uintptr_t stack; /* an address in the thread's stack */
    uint32_t random; /* state of the generator for `due` and `countdown` (draw.h) */
    uint16_t index;  /* of this record in the table (state.h) */
    bool to_sample;  /* `countdown` ends at a sampling point, otherwise a new one begins there */
    bool draws;      /* sampled.c: a sampling point was drawn */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct mp_thread) == 128, "two cache lines");

/* Blocks of at least this size leave the fast path, to make sure that the encoder (and its
 * sampling) runs. */
#define MP_LARGE ((size_t)1 << 20)

enum mp_guard {
    MP_INSIDE = 1,        /* in memprof's own calls, which record nothing */
    MP_STACKS_WANTED = 2, /* all small blocks have stacks */
    MP_HEAP_UNSEEN = 4,   /* another malloc serves the program */
    MP_COUNTS = 8,        /* blocks of malloc are counted; other events stay on the fast path */
};

/* A cursor is an address with the tag of the chunk above bit 48. One xadd returns a slot together
 * with the tag that commits it, whatever a signal handler does to the thread's chunk meanwhile.
 * Chunks are aligned to their size, so the address alone shows whether it is a slot. After the last
 * slot it is the next chunk's head, and it stays there for as many handlers as can interrupt each
 * other before the first of them takes a new chunk. */
static inline uint64_t mp_cursor(const struct mpf_chunk *chunk, uint32_t slot)
{
    return (uintptr_t)&chunk->slot[slot] | (uint64_t)chunk->tag << 48;
}
static inline bool mp_cursor_valid(uint64_t cur)
{
    return (cur & (MPF_CHUNK_BYTES - 1)) - MPF_CHUNK_HEAD <
           MPF_CHUNK_SLOTS * sizeof(struct mpf_slot);
}
static inline struct mpf_slot *mp_cursor_slot(uint64_t cur)
{
    return (struct mpf_slot *)(cur << 16 >> 16);
}
/* Returns the tag at its place in a slot's head. */
static inline uint64_t mp_cursor_tag(uint64_t cur) { return cur >> 48 << 16; }

extern __thread struct mp_thread *mp_self
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

#endif
