/* hook [THREADS [BATCHES]]: ns per malloc or free in the program's threads, all of which run at
 * once. They rest after each batch so that the encoder keeps up. Prints the minimum and the median
 * batch of all threads. Another thread has started and ended before, as in most programs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 8000, LIVE = 64, MOST = 64, REST_US = 2000 };
static int threads = 1, batches = 300;
static pthread_barrier_t together;
static double *took;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void batch(void *volatile *block)
{
    for (int i = 0; i < EVENTS / 2; i++) {
        free(block[i % LIVE]);
        block[i % LIVE] = malloc(24 + (size_t)(i & 127));
    }
}

static void *work(void *arg)
{
    double *out = arg;
    void *volatile block[LIVE] = { 0 };
    for (int b = 0; b < batches; b++) {
        pthread_barrier_wait(&together);
        const double start = now();
        batch(block);
        out[b] = (now() - start) / EVENTS;
        usleep(REST_US);
    }
    return NULL;
}

static void *come_and_go(void *arg)
{
    free(malloc(16));
    return arg;
}
static int compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
    pthread_t thread[MOST];
    if (argc > 1) threads = atoi(argv[1]);
    if (argc > 2) batches = atoi(argv[2]);
    if (threads < 1 || threads > MOST || batches < 1) return 2;
    took = calloc((size_t)threads * (size_t)batches, sizeof *took);
    pthread_create(&thread[0], NULL, come_and_go, NULL);
    pthread_join(thread[0], NULL);
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, work, took + (size_t)i * (size_t)batches);
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    const size_t n = (size_t)threads * (size_t)batches;
    qsort(took, n, sizeof *took, compare);
    printf("%d threads: least %.2f ns an event, median %.2f\n", threads, took[0], took[n / 2]);
    return 0;
}
