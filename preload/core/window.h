/* Capture windows (MEMPROF_WINDOW): while one is open, what the other settings ask for is recorded;
 * outside, no more than keeps every live set and sum exact.
 *
 * Opening and closing: any thread, any context, no lock, errno kept; each is an event of its own.
 * One window is open at a time. */
#ifndef MP_WINDOW_H
#define MP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define MP_WINDOW_NO_RANGE UINT32_MAX

struct mp_window {
    bool open;      /* always, where there are no windows */
    uint32_t range; /* the name whose ranges open and close it; MP_WINDOW_NO_RANGE: none does */
    uint64_t until; /* the end of this range closes it; 0: none's does */
};
extern struct mp_window mp_window;

static inline bool mp_window_is_open(void)
{
    return __atomic_load_n(&mp_window.open, __ATOMIC_RELAXED);
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
/* By the clock: under epoch_lock, once an epoch. */
void mp_window_tick(void);

/* The range that the calling thread has in the domain at this level, or that has this id. */
static inline uint64_t mp_window_level(uint32_t thread, uint32_t domain, uint32_t level)
{
    return (uint64_t)1 << 62 | (uint64_t)thread << 36 | (uint64_t)domain << 16 | (level & 0xffff);
}
static inline uint64_t mp_window_id(uint64_t id) { return (uint64_t)1 << 63 | id; }
void mp_window_begins(uint64_t range) __attribute__((noinline));
void mp_window_ends(uint64_t range) __attribute__((noinline));

#endif
