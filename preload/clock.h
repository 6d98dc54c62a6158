/* The event clock: the time stamp counter where the kernel itself trusts it, CLOCK_MONOTONIC in ns otherwise. */
#ifndef MP_CLOCK_H
#define MP_CLOCK_H

#include <stdint.h>

#include "cold.h"
#include "mpf/slot.h"

#if !defined(__x86_64__)
#error "memprof's capture library is written for x86-64"
#endif

extern uint8_t mp_clock_no_tsc __attribute__((visibility("hidden")));
uint64_t mp_clock_slow(void) MP_COLD;

static inline uint64_t mp_clock_ticks(void)
{
    if (__builtin_expect(mp_clock_no_tsc, 0)) return mp_clock_slow();
    return __builtin_ia32_rdtsc();
}

/* Chooses the clock; called once, before the first event. */
void mp_clock_init(void);
/* All three clocks at one instant (the best of a few tries). */
void mp_clock_read(struct mpf_clock *out);
/* The shift of a step of time in the log: 2^shift ticks are at most 1 us.  Takes about 20 us. */
unsigned mp_clock_shift(void);

#endif
