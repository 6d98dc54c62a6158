/* Calls every hooked function often enough to reach memprof's slow paths. For each function it
 * prints how often errno changed and to which value. The output must be the same with and without
 * memprof. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <unistd.h>

#include "ranges.h"

enum { OFTEN = 4000, UNTOUCHED = 4242 };
extern char **environ;
static void *volatile p;
static long changes;
static int last;

static void check_errno(void)
{
    if (errno == UNTOUCHED) return;
    changes++;
    last = errno;
}

static void print_errno(const char *name)
{
    printf("%-24s %ld %s\n", name, changes, changes ? strerror(last) : "");
    changes = last = 0;
}

#define CALL(statement) (errno = UNTOUCHED, (void)(statement), check_errno())
#define OFTEN_DO(name, statements)                                                                 \
    do {                                                                                           \
        for (int i = 0; i < OFTEN; i++) { statements; }                                            \
        print_errno(name);                                                                         \
    } while (0)

static void heap(void)
{
    OFTEN_DO("malloc", CALL(p = malloc(100)); free(p));
    OFTEN_DO("malloc large", CALL(p = malloc((size_t)2 << 20)); free(p));
    OFTEN_DO("malloc too much", CALL(p = malloc(SIZE_MAX / 2)));
    OFTEN_DO("calloc", CALL(p = calloc(10, 10)); free(p));
    OFTEN_DO("calloc overflow", CALL(p = calloc(SIZE_MAX / 2, 4)));
    OFTEN_DO("free", p = malloc(100); CALL(free(p)));
    OFTEN_DO("free large", p = malloc((size_t)2 << 20); CALL(free(p)));
    OFTEN_DO("free NULL", CALL(free(NULL)));
    OFTEN_DO("realloc", p = malloc(10); CALL(p = realloc(p, 1000)); free(p));
    OFTEN_DO("realloc 0", p = malloc(10); CALL(p = realloc(p, 0)));
    OFTEN_DO("realloc too much", p = malloc(10); CALL(realloc(p, SIZE_MAX / 2)); free(p));
    OFTEN_DO("reallocarray", CALL(p = reallocarray(NULL, 10, 10)); free(p));
    OFTEN_DO("reallocarray overflow", CALL(p = reallocarray(NULL, SIZE_MAX / 2, 4)));
    OFTEN_DO("memalign", CALL(p = memalign(64, 100)); free(p));
    OFTEN_DO("aligned_alloc", CALL(p = aligned_alloc(64, 128)); free(p));
    void *q = NULL;
    OFTEN_DO("posix_memalign", CALL(posix_memalign(&q, 64, 100) == 0); free(q));
    OFTEN_DO("posix_memalign wrong", CALL(posix_memalign(&q, 3, 100) == 0));
    OFTEN_DO("posix_memalign too much", CALL(posix_memalign(&q, 64, SIZE_MAX / 2) == 0));
    OFTEN_DO("valloc", CALL(p = valloc(100)); free(p));
    OFTEN_DO("pvalloc", CALL(p = pvalloc(100)); free(p));
}

/* These functions do not exist in every C library, nor in a C program without memprof. Missing ones
 * are skipped. */
static void by_name(const char *make, const char *drop)
{
    void *(*const m)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, make);
    void (*const d)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, drop);
    for (int i = 0; m && d && i < OFTEN; i++) {
        CALL(p = m(100));
        CALL(d(p, 100));
    }
    printf("%s and ", make);
    print_errno(drop);
}

static void mappings(void)
{
    const int rw = PROT_READ | PROT_WRITE, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    const int zero = open("/dev/zero", O_RDWR), id = shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600);
    OFTEN_DO("mmap", CALL(p = mmap(NULL, 8192, rw, anonymous, -1, 0)); munmap(p, 8192));
    OFTEN_DO("mmap shared", CALL(p = mmap(NULL, 8192, rw, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
             munmap(p, 8192));
    OFTEN_DO("mmap a file", CALL(p = mmap(NULL, 8192, rw, MAP_SHARED, zero, 0)); munmap(p, 8192));
    OFTEN_DO("mmap no file", CALL(mmap(NULL, 8192, rw, MAP_SHARED, -1, 0)));
    OFTEN_DO("munmap", p = mmap(NULL, 8192, rw, anonymous, -1, 0); CALL(munmap(p, 8192)));
    OFTEN_DO("munmap wrong", CALL(munmap((void *)1, 8192)));
    p = mmap(NULL, 8192, rw, anonymous, -1, 0);
    OFTEN_DO("mprotect", CALL(mprotect(p, 4096, i % 2 ? rw : PROT_READ)));
    OFTEN_DO("mprotect wrong", CALL(mprotect((void *)1, 4096, rw)));
    OFTEN_DO("sbrk", CALL(sbrk(i % 2 ? -4096 : 4096)));
    OFTEN_DO("sbrk wrong", CALL(sbrk((intptr_t)1 << 60)));
    OFTEN_DO("brk", CALL(brk((char *)sbrk(0) + (i % 2 ? -4096 : 4096))));
    OFTEN_DO("brk wrong", CALL(brk((void *)((uintptr_t)1 << 60))));
    OFTEN_DO("mremap",
             CALL(p = mremap(p, i % 2 ? 4096 : 8192, i % 2 ? 8192 : 4096, MREMAP_MAYMOVE)));
    OFTEN_DO("mremap wrong", CALL(mremap((void *)1, 8192, 4096, 0)));
    munmap(p, 8192);
    if (id >= 0) {
        OFTEN_DO("shmat", CALL(p = shmat(id, NULL, 0)); shmdt(p));
        OFTEN_DO("shmdt", p = shmat(id, NULL, 0); CALL(shmdt(p)));
        shmctl(id, IPC_RMID, NULL);
    }
    OFTEN_DO("shmat wrong", CALL(shmat(-1, NULL, 0)));
    OFTEN_DO("shmdt wrong", CALL(shmdt((void *)1)));
}

static void processes(void)
{
    char *const argv[] = { "none", NULL };
    OFTEN_DO("pthread_setname_np", CALL(pthread_setname_np(pthread_self(), "name")));
    OFTEN_DO("pthread_setname_np long",
             CALL(pthread_setname_np(pthread_self(), "a name that is too long")));
    OFTEN_DO("prctl", CALL(prctl(PR_SET_NAME, "other")));
    OFTEN_DO("prctl wrong", CALL(prctl(-1, 0, 0, 0, 0)));
    void *library;
    OFTEN_DO("dlclose", library = dlopen("libutil.so.1", RTLD_NOW);
             if (library) CALL(dlclose(library)));
    for (int i = 0; i < 10; i++) CALL(execv("/nonexistent", argv));
    print_errno("execv");
    for (int i = 0; i < 10; i++) CALL(execve("/nonexistent", argv, environ));
    print_errno("execve");
    for (int i = 0; i < 10; i++) CALL(execvp("nonexistent-program", argv));
    print_errno("execvp");
    for (int i = 0; i < 10; i++) CALL(execl("/nonexistent", "none", NULL));
    print_errno("execl");
    for (int i = 0; i < 10; i++) CALL(execlp("nonexistent-program", "none", NULL));
    print_errno("execlp");
    for (int i = 0; i < 10; i++) CALL(execle("/nonexistent", "none", NULL, environ));
    print_errno("execle");
    for (int i = 0; i < 10; i++) CALL(fexecve(-1, argv, environ));
    print_errno("fexecve");
}

int main(void)
{
    ranges_init();
    heap();
    by_name("malloc", "free_sized");
    by_name("_Znwm", "_ZdlPvm");
    by_name("_Znam", "_ZdaPv");
    mappings();
    processes();
    OFTEN_DO("ranges", CALL(range_push("range")); CALL(range_pop()));
    return 0;
}
