/* Events read the clock when necessary, and events of threads that synchronise with each other are
 * in the right order. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/record.h"
#include "core/threads.h"
#include "recording.h"

#define SOMEWHERE (UINT64_C(1) << 50)

/* Returns how many of n such events read the clock. */
static unsigned readings(unsigned n, unsigned op, uint64_t size)
{
    unsigned read = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t before = mp_self->time;
        mp_record(op, MPF_HEAP_HOST, SOMEWHERE | i << 4, size);
        read += mp_self->time != before;
    }
    return read;
}

static void start(void)
{
    mp_process->known = 0;
    mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, SOMEWHERE, 1);
}

static void alone(void)
{
    start();
    if (readings(64, MPF_OP_FREE, 0) != 64) _exit(91); /* there is no encoder yet */
    mp_clock_next_turns();
    if (readings(64, MPF_OP_ALLOC, 24) > 3 || readings(64, MPF_OP_FREE, 0) > 3) _exit(90);
    if (readings(640, MPF_OP_ALLOC, 24) < 14) _exit(92);
    if (readings(32, MPF_OP_MOVE_BEGIN, 0) > 2 || readings(32, MPF_OP_MOVE_END, 24) > 2) _exit(93);
    if (readings(64, MPF_OP_ALLOC, MP_TIMED) != 64 || readings(64, MPF_OP_PUSH, 0) != 64) _exit(89);
    for (unsigned i = 0; i < 64; i++) {
        mp_clock_next_turns();
        if (readings(1, MPF_OP_FREE, 0) != 1) _exit(88);
    }
}

/* ---- two threads that wait for each other */

enum { ROUNDS = 200, EACH_ROUND = 12 };
_Static_assert(2 * ROUNDS < MP_TURNS, "both have room for their turns");

static struct {
    sem_t go[2];
    uint64_t last;
    unsigned rounds, read[2];
} pair;

static void *take_turns(void *arg)
{
    const unsigned me = (unsigned)(uintptr_t)arg;
    for (unsigned i = 0; i < pair.rounds; i++) {
        sem_wait(&pair.go[me]);
        if (i == 0) mp_record(MPF_OP_PUSH, MPF_HEAP_NONE, 0, 0);
        for (unsigned k = 0; k < EACH_ROUND; k++) {
            pair.read[me] += readings(1, MPF_OP_FREE, 0);
            if (mp_self->time < pair.last) _exit(87); /* earlier than a time that it has seen */
            pair.last = mp_self->time;
        }
        sem_post(&pair.go[!me]);
    }
    return NULL;
}

static void hand_over(unsigned rounds)
{
    pthread_t thread[2];
    pair.rounds = rounds;
    pair.last = pair.read[0] = pair.read[1] = 0;
    sem_init(&pair.go[0], 0, 1);
    sem_init(&pair.go[1], 0, 0);
    for (uintptr_t i = 0; i < 2; i++) pthread_create(&thread[i], NULL, take_turns, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
}

static void by_turns(void)
{
    start();
    mp_clock_next_turns();
    hand_over(ROUNDS);
    for (int i = 0; i < 2; i++)
        if (pair.read[i] < ROUNDS || pair.read[i] > 2 * ROUNDS) _exit(86);
}

static void too_many_turns(void)
{
    start();
    mp_clock_next_turns();
    hand_over(MP_TURNS);
    if (mp_turn_owner(mp_clock_turn) != MP_EVERYBODY || readings(64, MPF_OP_FREE, 0) != 64)
        _exit(85);
    mp_clock_next_turns();
    if (readings(64, MPF_OP_FREE, 0) > 3) _exit(84);
}

static void small_blocks_of_one_thread_rarely_read_the_clock(void **state)
{
    (void)state;
    recorded(alone);
}

static void an_event_after_synchronisation_has_a_later_time(void **state)
{
    (void)state;
    recorded(by_turns);
}

static void every_event_reads_the_clock_if_threads_alternate(void **state)
{
    (void)state;
    recorded(too_many_turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_blocks_of_one_thread_rarely_read_the_clock),
        cmocka_unit_test(an_event_after_synchronisation_has_a_later_time),
        cmocka_unit_test(every_event_reads_the_clock_if_threads_alternate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
