/* `many_blocks BLOCKS`: two threads together allocate and free BLOCKS blocks.  Each thread
 * frees a block before it allocates the next one. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static void *run(void *arg)
{
    const uint64_t blocks = *(const uint64_t *)arg;
    for (uint64_t i = 0; i < blocks; i++) {
        void *volatile p = malloc(16 + i % 64);
        if (!p) abort();
        free(p);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const uint64_t blocks = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t other = blocks / 2, mine = blocks - other;
    pthread_t thread;
    pthread_create(&thread, NULL, run, &other);
    run(&mine);
    pthread_join(thread, NULL);
    return 0;
}
