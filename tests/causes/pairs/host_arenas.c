// changed: a library no longer limits malloc to one arena
// cause: retention
// owner: malloc|serve|build_reply
// change: arena|ARENA|trim
// larger: after
// record: MEMPROF_HOST=sample
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 12, REPLIES = 10000, REPLY = 4000 };

static pthread_barrier_t turn;
static void *pinned[THREADS];

__attribute__((noinline)) static void *build_reply(void) { return memset(malloc(REPLY), 1, REPLY); }

__attribute__((noinline)) static void serve(int thread)
{
    static void *reply[REPLIES];
    for (int i = 0; i < REPLIES; i++) reply[i] = build_reply();
    pinned[thread] = malloc(64); /* the top of the arena stays in use */
    for (int i = 0; i < REPLIES; i++) free(reply[i]);
}

/* The threads serve one after the other, and end together. */
static void *run_thread(void *argument)
{
    for (int i = 0; i < THREADS; i++) {
        if (i == (int)(long)argument) serve(i);
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

static long peak_rss(void)
{
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kib);
    if (status) fclose(status);
    return kib << 10;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    if (argc > 1 && strcmp(argv[1], "before") == 0) mallopt(M_ARENA_MAX, 1);
    pthread_barrier_init(&turn, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, run_thread, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    sleep(3); /* the kernel's figures are samples */
    printf("{\"bytes\": [%d], \"peak\": %ld}\n", (THREADS - 1) * REPLIES * (REPLY + 16),
           peak_rss());
    return pinned[0] == NULL;
}
