#include "clock.h"

#include <string.h>

#include "sys.h"

uint8_t mp_clock_no_tsc;

uint64_t mp_clock_slow(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);     /* the vDSO: no system call, no errno on success */
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int32_t mp_clock_span;

void mp_clock_first_thread(void) { __atomic_store_n(&mp_clock_span, 0, __ATOMIC_RELEASE); }
void mp_clock_second_thread(void) { __atomic_store_n(&mp_clock_span, -1, __ATOMIC_RELEASE); }

/* Fails when a second thread has come meanwhile. */
void mp_clock_next_span(void)
{
    int32_t span = __atomic_load_n(&mp_clock_span, __ATOMIC_RELAXED);
    const int32_t next = span < INT32_MAX ? span + 1 : 1;
    if (span >= 0) __atomic_compare_exchange_n(&mp_clock_span, &span, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* The kernel uses the TSC as its own clock only where it is constant and synchronised over all processors. */
void mp_clock_init(void)
{
    char source[16];
    const long n = mp_sys_slurp("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    mp_clock_no_tsc = !(n >= 3 && memcmp(source, "tsc", 3) == 0);
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

/* Largest shift whose step is at most 1 us, from the ticks that pass in 20 us. */
unsigned mp_clock_shift(void)
{
    if (mp_clock_no_tsc) return 9;          /* 512 ns */
    struct mpf_clock a, b;
    mp_clock_read(&a);
    do mp_clock_read(&b); while (b.mono - a.mono < 20000);
    const uint64_t per_us = (b.ticks - a.ticks) * 1000 / (b.mono - a.mono);
    unsigned shift = 0;
    while (per_us >> (shift + 1)) shift++;
    return shift;
}
