/* `hard_stacks HOW`: allocates blocks at places whose stack is hard to unwind.  Built twice,
 * the second time without frame pointers and without call frame information.
 * deep: 100,000 nested calls allocate one block each.
 * narrow: a thread with the minimum stack allocates small and large blocks, calls realloc and
 * maps memory.
 * tight: a coroutine with a stack of 3 KiB allocates.
 * jumps: the program allocates after each of 20,000 longjmps out of 1 to 16 calls.
 * forks: a thread forks 50 children while other threads allocate.  Each child keeps 100 blocks
 * of 1,000 bytes. */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define FRAME        __attribute__((noinline, noclone)) static
#define NOT_THE_LAST __asm__ volatile("" : : : "memory") /* so that no call becomes a jump */
enum { CALLS = 100000, JUMPS = 20000, CHILDREN = 50, BLOCKS = 100, BYTES = 1000, THREADS = 3 };
static void *volatile kept[CALLS];
static jmp_buf back;
static atomic_int stop;

FRAME void keep(int i, size_t bytes)
{
    kept[i] = malloc(bytes);
    NOT_THE_LAST;
}

FRAME void dive(int calls)
{
    keep(calls - 1, 10);
    if (calls > 1) dive(calls - 1);
    NOT_THE_LAST;
}

FRAME void *in_narrow_thread(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        char *volatile p = malloc(1 + (size_t)i);
        p = realloc(p, (size_t)2 << 20);
        free(p);
        munmap(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
    }
    keep(0, 3 << 20);
    return arg;
}

static void narrow(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, 16 << 10) != 0 ||
        pthread_create(&thread, &attr, in_narrow_thread, NULL) != 0)
        exit(77);
    pthread_join(thread, NULL);
}

FRAME void jump_from(int calls)
{
    free(malloc(10));
    if (calls == 0) longjmp(back, 1);
    jump_from(calls - 1);
    NOT_THE_LAST;
}

FRAME void after_jump(int i)
{
    keep(i, 100);
    NOT_THE_LAST;
}

static void jumps(void)
{
    for (volatile int i = 0; i < JUMPS; i++) {
        if (setjmp(back) == 0) jump_from(i % 16);
        after_jump(i);
    }
}

FRAME void *churn(void *arg)
{
    while (!stop) free(malloc(100));
    return arg;
}

FRAME void in_child(void)
{
    for (int i = 0; i < BLOCKS; i++) keep(i, BYTES);
    _exit(0);
}

FRAME void *make_children(void *arg)
{
    for (int i = 0; i < CHILDREN; i++) {
        keep(i, 50);
        const pid_t child = fork();
        if (child == 0) in_child();
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) exit(1);
    }
    return arg;
}

static void forks(void)
{
    pthread_t busy[THREADS], forker;
    for (int i = 0; i < THREADS; i++) pthread_create(&busy[i], NULL, churn, NULL);
    pthread_create(&forker, NULL, make_children, NULL);
    pthread_join(forker, NULL);
    stop = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(busy[i], NULL);
}

static ucontext_t outside, coroutine;
FRAME void in_coroutine(void)
{
    keep(0, 3 << 20);
    keep(1, 10);
    free(kept[0]);
    keep(0, 3 << 20);
}

/* The page below the coroutine's stack cannot be accessed. */
static void tight(void)
{
    enum { PAGE = 4096, STACK = 3072 };
    char *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE) != 0) exit(77);
    if (getcontext(&coroutine) != 0) exit(77);
    coroutine.uc_stack.ss_sp = pages + PAGE;
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &outside;
    makecontext(&coroutine, in_coroutine, 0);
    swapcontext(&outside, &coroutine);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "deep")) dive(CALLS);
    else if (!strcmp(how, "narrow")) narrow();
    else if (!strcmp(how, "tight")) tight();
    else if (!strcmp(how, "jumps")) jumps();
    else if (!strcmp(how, "forks")) forks();
    else return 2;
    return 0;
}
