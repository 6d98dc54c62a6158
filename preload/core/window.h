/* Capture windows (MEMPROF_WINDOW): while one is open, everything that other settings ask for is
 * recorded. Outside, only what keeps every live set and sum exact.
 *
 * Opening and closing: any thread, any context, no lock, errno kept; each is an event. Overlapping
 * windows are one. */
#ifndef MP_WINDOW_H
#define MP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define MP_WINDOW_NO_RANGE UINT32_MAX
enum { MP_WINDOW_AT_ONCE = 64 }; /* ranges; further open ranges open no window */

/* Reasons begin and end in any order, so an end never removes another reason. */
struct mp_window {
    int32_t open;   /* number of reasons to be open, 1 without windows; 0 and less: closed */
    uint32_t range; /* the name whose ranges open and close it; MP_WINDOW_NO_RANGE: none does */
    uint32_t waits; /* number of ranges whose ends are awaited */
    uint64_t until[MP_WINDOW_AT_ONCE]; /* the end of each removes a reason; 0: a free place */
    bool again;                        /* an end was noticed that could not be recorded then */
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
/* Called after recording has started: windows open from now on. @root: the process that the user
 * started. */
void mp_window_start(bool root);
/* In a forked child, single-threaded: it begins outside, unless the signal is to close what it has
 * opened. */
void mp_window_reset(void);

/* The program called cudaProfilerStart (true) or cudaProfilerStop. */
void mp_window_profiler(bool starts);
/* Are windows opened and closed by the clock? */
bool mp_window_has_clock(void);
/* Opens and closes windows by the clock, and records what could not be recorded before. Once per
 * epoch, under epoch_lock. */
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
