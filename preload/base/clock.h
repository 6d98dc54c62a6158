/* The event clock is the processor's counter if the kernel itself uses it as its clock, and
 * CLOCK_MONOTONIC in ns otherwise. */
#ifndef MP_CLOCK_H
#define MP_CLOCK_H

#include <stdint.h>

#include "base/cold.h"
#include "base/machine.h"
#include "mpf/slot.h"

extern uint8_t mp_clock_no_counter __attribute__((visibility("hidden")));
uint64_t mp_clock_slow(void) MP_COLD;

static inline uint64_t mp_clock_ticks(void)
{
    if (__builtin_expect(mp_clock_no_counter, 0)) return mp_clock_slow();
    return mp_machine_ticks();
}

/* Reading the clock is most of the cost of recording, and only the order between threads needs it.
 * So threads take turns. This word has the number of the thread whose turn it is, above bit 32, and
 * the number of the turn. A thread that records without the turn takes it and reads the clock.
 * As long as the word is unchanged, only that thread records, and events of small blocks take the
 * time of the previous reading, which is at most forty events old. The encoder begins a new turn
 * every 100 ms, so it is not older than that either.
 *
 * An event that depends on an event of another thread, such as the reuse of an address that it
 * freed, follows the change of this word by which that thread took its turn. So it gets a later
 * time. Independent events may have any order.
 *
 * If threads record at once, turns cost more than the clock. After MP_TURNS of them within 100 ms
 * every thread reads the clock for each event until the next 100 ms begin. The same holds until an
 * encoder runs. */
extern uint64_t mp_clock_turn __attribute__((visibility("hidden")));
/* One less than a power of two, because it is the mask of the turns' numbers. */
enum { MP_TURNS = 511 };
#define MP_EVERYBODY 0u
#define MP_NOBODY    UINT32_MAX
static inline uint32_t mp_turn_owner(uint64_t turn) { return (uint32_t)(turn >> 32); }

/* Takes the turn for thread `number`. Returns it, or the value by which every thread reads the
 * clock. */
uint64_t mp_clock_take_turn(uint32_t number) MP_COLD;
/* Called when a process starts. */
void mp_clock_start(void);
/* Called by the encoder when it starts and every 100 ms. */
void mp_clock_next_turns(void);

/* Chooses the clock. Called once, before the first event. Takes about 20 us. */
void mp_clock_init(void);
/* Reads all three clocks at one instant (the best of a few attempts). */
void mp_clock_read(struct mpf_clock *out);
/* Returns the shift of a time step in the log: 2^shift ticks are at most 1 us. */
unsigned mp_clock_shift(void);

#endif
