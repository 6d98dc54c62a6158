/* `handover EXCHANGES`: 8 threads put new blocks into a shared table and free blocks that other
 * threads put there, so that the allocator often returns an address just after another thread freed
 * it. At the end everything is freed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { THREADS = 8, PLACES = 64 };
static _Atomic(char *) place[PLACES];
static long exchanges;

static void *run(void *arg)
{
    uint64_t seed = (uintptr_t)arg + 1;
    for (long i = 0; i < exchanges / THREADS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        char *block = malloc(16 + (seed >> 60) * 16);
        if (!block) abort();
        free(atomic_exchange(&place[(seed >> 33) % PLACES], block));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    exchanges = argc > 1 ? atol(argv[1]) : 0;
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < PLACES; i++) free(place[i]);
    return 0;
}
