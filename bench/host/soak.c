/* soak --events=N [--threads=T] [--rate=A_SECOND] [--hold=FILE] --truth=FILE: a long run whose
 * memory use is known.
 *
 * T threads make N calls of malloc and free in total, in 16 phases. Between two phases they wait,
 * and the main thread makes a peak of a chosen height, to the byte. The highest peak is in phase 5.
 * The one in phase 11 is a single byte lower. In each phase the main thread also leaks blocks, in
 * separate functions. The program counts the bytes of each NVTX range itself, and writes them to
 * FILE: those at the highest peak and those at the end, with the names that reports use.
 *
 * While the first byte of the file given by --hold is not 0, the threads pause.
 *
 * Except at the start (threads, the library of the ranges) the program makes no other allocations,
 * and no thread ends before the process. So all other numbers are the same in a short run. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int nvtxRangePushA(const char *text);
int nvtxRangePop(void);

enum {
    PHASES = 16,
    HIGHEST = 5, /* of the phases, from 0 */
    A_BYTE_LESS = 11,
    MOST = 64,      /* number of threads */
    LIVE = 512,     /* blocks per thread */
    LEFT = 16,      /* blocks per thread that are live at the end */
    STEP = 1 << 20, /* events in a range */
    BATCH = 4096,   /* events between two reads of the clock */
    PEAK_BLOCKS = 64,
};
#define PEAK   (UINT64_C(512) << 20)
#define LESSER (UINT64_C(4) << 20)

/* The expected bytes and blocks of a row of the reports. */
struct held {
    uint64_t bytes, blocks;
};
struct worker {
    _Alignas(64) char name[16];
    struct held held;
    uint64_t allocations, frees, dice;
    void *block[LIVE];
    uint32_t size[LIVE];
};
enum leak { SMALL, OFTEN, SELDOM, LEAKS };
static const char *const leak_name[LEAKS] = { "leak small", "leak often", "leak seldom" };

static struct worker worker[MOST];
static struct held leaked[LEAKS], peak;
static uint64_t events, rate, allocations, frees; /* the last two: of the main thread */
static int threads = 4;
static volatile const char *hold = "";
static pthread_barrier_t together;
static char truth[16384];
static int length;

/* ---- the threads */

static void free_block(struct worker *w, unsigned i)
{
    free(w->block[i]);
    w->block[i] = NULL;
    w->held.bytes -= w->size[i];
    w->held.blocks--;
    w->frees++;
}

static void allocate_block(struct worker *w, unsigned i, uint32_t size)
{
    w->block[i] = malloc(size);
    if (!w->block[i]) abort();
    w->size[i] = size;
    w->held.bytes += size;
    w->held.blocks++;
    w->allocations++;
}

/* A slot is emptied and filled. One in 512 blocks is a few KiB. */
static void churn(struct worker *w, uint64_t pairs)
{
    for (uint64_t n = 0; n < pairs; n++) {
        w->dice = w->dice * 6364136223846793005u + 1442695040888963407u;
        const uint64_t x = w->dice >> 32;
        const unsigned i = x % LIVE;
        if (w->block[i]) free_block(w, i);
        allocate_block(w, i,
                       x >> 23 ? 16 + (uint32_t)(x >> 9) % 500 : 4096 + (uint32_t)(x >> 9) % 9000);
    }
}

static void sleep_until(struct timespec start, double seconds)
{
    start.tv_sec += (time_t)seconds;
    start.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (start.tv_nsec >= 1000000000) start.tv_nsec -= 1000000000, start.tv_sec++;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL);
}

static void step(struct worker *w, uint64_t pairs, struct timespec start, uint64_t *done)
{
    nvtxRangePushA("step");
    for (uint64_t n; pairs; pairs -= n) {
        n = pairs < BATCH / 2 ? pairs : BATCH / 2;
        churn(w, n);
        *done += 2 * n;
        while (*hold) usleep(10000);
        if (rate) sleep_until(start, (double)*done * threads / (double)rate);
    }
    nvtxRangePop();
}

static void phase_of(struct worker *w, struct timespec start, uint64_t *done)
{
    uint64_t pairs = events / 2 / PHASES / (unsigned)threads;
    for (uint64_t n; pairs; pairs -= n) {
        n = pairs < STEP / 2 ? pairs : STEP / 2;
        step(w, n, start, done);
    }
}

static void wait_for_all(void) { pthread_barrier_wait(&together); }

static void *work(void *arg)
{
    struct worker *w = arg;
    struct timespec start;
    uint64_t done = 0;
    wait_for_all();
    clock_gettime(CLOCK_MONOTONIC, &start);
    nvtxRangePushA(w->name);
    for (int phase = 0; phase < PHASES; phase++) {
        phase_of(w, start, &done);
        wait_for_all();
        wait_for_all(); /* meanwhile the main thread makes the peak */
    }
    for (unsigned i = LEFT; i < LIVE; i++)
        if (w->block[i]) free_block(w, i);
    wait_for_all();
    pause(); /* waits for the end of the process */
    return NULL;
}

/* ---- leaks: the pointers are lost when these functions return */

static void leak_block(enum leak which, size_t size)
{
    nvtxRangePushA(leak_name[which]);
    void *volatile block = malloc(size);
    if (!block) abort();
    nvtxRangePop();
    leaked[which].bytes += size;
    leaked[which].blocks++;
    allocations++;
}

__attribute__((noinline)) static void soak_leak_small(void)
{
    for (size_t n = 0; n < 1000; n++) leak_block(SMALL, 24 + n % 7);
}

__attribute__((noinline)) static void soak_leak_often(void) { leak_block(OFTEN, (1 << 20) + 1); }

__attribute__((noinline)) static void soak_leak_seldom(void) { leak_block(SELDOM, (2 << 20) + 3); }

/* ---- the peaks */

static struct held sum_held(void)
{
    struct held sum = peak;
    for (int i = 0; i < threads; i++) {
        sum.bytes += worker[i].held.bytes;
        sum.blocks += worker[i].held.blocks;
    }
    for (int i = 0; i < LEAKS; i++) {
        sum.bytes += leaked[i].bytes;
        sum.blocks += leaked[i].blocks;
    }
    return sum;
}

static void write_row(const char *name, struct held held, const char *more)
{
    length += snprintf(truth + length, sizeof truth - (size_t)length, "\"%s\": [%llu, %llu]%s",
                       name, (unsigned long long)held.bytes, (unsigned long long)held.blocks, more);
}

static void write_state(const char *name)
{
    length += snprintf(truth + length, sizeof truth - (size_t)length, "\"%s\": {", name);
    for (int i = 0; i < threads; i++) write_row(worker[i].name, worker[i].held, ", ");
    for (int i = 0; i < LEAKS; i++) write_row(leak_name[i], leaked[i], ", ");
    write_row("peak", peak, ", ");
    write_row("all", sum_held(), "}, ");
}

static uint64_t peak_of(int phase)
{
    if (phase == HIGHEST) return PEAK;
    if (phase == A_BYTE_LESS) return PEAK - 1;
    return PEAK - LESSER * (unsigned)(PHASES - phase);
}

/* Writes to none of the memory, so it needs no pages. */
static void make_peak(int phase)
{
    static void *block[PEAK_BLOCKS];
    const uint64_t missing = peak_of(phase) - sum_held().bytes, each = missing / PEAK_BLOCKS;
    nvtxRangePushA("peak");
    for (unsigned i = 0; i < PEAK_BLOCKS; i++) {
        const uint64_t size = i ? each : missing - each * (PEAK_BLOCKS - 1);
        block[i] = malloc(size);
        if (!block[i]) abort();
        peak.bytes += size;
        peak.blocks++;
    }
    if (phase == HIGHEST) write_state("peak");
    for (unsigned i = 0; i < PEAK_BLOCKS; i++) free(block[i]);
    nvtxRangePop();
    allocations += PEAK_BLOCKS;
    frees += PEAK_BLOCKS;
    peak = (struct held){ 0 };
}

static void between_phases(int phase)
{
    soak_leak_small();
    soak_leak_often();
    if (phase % 4 == 0) soak_leak_seldom();
    make_peak(phase);
}

/* ---- the run */

static double seconds_since(struct timespec from)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) * 1e-9;
}

static void run(void)
{
    pthread_t id;
    pthread_barrier_init(&together, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        snprintf(worker[i].name, sizeof worker[i].name, "worker %d", i);
        worker[i].dice = (unsigned)i * 0x9E3779B97F4A7C15u + 1;
        if (pthread_create(&id, NULL, work, &worker[i]) != 0) abort();
    }
    wait_for_all();
    for (int phase = 0; phase < PHASES; phase++) {
        wait_for_all();
        between_phases(phase);
        wait_for_all();
    }
    wait_for_all();
}

static bool map_hold(const char *path)
{
    const int fd = open(path, O_RDONLY);
    hold = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    return hold != MAP_FAILED;
}

static void count(void)
{
    for (int i = 0; i < threads; i++) {
        allocations += worker[i].allocations;
        frees += worker[i].frees;
    }
}

static bool write_truth(const char *path, double seconds)
{
    write_state("end");
    length += snprintf(truth + length, sizeof truth - (size_t)length,
                       "\"allocations\": %llu, \"frees\": %llu, \"seconds\": %.3f}\n",
                       (unsigned long long)allocations, (unsigned long long)frees, seconds);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const bool good = fd >= 0 && write(fd, truth, (size_t)length) == length;
    if (fd >= 0) close(fd);
    return good;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "events", 1, NULL, 'e' }, { "threads", 1, NULL, 't' }, { "rate", 1, NULL, 'r' },
        { "hold", 1, NULL, 'h' },   { "truth", 1, NULL, 'o' },   { 0 }
    };
    const char *path = NULL;
    struct timespec start;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'e': events = strtoull(optarg, NULL, 10); break;
        case 't': threads = atoi(optarg); break;
        case 'r': rate = strtoull(optarg, NULL, 10); break;
        case 'o': path = optarg; break;
        case 'h':
            if (!map_hold(optarg)) return perror(optarg), 1;
            break;
        default: return 2;
        }
    }
    if (!path || !events || threads < 1 || threads > MOST)
        return fputs("usage: soak --events=N --truth=FILE [--threads=T] [--rate=A_SECOND]\n",
                     stderr),
               2;
    truth[length++] = '{';
    clock_gettime(CLOCK_MONOTONIC, &start);
    run();
    count();
    return write_truth(path, seconds_since(start)) ? 0 : 1;
}
