/* `blocks ROUNDS [fork|kill|large]`: threads allocate, resize and free blocks of all sizes at
 * random, and hand them to each other. Some blocks stay live.
 *
 * fork: a child continues with its parent's blocks.
 * kill: SIGKILL ends the process in the middle.
 * large: the program allocates small blocks, then a large one, and prints how many more threads
 * exist after that. */
#include <dirent.h>
#include <err.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, SHARED = 512 };

static void *shared[SHARED]; /* a block here belongs to the thread that removes it */
static unsigned rounds;

static uint32_t random_of(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    return *s ^= *s << 5;
}

/* Returns a size from a few bytes to 2 MiB. Most sizes are small, and sizes near 4 KiB are
 * frequent. */
static size_t size_of(uint32_t r)
{
    if (r % 8 == 0) return 4096 - 32 + r / 8 % 64;
    return 1 + (r >> 8 & ((1u << (r % 29 < 8 ? 5 + r % 17 : 9)) - 1));
}

static void *make(uint32_t r)
{
    const size_t n = size_of(r);
    switch (r >> 5 & 7) {
    case 0: return calloc(1, n);
    case 1: return memalign(64, n);
    case 2: return aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    case 3: return realloc(NULL, n);
    default: return malloc(n);
    }
}

static void step(uint32_t *s)
{
    const uint32_t r = random_of(s);
    void **place = &shared[random_of(s) % SHARED];
    void *p = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
    if (!p) p = make(r);
    else if (r % 4 == 0) p = realloc(p, size_of(random_of(s)));
    else if (r % 4 == 1) p = realloc(p, SIZE_MAX / 4) ? NULL : p; /* refused: the block stays */
    else {
        free(p);
        p = make(r); /* often at the same address */
    }
    if (p) memset(p, 1, 1);
    free(__atomic_exchange_n(place, p, __ATOMIC_ACQ_REL));
}

static void *churn(void *seed)
{
    uint32_t s = (uint32_t)(uintptr_t)seed;
    for (unsigned i = 0; i < rounds; i++) step(&s);
    return NULL;
}

static void run(unsigned seed)
{
    pthread_t thread[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)(seed + i)))
            errx(1, "pthread_create");
    for (unsigned i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

static int tasks(void)
{
    int n = 0;
    DIR *all = opendir("/proc/self/task");
    for (const struct dirent *e; all && (e = readdir(all));) n += e->d_name[0] != '.';
    if (all) closedir(all);
    return n;
}

static void small_then_large(void)
{
    for (int i = 0; i < 1000; i++) free(malloc(100));
    const int before = tasks();
    shared[0] = malloc((size_t)2 << 20);
    while (tasks() - before < 2) {} /* an emulator has threads itself */
    printf("%d\n", tasks() - before);
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    if (!strcmp(how, "large")) small_then_large();
    rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
    run(1);
    if (!strcmp(how, "fork")) {
        const pid_t child = fork();
        run(child ? 11 : 21);
        if (child) waitpid(child, NULL, 0);
    }
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    return 0;
}
