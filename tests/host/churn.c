/* `churn COUNTERS HOW WORKERS`: allocates and frees until it is killed. It keeps counters, which
 * are exact at any instant, in a shared mapping of the file COUNTERS.
 *
 * HOW is one of:
 * threads: WORKERS threads.
 * processes: WORKERS forked processes.
 * short: WORKERS threads at a time, each for 100 steps.
 * forking: one worker, which sometimes forks a short-lived child.
 * segv: one worker, which reads address 0 after 100,000 steps.
 * grow: one worker, which frees nothing and writes to everything that it gets.
 *
 * Worker i allocates only in the ranges "worker i even" and "worker i odd". */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranges.h"

enum { WORKERS = 8, LIVE = 256, RANGES = 2 };

/* Before a step the worker writes the state after that step. One store to `word` then starts the
 * step, and another one finishes it. Bit 0 of `word` is the index of the valid state. Bit 1 means
 * that the other state may already be valid. */
struct state {
    uint64_t allocations[RANGES], blocks[RANGES], bytes[RANGES];
};
struct counters {
    uint64_t pid, word;
    struct state state[2];
};

static volatile struct counters *counters;
static struct {
    void *p;
    size_t size;
    int range;
} live[WORKERS][LIVE];
static uint64_t seed[WORKERS];
static const char *how;
static bool grow;

static struct state state_now(int w) { return counters[w].state[counters[w].word & 1]; }

static void under_way(int w, struct state after)
{
    counters[w].state[!(counters[w].word & 1)] = after;
    counters[w].word |= 2;
}

static void done(int w) { counters[w].word = !(counters[w].word & 1); }

static void drop(int w, int i)
{
    struct state s = state_now(w);
    s.blocks[live[w][i].range]--;
    s.bytes[live[w][i].range] -= live[w][i].size;
    under_way(w, s);
    free(live[w][i].p);
    done(w);
}

static void take(int w, int i, size_t size, int range)
{
    struct state s = state_now(w);
    s.allocations[range]++;
    s.blocks[range]++;
    s.bytes[range] += size;
    under_way(w, s);
    void *p = malloc(size);
    if (!p) abort();
    done(w);
    if (grow) memset(p, 1, size);
    live[w][i].p = p;
    live[w][i].size = size;
    live[w][i].range = range;
}

static void step(int w, int range)
{
    seed[w] = seed[w] * 6364136223846793005u + 1442695040888963407u;
    const int i = (int)(seed[w] >> 33) % LIVE;
    if (live[w][i].p && !grow) drop(w, i);
    take(w, i, grow ? 100000 : 1 + (seed[w] >> 50), range);
}

static void work(int w, long steps)
{
    char name[RANGES][32];
    snprintf(name[0], sizeof *name, "worker %d even", w);
    snprintf(name[1], sizeof *name, "worker %d odd", w);
    counters[w].pid = (uint64_t)getpid();
    for (long n = 0; n < steps; n++) {
        if (n % 16 == 0) range_push(name[n / 16 % RANGES]);
        step(w, (int)(n / 16 % RANGES));
        if (n % 16 == 15) range_pop();
    }
    if (steps % 16) range_pop();
}

static void *run(void *arg)
{
    work((int)(intptr_t)arg, strcmp(how, "short") ? INT64_MAX : 100);
    return NULL;
}

static void threads(int workers)
{
    pthread_t thread[WORKERS];
    for (intptr_t w = 0; w < workers; w++) pthread_create(&thread[w], NULL, run, (void *)w);
    for (int w = 0; w < workers; w++) pthread_join(thread[w], NULL);
}

static void processes(int workers)
{
    for (int w = 0; w < workers; w++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            work(w, INT64_MAX);
        }
    while (wait(NULL) > 0) {}
}

static void forking(void)
{
    for (;;) {
        work(0, 320);
        const pid_t pid = fork();
        if (pid == 0) {
            for (int i = 0; i < 10; i++) free(malloc(50));
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    const int fd = argc == 4 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0 || ftruncate(fd, WORKERS * sizeof *counters) != 0) return 2;
    counters = mmap(NULL, WORKERS * sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no process survives a test that was stopped */
    how = argv[2];
    grow = !strcmp(how, "grow");
    ranges_init();
    if (!strcmp(how, "processes")) processes(atoi(argv[3]));
    else if (!strcmp(how, "forking")) forking();
    else if (grow) work(0, INT64_MAX);
    else if (!strcmp(how, "segv")) {
        work(0, 100000);
        *(volatile int *)0 = 0;
    } else
        for (;;) threads(atoi(argv[3]));
    return 0;
}
