#include "base/clock.h"

#include <string.h>

#include "base/sys.h"

uint8_t mp_clock_no_counter;

uint64_t mp_clock_slow(void)
{
    struct timespec t;
    /* The vDSO makes no system call, and does not set errno on success. */
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t mp_clock_turn;

/* Returns the turn after this one. */
static uint64_t following(uint64_t turn, uint32_t owner)
{
    return (uint64_t)owner << 32 | (uint32_t)(turn + 1);
}

uint64_t mp_clock_take_turn(uint32_t number)
{
    uint64_t turn = __atomic_load_n(&mp_clock_turn, __ATOMIC_RELAXED), new_turn;
    do {
        if (mp_turn_owner(turn) == number || mp_turn_owner(turn) == MP_EVERYBODY) return turn;
        new_turn = following(turn, (turn & MP_TURNS) == MP_TURNS ? MP_EVERYBODY : number);
    } while (!__atomic_compare_exchange_n(&mp_clock_turn, &turn, new_turn, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    return new_turn;
}

void mp_clock_start(void)
{
    __atomic_store_n(&mp_clock_turn, (uint64_t)MP_EVERYBODY << 32, __ATOMIC_RELEASE);
}

void mp_clock_next_turns(void)
{
    uint64_t turn = __atomic_load_n(&mp_clock_turn, __ATOMIC_RELAXED), next;
    do
        next = following(turn | MP_TURNS,
                         mp_turn_owner(turn) == MP_EVERYBODY ? MP_NOBODY : mp_turn_owner(turn));
    while (!__atomic_compare_exchange_n(&mp_clock_turn, &turn, next, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
}

void mp_clock_read(struct mpf_clock *out)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        const uint64_t before = mp_clock_ticks();
        const uint64_t mono = mp_sys_clock(CLOCK_MONOTONIC);
        const uint64_t after = mp_clock_ticks();
        if (after - before >= best) continue;
        best = after - before;
        *out = (struct mpf_clock){ before + best / 2, mono, mp_sys_clock(CLOCK_REALTIME) };
    }
}

/* Returns the largest shift whose step is at most 1 us, from the ticks that pass in 20 us. A
 * seccomp filter of the program may refuse the clock, which then does not advance. */
static unsigned measure_shift(void)
{
    enum { LOOKS = 1000, OF_NS = 9 };
    if (mp_clock_no_counter) return OF_NS;
    struct mpf_clock a, b;
    mp_clock_read(&a);
    b = a;
    for (int i = 0; i < LOOKS && b.mono - a.mono < 20000; i++) mp_clock_read(&b);
    const uint64_t per_us = b.mono > a.mono ? (b.ticks - a.ticks) * 1000 / (b.mono - a.mono)
                                            : mp_machine_ticks_per_us();
    unsigned shift = 0;
    while (per_us >> (shift + 1)) shift++;
    return shift;
}

static unsigned shift;

unsigned mp_clock_shift(void) { return shift; }

/* The kernel uses the counter as its clock only if it is constant and synchronised between all
 * processors. */
void mp_clock_init(void)
{
    static const char counter[] = MP_MACHINE_CLOCK "\n";
    char source[32];
    const long n = mp_sys_slurp("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                                source, sizeof source);
    mp_clock_no_counter = n <= 0 || strcmp(source, counter) != 0;
    shift = measure_shift();
}
