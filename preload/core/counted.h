/* The program's blocks of malloc where not each of them is recorded (MEMPROF_HOST): those of at
 * least some size are, as blocks of host/part, smaller ones each or a sample of them or none, and
 * of the rest a thread counts what it makes and frees; or nothing of it is done.
 *
 * Of a block that is freed nothing is known but its address and what the allocator says of it.  So
 * all bytes here are usable bytes, and whether a block is on record is told by them, at both its
 * ends, or by a set of the smaller ones' addresses.  Such an address is taken out of it before the
 * real free, as frees are recorded: whoever gets it next has another block.
 *
 * The sample: points lie in the bytes that a thread makes, at random and `mean` apart (draw.h), and
 * a block is taken that has one in it.  The next one is where the thread's counter of bytes comes
 * to be `due`, so that a block that is not taken costs no more than counting it.
 *
 * Windows: where each block is wanted but only while one is open, blocks of at least `large` bytes
 * are recorded always, and smaller ones that are made in a window by their addresses. */
#ifndef MP_COUNTED_H
#define MP_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addresses.h"
#include "base/marks.h"
#include "core/record.h"
#include "core/thread.h"
#include "real/real.h"

struct mp_counted {
    bool each;                 /* each block is recorded, */
    bool on;                   /* or not each is; neither: it is not decided yet */
    size_t (*usable)(void *p); /* the allocator's malloc_usable_size; NULL: nothing is counted */
    bool compared;             /* what that says of a block and what stands in front of it were, */
    uint32_t plain;            /* and are the same: the guard of threads for which it need not be
                                  asked; else no guard */
    uint32_t nothing;          /* off: the guard of threads on the fast path; else no guard */
    size_t large;              /* usable bytes from which each block is recorded */
    size_t from;               /* from which each is looked at: in a window all are (window.h) */
    uint64_t mean;             /* bytes from one sample of smaller ones to the next; 0: no sample */
    struct mp_addresses *samples; /* blocks of it that are on record; NULL: no sample */
    struct mp_marks *windowed;    /* smaller blocks that were made in windows; NULL: no windows */
};
extern struct mp_counted mp_counted;

/* Decides what the configuration asks for, where the allocator can tell sizes.  From the start,
 * where the loader's lock may be taken. */
void mp_counted_init(void);
/* Says where it cannot. */
void mp_counted_say(void);
/* Forgets which blocks are on record: in a forked child, single-threaded. */
void mp_counted_reset(void);
/* From now on each block is recorded, or no more than without. */
void mp_counted_window(bool open);

/* The calling thread's record; NULL: its calls are not the program's, or it can have none.  `made`:
 * usable or requested bytes of a block that the program has just got, else 0. */
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

/* Each by one instruction, so that what a signal handler counts in between is not lost. */
static inline void mp_counted_add(struct mp_totals *totals, size_t bytes)
{
    mp_machine_add(&totals->bytes, bytes);
    mp_machine_add(&totals->blocks, 1);
}

/* These give p back: a hook needs to keep nothing meanwhile. */

/* Records or counts a block of at least `large` bytes, or one that reaches the thread's `due`. */
void *mp_counted_look(struct mp_thread *t, void *p, size_t usable) __attribute__((noinline));
static inline void *mp_counted_add_made(struct mp_thread *t, void *p, size_t usable)
{
    const bool look = (usable >= mp_counted.from) | (t->made.bytes + usable >= t->due);
    if (__builtin_expect(look, 0)) return mp_counted_look(t, p, usable);
    mp_counted_add(&t->made, usable);
    return p;
}
/* Records or counts the end of a block, which is on record if it is a large one or in a set. */
void *mp_counted_end(struct mp_thread *t, void *p, size_t usable) __attribute__((noinline));

/* Of a thread that is on the fast path the block's usable bytes; else false. */
static inline bool mp_counted_bytes(const struct mp_thread *t, const void *p, size_t *usable)
{
    const bool plain = t && t->guard == __atomic_load_n(&mp_counted.plain, __ATOMIC_RELAXED);
    return __builtin_expect(plain, 1) && __builtin_expect(mp_real_libc_bytes(p, usable), 1);
}

static inline bool mp_counted_is_nothing(const struct mp_thread *t)
{
    return t && t->guard == mp_counted.nothing;
}

/* A block of `bytes` that the program has just got. */
void *mp_counted_made_slow(void *p, size_t bytes) __attribute__((noinline));
static inline __attribute__((always_inline)) void *mp_counted_made(void *p, size_t bytes)
{
    struct mp_thread *t = mp_self;
    size_t usable;
    if (mp_counted_bytes(t, p, &usable)) return mp_counted_add_made(t, p, usable);
    return mp_counted_is_nothing(t) && bytes < MP_LARGE ? p : mp_counted_made_slow(p, bytes);
}

static inline bool mp_counted_may_have(const void *p, size_t usable)
{
    if (usable >= mp_counted.large) return true;
    if (mp_counted.samples) return mp_addresses_may_have(mp_counted.samples, p);
    return mp_counted.windowed && mp_marks_has(mp_counted.windowed, p);
}
static inline __attribute__((always_inline)) void *mp_counted_add_freed(struct mp_thread *t,
                                                                        void *p, size_t usable)
{
    if (__builtin_expect(mp_counted_may_have(p, usable), 0)) return mp_counted_end(t, p, usable);
    mp_counted_add(&t->freed, usable);
    return p;
}

/* Before the real free. */
void *mp_counted_freed_slow(void *p) __attribute__((noinline));
static inline __attribute__((always_inline)) void *mp_counted_freed(void *p)
{
    struct mp_thread *t = mp_self;
    size_t usable;
    if (mp_counted_bytes(t, p, &usable)) return mp_counted_add_freed(t, p, usable);
    return mp_counted_is_nothing(t) ? p : mp_counted_freed_slow(p);
}

/* A realloc of p, before the real one; what it gave; or that it failed, behind the event of that.
 */
struct mp_counted_move {
    struct mp_thread *t; /* NULL: not counted */
    size_t usable;       /* of the old block */
    bool recorded;       /* that one is on record */
};
struct mp_counted_move mp_counted_moves(void *p);
void mp_counted_moved(const struct mp_counted_move *m, void *q, size_t bytes);
void mp_counted_stays(const struct mp_counted_move *m, void *p);

/* What all threads that were ever there have counted so far.  Under epoch_lock. */
void mp_counted_sum(struct mp_totals *made, struct mp_totals *freed);

#endif
