/* `memory_shortage THREADS BLOCKS`: creates THREADS threads, forbids itself further memory
 * (RLIMIT_AS), and lets each thread allocate and free BLOCKS blocks, which fit. Prints the
 * number of blocks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "room.h"

enum { MOST = 1024 };

static pthread_barrier_t begun;
static unsigned blocks;

static void *take_and_free(void *allocated)
{
    pthread_barrier_wait(&begun);
    for (unsigned i = 0; i < blocks; i++) {
        void *volatile p = malloc(64);
        *(unsigned *)allocated += p != NULL;
        free(p);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_t thread[MOST];
    static unsigned allocated[MOST];
    const unsigned threads = argc > 2 ? (unsigned)atoi(argv[1]) : MOST;
    if (threads >= MOST) return 2;
    blocks = (unsigned)atoi(argv[2]);
    keep_room();
    pthread_barrier_init(&begun, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, take_and_free, &allocated[i]) != 0) return 1;
    if (setrlimit(RLIMIT_AS, &(struct rlimit){ 1 << 20, 1 << 20 }) != 0) return 1;
    pthread_barrier_wait(&begun);
    unsigned sum = 0;
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        sum += allocated[i];
    }
    printf("%u\n", sum);
    return 0;
}
