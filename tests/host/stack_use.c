/* `stack_use NAME`: prints the largest number of bytes of stack that calls of the function NAME
 * use. Each call runs on a stack filled with a pattern: the first call in a thread that has not
 * recorded anything, and enough more calls to fill several chunks and start the encoder. Without an
 * argument: prints the names of the functions. */
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

void cfree(void *p) __attribute__((weak));
void free_sized(void *p, size_t bytes) __attribute__((weak));
void free_aligned_sized(void *p, size_t alignment, size_t bytes) __attribute__((weak));
int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);

enum { STACK = 256 << 10, PAINT = 0x5a, CALLS = 4000, PAGE = 4096 };

static void *volatile sink;
static void *block; /* for the calls that free it */
static int id;      /* of a shared memory segment */

/* ---- before each call, on the thread's own stack */

static void nothing(void) {}
static void get_block(void) { block = malloc(100); }
static void get_aligned(void) { block = aligned_alloc(64, 64); }
static void get_pages(void)
{
    block = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void get_shared(void)
{
    if (!id) id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
    block = shmat(id, NULL, 0);
}
static void get_library(void) { block = dlopen(NULL, RTLD_NOW); }

/* ---- the calls */

static void call_malloc(void) { sink = malloc(100); }
static void call_malloc_large(void) { sink = malloc((size_t)2 << 20); }
static void call_calloc(void) { sink = calloc(1, 100); }
static void call_realloc(void) { sink = realloc(block, 3000); }
static void call_reallocarray(void) { sink = reallocarray(block, 30, 100); }
static void call_free(void) { free(block); }
static void call_cfree(void)
{
    if (cfree) cfree(block);
}
static void call_free_sized(void)
{
    if (free_sized) free_sized(block, 100);
}
static void call_free_aligned_sized(void)
{
    if (free_aligned_sized) free_aligned_sized(block, 64, 64);
}
static void call_memalign(void) { sink = memalign(64, 64); }
static void call_aligned_alloc(void) { sink = aligned_alloc(64, 64); }
static void call_posix_memalign(void)
{
    void *p;
    if (posix_memalign(&p, 64, 64) == 0) sink = p;
}
static void call_valloc(void) { sink = valloc(64); }
static void call_pvalloc(void) { sink = pvalloc(64); }
static void call_mmap(void)
{
    sink = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void call_mmap64(void)
{
    sink = mmap64(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void call_munmap(void) { munmap(block, PAGE); }
static void call_mremap(void) { sink = mremap(block, PAGE, 2 * PAGE, MREMAP_MAYMOVE); }
static void call_mprotect(void) { mprotect(block, PAGE, PROT_READ); }
static void call_brk(void) { (void)!brk(sbrk(0)); }
static void call_sbrk(void) { sink = sbrk(0); }
static void call_shmat(void) { sink = shmat(id, NULL, 0); }
static void call_shmdt(void) { shmdt(block); }
static void call_prctl(void) { prctl(PR_SET_NAME, "stack"); }
static void call_pthread_setname_np(void) { pthread_setname_np(pthread_self(), "stack"); }
static void call_dlclose(void) { dlclose(block); }
static void call_unshare(void) { (void)!unshare(0); }
static void call_setns(void) { (void)!setns(-1, 0); }
static void call_mlockall(void) { (void)!mlockall(0); }

/* Programs that exist and that do not. */
#define THERE   "/bin/true"
#define NOWHERE "/nowhere/at/all"
static char *const argv_[] = { (char *)"true", NULL }, *const envp_[] = { NULL };
static const char *program = NOWHERE;
static void call_execve(void) { execve(program, argv_, envp_); }
static void call_execv(void) { execv(program, argv_); }
static void call_execvp(void) { execvp(program, argv_); }
static void call_execvpe(void) { execvpe(program, argv_, envp_); }
static void call_execl(void) { execl(program, "true", (char *)NULL); }
static void call_execlp(void) { execlp(program, "true", (char *)NULL); }
static void call_execle(void) { execle(program, "true", (char *)NULL, envp_); }
static void call_fexecve(void) { fexecve(id, argv_, envp_); }
static void call_execveat(void) { execveat(AT_FDCWD, program, argv_, envp_, 0); }
static void call__exit(void) { _exit(0); }
static void call__Exit(void) { _Exit(0); }

enum how { OFTEN, ENDS }; /* ENDS: the call is the last one of a forked child */
static const struct {
    const char *name;
    void (*before)(void), (*call)(void);
    enum how how;
} functions[] = {
#define ROW(name, before)                                                                          \
    {                                                                                              \
#name, before, call_##name, OFTEN                                                          \
    }
#define END(name)                                                                                  \
    {                                                                                              \
#name, nothing, call_##name, ENDS                                                          \
    }
    ROW(malloc, nothing),
    ROW(malloc_large, nothing),
    ROW(calloc, nothing),
    ROW(realloc, get_block),
    ROW(reallocarray, get_block),
    ROW(free, get_block),
    ROW(cfree, get_block),
    ROW(free_sized, get_block),
    ROW(free_aligned_sized, get_aligned),
    ROW(memalign, nothing),
    ROW(aligned_alloc, nothing),
    ROW(posix_memalign, nothing),
    ROW(valloc, nothing),
    ROW(pvalloc, nothing),
    ROW(mmap, nothing),
    ROW(mmap64, nothing),
    ROW(munmap, get_pages),
    ROW(mremap, get_pages),
    ROW(mprotect, get_pages),
    ROW(brk, nothing),
    ROW(sbrk, nothing),
    ROW(shmat, get_shared),
    ROW(shmdt, get_shared),
    ROW(prctl, nothing),
    ROW(pthread_setname_np, nothing),
    ROW(dlclose, get_library),
    ROW(unshare, nothing),
    ROW(setns, nothing),
    ROW(mlockall, nothing),
    END(execve),
    END(execv),
    END(execvp),
    END(execvpe),
    END(execl),
    END(execlp),
    END(execle),
    END(fexecve),
    END(execveat),
    END(_exit),
    END(_Exit),
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- measuring */

static uint8_t *stack; /* shared with children */
static ucontext_t here, there;
static void (*called)(void);

static void body(void) { called(); }

static void call_on_stack(void (*call)(void))
{
    called = call;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK;
    there.uc_link = &here;
    makecontext(&there, body, 0);
    swapcontext(&here, &there);
}

static size_t touched(void)
{
    size_t untouched = 0;
    while (untouched < STACK && stack[untouched] == PAINT) untouched++;
    return STACK - untouched;
}

static void *call_often(void *arg)
{
    const int which = *(int *)arg;
    for (int i = 0; i < CALLS; i++) {
        functions[which].before();
        call_on_stack(functions[which].call);
    }
    return arg;
}

/* Makes the call in a child, with a program that does not exist, and with one that exists. */
static void call_at_the_end(int which)
{
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        program = i ? THERE : NOWHERE;
        id = open(THERE, O_RDONLY | O_CLOEXEC);
        sink = malloc(100);
        if (child == 0) {
            call_on_stack(functions[which].call);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int which = 0;
    for (int i = 0; argc < 2 && i < FUNCTIONS; i++) puts(functions[i].name);
    if (argc < 2) return 0;
    while (which < FUNCTIONS && strcmp(functions[which].name, argv[1]) != 0) which++;
    if (which == FUNCTIONS) errx(2, "no function %s", argv[1]);
    stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(stack, PAINT, STACK);
    if (functions[which].how == ENDS) call_at_the_end(which);
    else if (pthread_create(&thread, NULL, call_often, &which) != 0 ||
             pthread_join(thread, NULL) != 0)
        return 3;
    printf("%zu\n", touched());
    if (id > 2 && functions[which].before == get_shared) shmctl(id, IPC_RMID, NULL);
    return 0;
}
