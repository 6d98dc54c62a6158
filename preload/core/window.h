/* Capture windows (MEMPROF_WINDOW): while a window is open, everything that other settings select
 * is recorded. Outside, only events that keep every live set and sum exact are recorded.
 *
 * Opening and closing: any thread, any context, no lock, errno kept; each is an event. Overlapping
 * windows are one. */
#ifndef MP_WINDOW_H
#define MP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define MP_WINDOW_NO_RANGE UINT32_MAX
enum { MP_WINDOW_AT_ONCE = 64 }; /* maximum number of open ranges; further ones open no window */

/* Reasons may begin and end in any order, so an end never removes another reason. */
struct mp_window {
    int32_t open;   /* number of reasons to be open; 1 without windows; closed if 0 or less */
    uint32_t range; /* the name whose ranges open and close it, or MP_WINDOW_NO_RANGE */
    uint32_t waits; /* number of ranges whose ends are awaited */
    uint64_t until[MP_WINDOW_AT_ONCE]; /* the end of each removes a reason; 0 is a free place */
    bool again;                        /* an end was noticed but could not be recorded yet */
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

/* Called before the first event: determines whether there are windows. */
void mp_window_init(void);
/* Called after recording has started: windows open from now on. @root: this is the process that the
 * user started. */
void mp_window_start(bool root);
/* Called in a forked child with one thread: the window is closed, except if the signal that opened
 * it should close it. */
void mp_window_reset(void);

/* The program called cudaProfilerStart (true) or cudaProfilerStop. */
void mp_window_profiler(bool starts);
/* Returns true if the clock opens or closes windows. */
bool mp_window_has_clock(void);
/* Opens and closes windows by the clock, and records changes that could not be recorded before.
 * Called once per epoch, under epoch_lock. */
void mp_window_tick(void);

/* Identifies the range that the calling thread has in the domain at this level, or the range with
 * this ID. */
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
/* Closes the windows of a thread that has ended. Called under epoch_lock. */
void mp_window_ends_of(uint32_t thread);

#endif
