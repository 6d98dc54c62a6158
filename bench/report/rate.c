/* `rate EVENTS [A_SECOND]`: makes EVENTS calls of malloc and free with 64 blocks, at that rate or
 * as fast as possible, for logs of a known length. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 64, TURNS_A_SECOND = 100, EACH = 10000000 };

static void *volatile block[BLOCKS];

static void churn(uint64_t events, uint32_t *dice)
{
    for (uint64_t i = 0; i < events / 2; i++) {
        *dice = *dice * 1664525u + 1013904223u;
        const uint32_t at = *dice >> 26;
        free(block[at]);
        block[at] = malloc(16 + (*dice >> 20) % 200);
    }
}

static void wait_until(struct timespec *turn)
{
    turn->tv_nsec += EACH;
    if (turn->tv_nsec >= 1000000000) {
        turn->tv_nsec -= 1000000000;
        turn->tv_sec++;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, turn, NULL);
}

int main(int argc, char **argv)
{
    uint64_t left = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    const uint64_t rate = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
                   each = rate ? rate / TURNS_A_SECOND : left;
    struct timespec turn;
    uint32_t dice = 1;
    if (!left || (rate && !each)) return fputs("usage: rate EVENTS [A_SECOND]\n", stderr), 2;
    clock_gettime(CLOCK_MONOTONIC, &turn);
    for (uint64_t events; left; left -= events) {
        events = left < each ? left : each;
        churn(events, &dice);
        if (rate) wait_until(&turn);
    }
    return 0;
}
