/* `threads WHAT N`:
 *
 * short N: N threads, two at a time, each allocate and free 10 blocks of 100 bytes in the range
 * "thread".
 * live N: N threads each keep a block of 1,000 bytes until all have one.
 * keys: the key destructors of a thread allocate in each of their four rounds.
 * turns N: no thread; keeps N blocks, and then allocates and frees 20,000 in turns.
 *
 * `short` and `turns` then wait for the end of their stdin, so that a test can examine them. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranges.h"

static pthread_barrier_t all;
static pthread_key_t key;

static void create(pthread_t *thread, void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    if (pthread_create(thread, &attr, run, arg) != 0) exit(77);
    pthread_attr_destroy(&attr);
}

static void *short_life(void *arg)
{
    void *p[10];
    range_push("thread");
    for (int i = 0; i < 10; i++) p[i] = malloc(100);
    for (int i = 0; i < 10; i++) free(p[i]);
    range_pop();
    return arg;
}

static void *long_life(void *arg)
{
    range_push("thread");
    void *p = malloc(1000);
    pthread_barrier_wait(&all);
    free(p);
    range_pop();
    return arg;
}

static void destroy(void *round)
{
    range_push("destructor");
    void *p = malloc(100);
    range_pop();
    if ((intptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(key, (void *)((intptr_t)round + 1));
    if ((intptr_t)round % 2) free(p);
}

static void *with_keys(void *arg)
{
    pthread_setspecific(key, (void *)1);
    return arg;
}

static void many_short(long n)
{
    for (long i = 0; i < n; i += 2) {
        pthread_t thread[2];
        for (int k = 0; k < 2; k++) create(&thread[k], short_life, NULL);
        for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
    }
}

static void many_live(long n)
{
    pthread_t *thread = calloc((size_t)n, sizeof *thread);
    pthread_barrier_init(&all, NULL, (unsigned)n);
    for (long i = 0; i < n; i++) create(&thread[i], long_life, NULL);
    for (long i = 0; i < n; i++) pthread_join(thread[i], NULL);
    free(thread);
}

static void in_turns(long n)
{
    static void *volatile block[2];
    for (long i = 0; i < n; i++) block[1] = malloc(100);
    for (int i = 0; i < 20000; i++) {
        free(block[0]);
        block[0] = malloc(100);
    }
}

int main(int argc, char **argv)
{
    const long n = argc > 2 ? atol(argv[2]) : 0;
    char end;
    ranges_init();
    if (!strcmp(argv[1], "short") || !strcmp(argv[1], "turns")) {
        if (!strcmp(argv[1], "short")) many_short(n);
        else in_turns(n);
        dprintf(1, "done\n");
        return read(0, &end, 1) != 0;
    }
    if (!strcmp(argv[1], "live")) many_live(n);
    if (!strcmp(argv[1], "keys")) {
        pthread_t thread;
        pthread_key_create(&key, destroy);
        create(&thread, with_keys, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
