/* `short_lived_threads memory|tgkill THREADS BLOCKS`: creates THREADS threads one after the
 * other.  Each allocates and frees BLOCKS blocks.  memory: the program first forbids itself
 * further memory (RLIMIT_AS).  tgkill: the program first installs a filter that refuses
 * tgkill, so that memprof cannot find out which threads have ended.  Meanwhile another thread
 * writes to an increasing number of pages. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "refusal.h"
#include "room.h"

enum { PAGES = 1 << 16 };

static bool over;

static void *write_pages(void *arg)
{
    char *page = arg;
    const long bytes = sysconf(_SC_PAGESIZE);
    for (long i = 0; i < PAGES && !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
        page[i * bytes] = 1;
        usleep(1000);
    }
    return NULL;
}

static void *take_and_free(void *blocks)
{
    for (unsigned i = 0; i < *(unsigned *)blocks; i++) {
        void *volatile p = malloc(64);
        free(p);
    }
    return NULL;
}

/* The stack of a thread that ended is reused for later threads. */
static bool one_thread(unsigned blocks)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, take_and_free, &blocks) == 0 &&
           pthread_join(thread, NULL) == 0;
}

static bool forbid_memory(void)
{
    return setrlimit(RLIMIT_AS, &(struct rlimit){ 1 << 20, 1 << 20 }) == 0;
}

int main(int argc, char **argv)
{
    pthread_t writer;
    if (argc != 4) return 2;
    const bool memory = strcmp(argv[1], "memory") == 0;
    if (!memory)
        install((char *[]){ "tgkill", NULL }, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
    keep_room();
    char *const pages = mmap(NULL, (size_t)PAGES * (size_t)sysconf(_SC_PAGESIZE),
                             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || pthread_create(&writer, NULL, write_pages, pages) != 0) return 1;
    if (!one_thread(0) || (memory && !forbid_memory())) return 1;
    unsigned threads = 0;
    while (threads < (unsigned)atoi(argv[2]) && one_thread((unsigned)atoi(argv[3]))) threads++;
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    pthread_join(writer, NULL);
    printf("%u\n", threads);
    return 0;
}
