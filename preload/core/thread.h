/* The record of one of the program's threads, and its cursor in the chunk that it fills. */
#ifndef MP_THREAD_H
#define MP_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpf/slot.h"

/* Blocks of malloc and their usable bytes, from the thread's start on. */
struct mp_totals {
    uint64_t bytes, blocks;
};

/* A thread's record, in MADV_WIPEONFORK memory.  After a fork it reads as zeros: a cursor of 0 is
 * at no slot, so the child's first event takes the slow path.  What recording touches is one cache
 * line; the second one is touched where blocks are counted (counted.h). */
struct mp_thread {
    uint64_t cur;         /* next free slot and its chunk's tag; only this thread moves it, in one
                             instruction */
    uint32_t guard;       /* enum mp_guard: events that do not take the fast path */
    int32_t tid;          /* kernel's id; -1: seen dead */
    uint32_t first, last; /* chunks, index + 1: oldest one not given back (the encoder's), and the
                             one being filled */
    uint32_t gpu_context; /* the driver context that its events belong to, + 1: CUPTI's number of
                             it, or by name bits of its address; 0: none */
    uint32_t in_log;      /* mp_loss_now() before its THREAD was recorded */
    uint64_t looked, blocked; /* the encoder's: when it last saw a slot reserved and not committed
                                 (0: it is none), and ns that it has seen it so */
    uint64_t next_node;       /* of TORCH_NEXT, + 1; 0: never asked for */
    uint64_t time;            /* the clock as it was last read for one of its events */
    uint32_t turn;            /* mp_clock_turn's lower half then, */
    uint32_t number; /* and its upper half in the thread's own turn: memprof's number, 1 and up */

    struct mp_totals made, freed;
    uint64_t due;    /* of made.bytes: where the next block is looked at, whatever its size; 0: not
                        decided yet */
    uint32_t random; /* of what is drawn for that (draw.h) */
    uint32_t index;  /* of this record in the table (state.h) */
} __attribute__((aligned(64)));

/* Blocks of at least this size leave the fast path: they make sure that the encoder (and its
 * sampling) runs. */
#define MP_LARGE ((size_t)1 << 20)

enum mp_guard {
    MP_INSIDE = 1,        /* memprof's own calls: record nothing */
    MP_STACKS_WANTED = 2, /* small blocks can have stacks */
    MP_HEAP_UNSEEN = 4,   /* another malloc serves the program */
    MP_COUNTS = 8,        /* blocks of malloc are counted; nobody else's events leave the fast path
                             for it */
};

/* A cursor is an address with the tag of the chunk above bit 48: one xadd gives a slot together
 * with the tag that commits it, whatever a signal handler does to the thread's chunk meanwhile.
 * Chunks are aligned to their size, so the address alone tells whether it is a slot: behind the
 * last one it is in nobody's slots (the next chunk's head), and stays there for as many handlers as
 * can interrupt each other before the first of them takes a new chunk. */
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
/* The tag, in its place in a slot's head. */
static inline uint64_t mp_cursor_tag(uint64_t cur) { return cur >> 48 << 16; }

extern __thread struct mp_thread *mp_self
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

#endif
