/* Blocks of malloc if not each of them is recorded (MEMPROF_HOST). Blocks of at least some size are
 * recorded as blocks of host/part. A thread counts the allocations and frees of smaller ones. The
 * modes `sample` and `off` do not count: see sampled.h.
 *
 * A freed block is known only by its address and by the size that the allocator reports. So all
 * sizes here are usable bytes. The size decides whether a block is recorded, when it is allocated
 * and when it is freed.
 *
 * Windows: if blocks are recorded only while a window is open, blocks of at least `large` bytes are
 * always recorded, and smaller ones of a window are known by their addresses. An address leaves the
 * set before the real free, as frees are recorded, because its next owner has another block. */
#ifndef MP_COUNTED_H
#define MP_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/marks.h"
#include "core/record.h"
#include "core/sampled.h"
#include "core/thread.h"
#include "real/real.h"

struct mp_counted {
    bool each;  /* each block is recorded, */
    bool on;    /* or only some are; if neither is set, this is not decided yet */
    bool frees; /* each free is recorded, without the block's bytes */
    /* The process was attached to. The bytes of freed blocks are recorded, because it has blocks
     * that are not in the log. */
    bool attached;
    size_t (*usable)(void *p); /* the allocator's malloc_usable_size; NULL if nothing is counted */
    /* the size before a block was compared with the result of `usable` */
    bool compared;
    /* they are equal: guard of threads that may read the size before a block; otherwise no guard */
    uint32_t plain;
    size_t large; /* usable bytes from which each block is recorded */
    size_t from;  /* bytes from which each block is examined; 0 in a window (window.h) */
    /* smaller blocks that were allocated in windows, or NULL without windows */
    struct mp_marks *windowed;
};
extern struct mp_counted mp_counted;

/* Returns true if no block of malloc is recorded or counted. */
static inline bool mp_counted_is_off(void) { return mp_sampled.on && !mp_sampled.mean; }

/* Sets the mode from the configuration, if the allocator reports sizes. Called at the start, when
 * the loader's lock may be taken. */
void mp_counted_init(void);
/* The same in a process that was attached to. */
void mp_counted_attach(void);
/* Returns the bytes of the blocks of such a process, as the allocator counts them, or 0 if they are
 * unknown or their frees are not recorded. The allocator may look through its free blocks. */
uint64_t mp_counted_before(void);
/* Returns the bytes of a block that is about to be freed or moved in such a process, in the same
 * way, or 0 if they are unknown. */
size_t mp_counted_block_bytes(void *p);
/* Prints a message if the allocator does not report sizes. */
void mp_counted_say(void);
/* Forgets which blocks are recorded. Called in a forked child, which has one thread. */
void mp_counted_reset(void);
/* Records each block from now on (@open), or only those that are recorded without a window. */
void mp_counted_window(bool open);

/* Returns the calling thread's record, or NULL if its calls are not the program's or it cannot have
 * one. @made: usable or requested bytes of a block that the program has just got, otherwise 0. */
struct mp_thread *mp_counted_slow(size_t made) __attribute__((noinline));
static inline bool mp_counted_is_plain(const struct mp_thread *t, size_t made)
{
    return t && (t->guard & ~(uint32_t)MP_STACKS_WANTED) == MP_COUNTS && made < MP_LARGE;
}
static inline struct mp_thread *mp_counted_thread(size_t made)
{
    struct mp_thread *t = mp_self;
    return __builtin_expect(mp_counted_is_plain(t, made), 1) ? t : mp_counted_slow(made);
}

/* Adds with one instruction each, so that counts by a signal handler in between are not lost. */
static inline void mp_counted_add(struct mp_totals *totals, size_t bytes)
{
    mp_machine_add(&totals->bytes, bytes);
    mp_machine_add(&totals->blocks, 1);
}

/* These functions return p, so that a hook need not keep anything meanwhile. */

/* Records or counts a block of at least `large` bytes, or one that reaches the thread's `due`. */
void *mp_counted_look(struct mp_thread *t, void *p, size_t usable) __attribute__((noinline));
static inline void *mp_counted_add_made(struct mp_thread *t, void *p, size_t usable)
{
    const bool look = (usable >= mp_counted.from) | (t->made.bytes + usable >= t->due);
    if (__builtin_expect(look, 0)) return mp_counted_look(t, p, usable);
    mp_counted_add(&t->made, usable);
    return p;
}
/* Records or counts the end of a block, which is recorded if it is large or in a set. */
void *mp_counted_end(struct mp_thread *t, void *p, size_t usable) __attribute__((noinline));

/* Returns true and the block's usable bytes if the thread is on the fast path. */
static inline bool mp_counted_bytes(const struct mp_thread *t, const void *p, size_t *usable)
{
    const bool plain = t && t->guard == __atomic_load_n(&mp_counted.plain, __ATOMIC_RELAXED);
    return __builtin_expect(plain, 1) && __builtin_expect(mp_real_libc_bytes(p, usable), 1);
}

/* Called for a block of `bytes` that the program has just got. */
void *mp_counted_made_slow(void *p, size_t bytes) __attribute__((noinline));
static inline __attribute__((always_inline)) void *mp_counted_made(void *p, size_t bytes)
{
    struct mp_thread *t = mp_self;
    size_t usable;
    if (mp_counted_bytes(t, p, &usable)) return mp_counted_add_made(t, p, usable);
    return mp_counted_made_slow(p, bytes);
}

static inline bool mp_counted_may_have(const void *p, size_t usable)
{
    if (usable >= mp_counted.large) return true;
    return mp_counted.windowed && mp_marks_has(mp_counted.windowed, p);
}
static inline __attribute__((always_inline)) void *mp_counted_add_freed(struct mp_thread *t,
                                                                        void *p, size_t usable)
{
    if (__builtin_expect(mp_counted_may_have(p, usable), 0)) return mp_counted_end(t, p, usable);
    mp_counted_add(&t->freed, usable);
    return p;
}

/* Called before the real free. */
void *mp_counted_freed_slow(void *p) __attribute__((noinline));
static inline __attribute__((always_inline)) void *mp_counted_freed(void *p)
{
    struct mp_thread *t = mp_self;
    size_t usable;
    if (mp_counted_bytes(t, p, &usable)) return mp_counted_add_freed(t, p, usable);
    return mp_counted_freed_slow(p);
}

/* Called before the real realloc of p, and after it with the new block, or after the event of its
 * failure. */
struct mp_counted_move {
    struct mp_thread *t; /* NULL: not counted */
    size_t usable;       /* usable bytes of the old block */
    bool recorded;       /* the old block is recorded */
};
struct mp_counted_move mp_counted_moves(void *p);
void mp_counted_moved(const struct mp_counted_move *m, void *q, size_t bytes);
void mp_counted_stays(const struct mp_counted_move *m, void *p);

/* Sums the counters of all threads, including those that ended. Under epoch_lock. */
void mp_counted_sum(struct mp_totals *made, struct mp_totals *freed);

#endif
