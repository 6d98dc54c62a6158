// cause: retention
// owner: decode_batch|decode_tag|keep_index|worker|arena
// change: malloc_trim|arena|MALLOC_|trim
// source: amule-org/amule#1153, DataDog/integrations-core#24591
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 6, TAGS = 12000, TAG = 2500, STEP = 24 };

static void *kept[THREADS][TAGS / STEP + 1];
static pthread_barrier_t freed, end;

__attribute__((noinline)) static char *decode_tag(int n) { return memset(malloc(TAG), n, TAG); }
__attribute__((noinline)) static char *keep_index(int n) { return memset(malloc(48), n, 48); }

/* Decodes the whole state of the server, from which only a small index stays. */
__attribute__((noinline)) static void decode_batch(int thread)
{
    char **tags = malloc(TAGS * sizeof *tags);
    for (int i = 0; i < TAGS; i++) {
        tags[i] = decode_tag(i);
        if (i % STEP == 0) kept[thread][i / STEP] = keep_index(i);
    }
    for (int i = 0; i < TAGS; i++) free(tags[i]);
    free(tags);
}

static void *worker(void *argument)
{
    decode_batch((int)(long)argument);
    pthread_barrier_wait(&freed);
    pthread_barrier_wait(&end);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&freed, NULL, THREADS + 1);
    pthread_barrier_init(&end, NULL, THREADS + 1);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, worker, (void *)i);
    pthread_barrier_wait(&freed);
    for (int second = 0; second < 4; second++) {
        char *poll = decode_tag(second);
        sleep(1);
        free(poll);
    }
    pthread_barrier_wait(&end);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    long chunk = (TAG + 8 + 15) / 16 * 16;
    printf("{\"bytes\": [%ld, %ld]}\n", THREADS * TAGS * chunk, (long)THREADS * TAGS * TAG);
    return 0;
}
