/* Measures the encoder thread's time per event: chunks are filled with the events of some threads,
 * and mp_epoch_run is timed.
 *
 *   encode THREADS [ROUNDS] [RUN]    RUN: events of a thread between two of others (1: they
 * alternate at random) */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "core/config.h"
#include "core/epoch.h"
#include "core/logfile.h"
#include "core/process.h"
#include "core/record.h"
#include "core/threads.h"
#include "real/real.h"

enum { THREADS = 16, EVENTS = 1 << 20, LIVE = 2048, CHUNKS = 144 };

struct trace {
    uint64_t addr[EVENTS], head[EVENTS];
};
static struct trace *trace[THREADS];
static struct mp_thread *record[THREADS];

static uint64_t random_of(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* Returns sizes with an approximately log-normal distribution, like bench/host/work.c. */
static uint64_t some_size(uint64_t x)
{
    uint64_t size = 24;
    for (int i = 0; i < 4; i++, x >>= 2) size += size * (x & 3) / 3;
    return size / 2 + (x & 31);
}

static void *churn(void *arg)
{
    const uintptr_t id = (uintptr_t)arg;
    struct trace *t = trace[id];
    uint64_t s = 42 + 7919 * id;
    static __thread void *live[LIVE];
    for (uint32_t i = 0; i < EVENTS;) {
        const uint64_t x = random_of(&s), size = some_size(x), slot = (x >> 40) % LIVE;
        if (live[slot]) {
            t->addr[i] = (uintptr_t)live[slot];
            t->head[i++] = mpf_slot_head(MPF_OP_FREE, MPF_HEAP_HOST, 0, 0);
            free(live[slot]);
        }
        if (i == EVENTS) break;
        live[slot] = malloc(size);
        *(volatile char *)live[slot] = 0;
        t->addr[i] = (uintptr_t)live[slot];
        t->head[i++] = mpf_slot_head(MPF_OP_ALLOC, MPF_HEAP_HOST, 0, size);
    }
    return NULL;
}

static void put(struct mp_thread *t, uint64_t time, uint64_t addr, uint64_t head)
{
    if (!mp_cursor_valid(t->cur) && !mp_thread_chunk(t)) abort();
    const uint64_t at = t->cur;
    t->cur += sizeof(struct mpf_slot);
    *mp_cursor_slot(at) = (struct mpf_slot){ time, addr, head | mp_cursor_tag(at) };
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
    const uint32_t threads = argc > 1 ? (uint32_t)atoi(argv[1]) : 4,
                   rounds = argc > 2 ? (uint32_t)atoi(argv[2]) : 40;
    const uint32_t run = argc > 3 ? (uint32_t)atoi(argv[3]) : 1;
    char log[] = "/tmp/encode.XXXXXX", path[64];
    if (!threads || threads > THREADS || !mkdtemp(log)) return 2;
    snprintf(path, sizeof path, "%s/log.zst", log);
    setenv("MEMPROF_OUT", path, 1);
    setenv("MEMPROF_QUIET", "1", 1);
    for (uintptr_t i = 0; i < threads; i++) {
        trace[i] = malloc(sizeof *trace[i]);
        pthread_t t;
        pthread_create(&t, NULL, churn, (void *)i);
        pthread_join(t, NULL);
    }
    mp_config_read();
    mp_clock_init();
    mp_real_resolve();
    mp_process_adopt(true);
    if (!mp_process_init()) return 1;
    mp_process->known = 0;
    for (uint32_t i = 0; i < threads; i++) {
        mp_self = NULL;
        record[i] = mp_thread_register();
        if (!record[i]) return 1;
    }
    uint64_t at[THREADS] = { 0 }, s = 1, time = mp_clock_ticks();
    double cost[1000];
    const uint32_t each = CHUNKS * MPF_CHUNK_SLOTS;
    for (uint32_t r = 0; r < rounds && r < 1000; r++) {
        if (time < mp_clock_ticks())
            time = mp_clock_ticks(); /* otherwise the watermark is their only time */
        for (uint32_t n = 0; n < each;) {
            const uint32_t i = (uint32_t)(random_of(&s) >> 33) % threads;
            const uint32_t k = run == 1 ? 1 : 1 + (uint32_t)(random_of(&s) >> 33) % (2 * run - 1);
            for (uint32_t j = 0; j < k && n < each; j++, n++, at[i] = (at[i] + 1) % EVENTS) {
                time += 30 / threads + 1 + (random_of(&s) >> 60);
                put(record[i], time, trace[i]->addr[at[i]], trace[i]->head[at[i]]);
            }
        }
        while (mp_clock_ticks() < time + 1000000) {}
        const double before = cpu_ns();
        while (mp_epoch_run(0)) {}
        cost[r] = (cpu_ns() - before) / each;
    }
    qsort(cost, rounds, sizeof *cost, by_value);
    printf("%u threads, runs of %u: %.1f ns an event [%.1f-%.1f], %.2f bytes\n", threads, run,
           cost[rounds / 2], cost[0], cost[rounds - 1],
           (double)mp_logfile_bytes() / (double)mp_process->events);
    mp_self = record[0];
    mp_process_finish("exit");
    unlink(path);
    rmdir(log);
    return 0;
}
