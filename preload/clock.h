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

/* Reading the clock is most of what recording costs, and only the order between threads needs it.  While no thread but one
 * has recorded, this numbers spans of 100 ms, from 1, and events of small blocks take the time of a reading in the same span,
 * ten events old at most.  Else every event reads the clock: 0, there is no encoder yet; less, a second thread has come.
 *
 * That thread says so before its first event.  So what an event of the first thread can have learnt from the second one (an
 * address that it freed) came with that word, and what it cannot have learnt may stand before or behind it. */
extern int32_t mp_clock_span __attribute__((visibility("hidden")));
/* A process starts. */
void mp_clock_first_thread(void);
/* A thread that is not the process's first is about to record. */
void mp_clock_second_thread(void);
/* The encoder, when it starts and every 100 ms. */
void mp_clock_next_span(void);

/* Chooses the clock; called once, before the first event. */
void mp_clock_init(void);
/* All three clocks at one instant (the best of a few tries). */
void mp_clock_read(struct mpf_clock *out);
/* The shift of a step of time in the log: 2^shift ticks are at most 1 us.  Takes about 20 us. */
unsigned mp_clock_shift(void);

#endif
