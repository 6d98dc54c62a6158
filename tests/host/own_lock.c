/* `own_lock HOOK`: a program that defines its own malloc, with a lock that is not recursive. Its
 * first malloc, before any constructor, calls the function HOOK. The lock is held during this call
 * if the C library's HOOK does not allocate. main calls HOOK again, and then other functions that
 * programs commonly use. A call of malloc while the lock is held ends the process at once. Prints
 * what was done. Without an argument: prints the names of the functions. */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

void cfree(void *p) __attribute__((weak));
void free_sized(void *p, size_t bytes) __attribute__((weak));
void free_aligned_sized(void *p, size_t alignment, size_t bytes) __attribute__((weak));

enum { PAGE = 4096, ARENA = 16 << 20, RECURSION = 99, NOT_DONE = 98 };
static char arena[ARENA] __attribute__((aligned(PAGE)));
static size_t used;
static uint32_t lock;
static void (*hook)(void); /* the function that malloc calls under its lock */
static void *volatile sink;

static void take(void)
{
    static const char words[] = "malloc was called under malloc's lock\n";
    if (!__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) return;
    syscall(SYS_write, 2, words, sizeof words - 1);
    syscall(SYS_exit_group, RECURSION);
}

static void *cut(size_t bytes, size_t alignment)
{
    take();
    if (hook) hook();
    used = (used + alignment - 1) & ~(alignment - 1);
    size_t *p = used + PAGE + bytes < ARENA ? (size_t *)(arena + used + alignment) : NULL;
    if (p) p[-1] = bytes;
    used += alignment + bytes;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    return p;
}

void *malloc(size_t bytes) { return cut(bytes, 16); }

void free(void *p)
{
    if (!p) return;
    take();
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* Each byte of the arena is used only once, so it is zero. */
void *calloc(size_t n, size_t each) { return malloc(n * each); }

void *realloc(void *p, size_t bytes)
{
    void *q = malloc(bytes);
    if (p && q) memcpy(q, p, ((size_t *)p)[-1] < bytes ? ((size_t *)p)[-1] : bytes);
    return q;
}

/* ---- the functions */

static void expect(bool so)
{
    if (!so) syscall(SYS_exit_group, NOT_DONE);
}

static void *map(size_t bytes)
{
    void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(p != MAP_FAILED);
    return p;
}

static void call_mmap(void)
{
    expect(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED);
}
static void call_mmap64(void)
{
    expect(mmap64(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED);
}
static void call_munmap(void) { expect(munmap(map(PAGE), PAGE) == 0); }
static void call_mremap(void)
{
    expect(mremap(map(PAGE), PAGE, 2 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
}
static void call_brk(void) { expect(brk((char *)syscall(SYS_brk, 0) + PAGE) == 0); }
static void call_sbrk(void) { expect(sbrk(PAGE) != (void *)-1); }
static void call_mprotect(void) { expect(mprotect(map(PAGE), PAGE, PROT_READ) == 0); }
/* Chromium's allocator names its mappings in this way, which not every kernel supports */
static void call_prctl(void) { prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, map(PAGE), PAGE, "own"); }
static void call_shmat(void)
{
    const int id = (int)syscall(SYS_shmget, IPC_PRIVATE, PAGE, 0600);
    expect(id >= 0 && shmat(id, NULL, 0) != (void *)-1 &&
           syscall(SYS_shmctl, id, IPC_RMID, NULL) == 0);
}
static void call_shmdt(void)
{
    const int id = (int)syscall(SYS_shmget, IPC_PRIVATE, PAGE, 0600);
    void *p = (void *)syscall(SYS_shmat, id, NULL, 0);
    expect(id >= 0 && shmdt(p) == 0 && syscall(SYS_shmctl, id, IPC_RMID, NULL) == 0);
}
static void call_pthread_setname_np(void)
{
    expect(pthread_setname_np(pthread_self(), "own") == 0);
}
static void call_memalign(void) { expect((sink = memalign(64, 64)) != NULL); }
static void call_aligned_alloc(void) { expect((sink = aligned_alloc(64, 64)) != NULL); }
static void call_posix_memalign(void)
{
    void *p;
    expect(posix_memalign(&p, 64, 64) == 0);
}
static void call_valloc(void) { expect((sink = valloc(64)) != NULL); }
static void call_pvalloc(void) { expect((sink = pvalloc(64)) != NULL); }

static const char *const to_end[] = { "own_lock", "end", NULL };
static char *const *end_argv(void) { return (char *const *)(uintptr_t)to_end; }
#define SELF "/proc/self/exe"
static char *const no_environment[] = { NULL };
static int self(void) { return (int)syscall(SYS_openat, AT_FDCWD, SELF, O_RDONLY | O_CLOEXEC); }
static void call_execve(void) { execve(SELF, end_argv(), no_environment); }
static void call_execv(void) { execv(SELF, end_argv()); }
static void call_execvp(void) { execvp(SELF, end_argv()); }
static void call_execvpe(void) { execvpe(SELF, end_argv(), no_environment); }
static void call_execl(void) { execl(SELF, "own_lock", "end", (char *)NULL); }
static void call_execlp(void) { execlp(SELF, "own_lock", "end", (char *)NULL); }
static void call_execle(void) { execle(SELF, "own_lock", "end", (char *)NULL, no_environment); }
static void call_fexecve(void) { fexecve(self(), end_argv(), no_environment); }
int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);
static void call_execveat(void) { execveat(AT_FDCWD, SELF, end_argv(), no_environment, 0); }
static void call__exit(void) { _exit(0); }
static void call__Exit(void) { _Exit(0); }

/* These functions allocate, the last two only in an initialised process. */
static void call_reallocarray(void) { expect((sink = reallocarray(NULL, 4, 16)) != NULL); }
static void call_cfree(void)
{
    if (cfree) cfree(NULL);
}
static void call_free_sized(void)
{
    if (free_sized) free_sized(malloc(16), 16);
}
static void call_free_aligned_sized(void)
{
    if (free_aligned_sized) free_aligned_sized(malloc(64), 64, 64);
}
static void call_unshare(void) { expect(unshare(0) == 0); }
static void call_mlockall(void) { expect(mlockall(0) == -1 && errno == EINVAL); }
static void call_setns(void) { expect(setns(-1, 0) == -1 && errno == EBADF); }
static void call_dlclose(void) { expect(dlclose(dlopen(NULL, RTLD_NOW)) == 0); }

enum how { UNDER_LOCK, ALONE };
static const struct {
    const char *name;
    void (*call)(void);
    enum how how;
} functions[] = {
#define ROW(name, how)                                                                             \
    {                                                                                              \
#name, call_##name, how                                                                    \
    }
    ROW(mmap, UNDER_LOCK),
    ROW(mmap64, UNDER_LOCK),
    ROW(munmap, UNDER_LOCK),
    ROW(mremap, UNDER_LOCK),
    ROW(mprotect, UNDER_LOCK),
    ROW(prctl, UNDER_LOCK),
    ROW(shmat, UNDER_LOCK),
    ROW(shmdt, UNDER_LOCK),
    ROW(pthread_setname_np, UNDER_LOCK),
    ROW(memalign, UNDER_LOCK),
    ROW(aligned_alloc, UNDER_LOCK),
    ROW(posix_memalign, UNDER_LOCK),
    ROW(valloc, UNDER_LOCK),
    ROW(pvalloc, UNDER_LOCK),
    ROW(execve, UNDER_LOCK),
    ROW(execv, UNDER_LOCK),
    ROW(execvp, UNDER_LOCK),
    ROW(execvpe, UNDER_LOCK),
    ROW(execl, UNDER_LOCK),
    ROW(execlp, UNDER_LOCK),
    ROW(execle, UNDER_LOCK),
    ROW(fexecve, UNDER_LOCK),
    ROW(execveat, UNDER_LOCK),
    ROW(_exit, UNDER_LOCK),
    ROW(_Exit, UNDER_LOCK),
    ROW(brk, UNDER_LOCK),
    ROW(sbrk, UNDER_LOCK),
    ROW(unshare, UNDER_LOCK),
    ROW(setns, UNDER_LOCK),
    ROW(mlockall, UNDER_LOCK),
    ROW(reallocarray, ALONE),
    ROW(cfree, ALONE),
    ROW(free_sized, ALONE),
    ROW(free_aligned_sized, ALONE),
    ROW(dlclose, ALONE),
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void run_row(int which)
{
    if (functions[which].how != UNDER_LOCK) functions[which].call();
    else {
        hook = functions[which].call;
        sink = malloc(100);
        hook = NULL;
    }
}

static int find(const char *name)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (!strcmp(functions[i].name, name)) return i;
    return -1;
}

/* Runs before the constructors of all libraries, when the C library has no environment yet. */
static void run_first(int argc, char **argv, char **envp)
{
    (void)envp;
    const int which = argc == 2 ? find(argv[1]) : -1;
    if (which >= 0) run_row(which);
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
                                                                              char **) = run_first;

static void *thread(void *arg)
{
    sink = malloc(100);
    return arg;
}

static void call_libc(void)
{
    pthread_t t;
    expect(pthread_create(&t, NULL, thread, NULL) == 0 && pthread_join(t, NULL) == 0);
    expect(!dlsym(RTLD_DEFAULT, "no such function") && dlerror());
    for (int i = 0; i < 1000; i++) free(malloc(100));
}

int main(int argc, char **argv)
{
    const int which = argc == 2 ? find(argv[1]) : -1;
    for (int i = 0; argc < 2 && i < FUNCTIONS; i++) puts(functions[i].name);
    if (argc == 2) puts(argv[1]);
    if (which < 0) return 0;
    call_libc();
    run_row(which);
    return 0;
}
