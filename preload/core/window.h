/* Capture windows (MEMPROF_WINDOW): while one is open, what the other settings ask for is recorded;
 * outside, no more than keeps every live set and sum exact.
 *
 * Opening and closing: any thread, any context, no lock, errno kept; each is an event of its own.
 * Windows that overlap are one. */
#ifndef MP_WINDOW_H
#define MP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define MP_WINDOW_NO_RANGE UINT32_MAX
enum { MP_WINDOW_AT_ONCE = 64 }; /* ranges; what is open besides opens none */

/* Reasons come and go in any order, so nobody's end takes another one's reason away. */
struct mp_window {
    int32_t open;   /* reasons for it to be open, where there are no windows 1; 0 and less: none */
    uint32_t range; /* the name whose ranges open and close it; MP_WINDOW_NO_RANGE: none does */
    uint32_t waits; /* for the ends of so many ranges: */
    uint64_t until[MP_WINDOW_AT_ONCE]; /* the end of each takes a reason away; 0: a free place */
    bool again;                        /* an end was noticed that no event could tell of then */
};
extern struct mp_window mp_window;

static inline bool mp_window_is_open(void)
{
    return __atomic_load_n(&mp_window.open, __ATOMIC_RELAXED) > 0;
}
static inline bool mp_window_waits(void)
{
    return __builtin_expect(__atomic_load_n(&mp_window.waits, __ATOMIC_RELAXED) != 0, 0);
}

/* Before the first event: are there windows at all? */
void mp_window_init(void);
/* Behind the start of the recording: from here on they open.  root: the user's own process. */
void mp_window_start(bool root);
/* In a forked child, single-threaded: it begins outside, unless the signal is to close what it has
 * opened. */
void mp_window_reset(void);

/* The program called cudaProfilerStart (true) or cudaProfilerStop. */
void mp_window_profiler(bool starts);
/* Are windows opened and closed by the clock? */
bool mp_window_has_clock(void);
/* By the clock, and what is to be told again: under epoch_lock, once an epoch. */
void mp_window_tick(void);

/* The range that the calling thread has in the domain at this level, or that has this id. */
static inline uint64_t mp_window_level(uint32_t thread, uint32_t domain, uint32_t level)
{
    return (uint64_t)1 << 62 | (uint64_t)thread << 36 | (uint64_t)domain << 16 | (level & 0xffff);
}
static inline bool mp_window_is_of(uint64_t range, uint32_t thread)
{
    return range >> 36 == mp_window_level(thread, 0, 0) >> 36;
}
static inline uint64_t mp_window_id(uint64_t id) { return (uint64_t)1 << 63 | id; }
void mp_window_begins(uint64_t range) __attribute__((noinline));
void mp_window_ends(uint64_t range) __attribute__((noinline));
/* The thread is gone, and what was open on it: under epoch_lock. */
void mp_window_ends_of(uint32_t thread);

#endif
