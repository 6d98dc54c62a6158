// cause: retention
// owner: build_reply
// change: malloc_trim
// source: kubernetes/kubernetes#43916
// record: MEMPROF_STACKS=sample
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, REPLIES = 8000, BYTES = 6000 };

static pthread_barrier_t turn;
static void *last[THREADS];

__attribute__((noinline)) static void *build_reply(void) { return memset(malloc(BYTES), 1, BYTES); }

/* A block at the top of each arena keeps the free pages below it. */
static void *serve(void *arg)
{
    void **reply = calloc(REPLIES, sizeof *reply);
    for (int i = 0; i < REPLIES; i++) reply[i] = build_reply();
    last[(long)arg] = malloc(64);
    for (int i = 0; i < REPLIES; i++) free(reply[i]);
    free(reply);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    pthread_barrier_init(&turn, NULL, THREADS + 1);
    for (long i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, serve, (void *)i);
    pthread_barrier_wait(&turn);
    const struct mallinfo2 info = mallinfo2();
    sleep(3);
    printf("{\"bytes\": [%zu]}\n", info.fordblks - info.keepcost);
    pthread_barrier_wait(&turn);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    return last[0] == NULL;
}
