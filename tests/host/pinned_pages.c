/* `pinned_pages THREADS`: each thread, or with 1 the main thread, allocates short-lived blocks and,
 * for every 64 of them, a block of 64 bytes that stays. Then it frees the others. The program
 * prints the allocator's figures of free memory: of glibc before and after malloc_trim, otherwise
 * jemalloc's statistics. It ends without freeing the blocks that stay. */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 200000, EACH = 64, KEPT_BYTES = 64, MOST_THREADS = 8 };

static void *kept[MOST_THREADS][BLOCKS / EACH + 1];
static pthread_barrier_t turn;

/* Of jemalloc, if it serves malloc. */
__attribute__((weak)) int mallctl(const char *name, void *old, size_t *old_bytes, void *new,
                                  size_t new_bytes);

/* jemalloc has separate slabs for each size, so there the blocks have the sizes of the others. */
__attribute__((noinline)) static void keep(int thread, int i, size_t others)
{
    const size_t bytes = mallctl ? others : KEPT_BYTES;
    kept[thread][i / EACH] = memset(malloc(bytes), 1, bytes);
}

__attribute__((noinline)) static void *work(void *arg)
{
    const int thread = (int)(long)arg;
    void **block = mmap(NULL, BLOCKS * sizeof *block, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < BLOCKS; i++) {
        const size_t bytes = 64 + (size_t)i * 7 % 200;
        block[i] = memset(malloc(bytes), 1, bytes);
        if (i % EACH == 0) keep(thread, i, bytes);
    }
    for (int i = 0; i < BLOCKS; i++) free(block[i]);
    munmap(block, BLOCKS * sizeof *block);
    if (mallctl) mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    pthread_barrier_wait(&turn);
    return NULL;
}

/* Private resident bytes. */
static long private_bytes(void)
{
    char text[4096] = "";
    const int fd = open("/proc/self/status", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0) return -1;
    close(fd);
    const char *line = strstr(text, "RssAnon:");
    return line ? atol(line + strlen("RssAnon:")) * 1024 : -1;
}

static size_t statistic(const char *name)
{
    size_t value = 0, bytes = sizeof value;
    return mallctl(name, &value, &bytes, NULL, 0) ? 0 : value;
}

static void print_jemalloc(void)
{
    uint64_t epoch = 1;
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    const size_t active = statistic("stats.active"), allocated = statistic("stats.allocated");
    printf("{\"active\": %zu, \"allocated\": %zu}\n", active, allocated);
}

/* The top of the main heap is not between blocks; malloc_trim gives it back as well. */
static void print_glibc(void)
{
    const struct mallinfo2 before = mallinfo2();
    const long private = private_bytes();
    malloc_trim(0);
    const long returned = private - private_bytes();
    const struct mallinfo2 after = mallinfo2();
    printf("{\"free\": %zu, \"returned\": %ld}\n", before.fordblks - before.keepcost,
           returned - (long)(before.keepcost - after.keepcost));
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t thread[MOST_THREADS];
    pthread_barrier_init(&turn, NULL, (unsigned)threads);
    if (threads == 1) work(NULL);
    for (int i = 0; i < threads && threads > 1; i++)
        pthread_create(&thread[i], NULL, work, (void *)(long)i);
    for (int i = 0; i < threads && threads > 1; i++) pthread_join(thread[i], NULL);
    if (mallctl) print_jemalloc();
    else print_glibc();
    return 0;
}
