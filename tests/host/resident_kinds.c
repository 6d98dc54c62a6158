/* Touches memory of one kind, which the argument names, and prints its bytes. It exits while the
 * memory is still resident, or, if the kind is "ended" or "dropped", after memprof has sampled it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 16, FRAME = 64 << 10, DEPTH = 64 };
#define STATIC_BYTES ((size_t)96 << 20)
#define FILE_BYTES   ((size_t)64 << 20)
#define TABLES       ((size_t)20000) /* of 4 KiB, one for 2 MiB of addresses */

static char grid[STATIC_BYTES];
static pthread_barrier_t ready;

__attribute__((noinline)) static int descend(int depth)
{
    volatile char frame[FRAME];
    memset((char *)frame, depth, sizeof frame);
    return depth ? descend(depth - 1) + frame[7] : 0;
}

static void *run(void *arg)
{
    volatile int sum = descend(DEPTH - 1);
    (void)sum;
    if (arg) pthread_setname_np(pthread_self(), "ends");
    pthread_barrier_wait(&ready);
    if (arg) pthread_barrier_wait(&ready);
    else pause();
    return arg;
}

static bool sleeps(const char *tid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", tid);
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0) text[0] = 0;
    if (fd >= 0) close(fd);
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'S';
}

/* Waits until all threads but this one sleep: the kernel gives only their stack pointers. */
static void wait_for_sleep(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const long self = syscall(SYS_gettid);
    for (int awake = 1; tasks && awake; sched_yield()) {
        awake = 0;
        rewinddir(tasks);
        for (struct dirent *task; (task = readdir(tasks));)
            awake += atol(task->d_name) && atol(task->d_name) != self && !sleeps(task->d_name);
    }
    if (tasks) closedir(tasks);
}

/* Waits for a byte from the test, which has seen in the log that the memory was sampled. */
static bool await_sample(void)
{
    char byte;
    return read(STDIN_FILENO, &byte, 1) == 1;
}

/* @ends: the threads end before the process. */
static size_t touch_stacks(bool ends)
{
    pthread_t thread[THREADS];
    bool sampled = true;
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, run, ends ? &ready : NULL)) return 0;
    pthread_barrier_wait(&ready);
    wait_for_sleep();
    if (ends) {
        sampled = await_sample();
        pthread_barrier_wait(&ready);
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    }
    return sampled ? (size_t)THREADS * DEPTH * FRAME : 0;
}

static size_t touch_and_drop(void)
{
    char *at = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 0;
    memset(at, 1, FILE_BYTES);
    const bool sampled = await_sample();
    madvise(at, FILE_BYTES, MADV_DONTNEED);
    return sampled ? FILE_BYTES : 0;
}

/* A large block that is hardly touched, and a smaller one that is. The kernel may join them to one
 * mapping. Volatile, because compilers omit what is written to a block that nobody reads. */
static size_t touch_a_part(void)
{
    char *volatile reserved = malloc(8 * FILE_BYTES), *volatile used = malloc(FILE_BYTES);
    if (!reserved || !used) return 0;
    memset(reserved, 1, FILE_BYTES / 4);
    memset(used, 1, FILE_BYTES);
    return reserved[1] + used[1] == 2 ? FILE_BYTES : 0;
}

static size_t touch_static(void)
{
    memset(grid, 1, sizeof grid);
    return sizeof grid;
}

static size_t touch_file(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, FILE_BYTES)) return 0;
    for (int i = 0; i < 2; i++) {
        char *at = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) return 0;
        memset(at, 1, FILE_BYTES);
    }
    return 2 * FILE_BYTES;
}

static size_t touch_sparsely(void)
{
    const size_t step = (size_t)2 << 20;
    char *at = mmap(NULL, TABLES * step, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return 0;
    madvise(at, TABLES * step, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < TABLES; i++) at[i * step] = 1;
    return TABLES * 4096;
}

/* Touches so much more that memprof reads the kinds again at the exit: its previous reading may
 * have been shortly before the end of their growth. */
static void touch_at_end(void)
{
    enum { BYTES = 8 << 20 };
    char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) memset(at, 1, BYTES);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    size_t bytes = 0;
    if (!strcmp(kind, "stacks")) bytes = touch_stacks(false);
    else if (!strcmp(kind, "static")) bytes = touch_static();
    else if (!strcmp(kind, "file") && argc > 2) bytes = touch_file(argv[2]);
    else if (!strcmp(kind, "tables")) bytes = touch_sparsely();
    if (bytes) touch_at_end();
    else if (!strcmp(kind, "ended")) bytes = touch_stacks(true);
    else if (!strcmp(kind, "dropped")) bytes = touch_and_drop();
    else if (!strcmp(kind, "part")) bytes = touch_a_part();
    printf("%zu\n", bytes);
    return 0;
}
