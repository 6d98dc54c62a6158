/* Blocks that are allocated inside and outside of capture windows, and live across their edges.
 *
 * steps N [fork]: N ranges "step". Each allocates 20 blocks of 1,000 bytes, and 20 of 2,000 are
 * allocated before each. In each step and after it every third live block is freed or resized. With
 * fork, a child that is forked in the last step continues with the blocks. For each block that is
 * live at the end, a line of stdout has its address, and when it was last allocated or resized (2
 * n: in step n; 2 n + 1: after it).
 *
 * signals N: four threads allocate, resize and free blocks while the main thread sends N signals
 * USR2.
 *
 * clock: for 1.6 s, allocates 20 blocks of 1,000 bytes every 20 ms in a range "clock", and keeps
 * them.
 *
 * ends: a thread allocates 20 blocks in a range "step" and ends in it. Then 20 blocks are allocated
 * every 20 ms in a range "after", until the program is killed. */
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ranges.h"

enum { INSIDE = 1000, OUTSIDE = 2000, EACH = 20, MOST = 4096, THREADS = 4, SHARED = 256 };

static struct kept {
    void *p;
    unsigned when; /* 2 n: in step n; 2 n + 1: after it */
} kept[MOST];
static size_t count;

static void make(size_t bytes, unsigned when)
{
    for (int i = 0; i < EACH && count < MOST; i++)
        kept[count++] = (struct kept){ malloc(bytes), when };
}

static void change_blocks(unsigned first, unsigned when)
{
    for (size_t i = first % 3; i < count; i += 3) {
        struct kept *k = &kept[i];
        if (i % 2) {
            free(k->p);
            k->p = NULL;
            continue;
        }
        void *moved = realloc(k->p, INSIDE + i % 7 * 16);
        if (moved) *k = (struct kept){ moved, when };
    }
}

/* Does not call malloc. */
static void print_live(void)
{
    for (size_t i = 0; i < count; i++)
        if (kept[i].p)
            dprintf(STDOUT_FILENO, "%zu %u\n", (size_t)(uintptr_t)kept[i].p, kept[i].when);
}

static int steps(unsigned n, bool forks)
{
    for (unsigned step = 1; step <= n; step++) {
        make(OUTSIDE, 2 * step - 1);
        range_push("step");
        make(INSIDE, 2 * step);
        range_push("step "); /* a different range name */
        change_blocks(step, 2 * step);
        range_pop();
        if (forks && step == n && fork() == 0) {
            change_blocks(1, 2 * step);
            range_pop();
            exit(0);
        }
        range_pop();
        change_blocks(step + 1, 2 * step + 1);
    }
    int status;
    if (forks && (wait(&status) < 0 || status)) return 1;
    print_live();
    return 0;
}

static void *shared[SHARED];
static bool done;

static void *churn(void *seed)
{
    uint32_t s = (uint32_t)(uintptr_t)seed;
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        s = s * 1664525 + 1013904223;
        void *p = __atomic_exchange_n(&shared[s >> 24], NULL, __ATOMIC_ACQ_REL);
        const size_t bytes = 1 + (s >> 8) % 6000;
        if (s & 64) p = realloc(p, bytes);
        else {
            free(p);
            p = malloc(bytes);
        }
        free(__atomic_exchange_n(&shared[(s >> 16) % SHARED], p, __ATOMIC_ACQ_REL));
    }
    return NULL;
}

static int signals(unsigned n)
{
    pthread_t thread[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)(i + 1))) errx(1, "pthread");
    for (unsigned i = 0; i < n; i++) {
        kill(getpid(), SIGUSR2);
        for (unsigned k = 0; k < 200; k++) free(malloc(100 + k));
    }
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_clock(void)
{
    const double start = now();
    range_push("clock");
    while (now() - start < 1.6 && count < MOST) {
        make(INSIDE, 0);
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    }
    range_pop();
    return 0;
}

static void *end_inside(void *arg)
{
    range_push("step");
    make(INSIDE, 0);
    return arg;
}

static int ends(void)
{
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pthread_create(&thread, NULL, end_inside, NULL)) errx(1, "pthread");
    pthread_join(thread, NULL);
    range_push("after");
    for (;;) {
        count = 0;
        make(INSIDE, 0);
        for (size_t i = 0; i < count; i++) free(kept[i].p);
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    }
}

int main(int argc, char **argv)
{
    const unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    ranges_init();
    if (argc > 1 && strcmp(argv[1], "steps") == 0) return steps(n, argc > 3);
    if (argc > 1 && strcmp(argv[1], "signals") == 0) return signals(n);
    if (argc > 1 && strcmp(argv[1], "clock") == 0) return by_clock();
    if (argc > 1 && strcmp(argv[1], "ends") == 0) return ends();
    errx(2, "steps N, signals N, clock or ends");
}
