/* `stacks HOW`: allocates blocks whose call stacks have known names. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAME static __attribute__((noinline, noclone))
enum { MIB = 1 << 20 };

static void *volatile keep[1 << 18];
static unsigned kept;

/* The frame must stay, so the compiler must not make a tail call. */
FRAME void *hold(void *p)
{
    keep[kept++] = p;
    __asm__ volatile("" : : : "memory");
    return p;
}

FRAME void *grow_buffer(size_t bytes)
{
    void *p = hold(malloc(bytes));
    __asm__ volatile("" : : "r"(p) : "memory");
    return p;
}

FRAME void *map_file_cache(size_t bytes)
{
    void *p = hold(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    __asm__ volatile("" : : "r"(p) : "memory");
    return p;
}

FRAME void ask_for_too_much(void)
{
    volatile size_t bytes = PTRDIFF_MAX / 2;
    hold(malloc(bytes));
    __asm__ volatile("" : : : "memory");
}

FRAME void on_signal(int number)
{
    (void)number;
    map_file_cache(2 * MIB);
    __asm__ volatile("" : : : "memory");
}

FRAME void *in_worker(void *arg)
{
    (void)arg;
    grow_buffer(3 * MIB);
    __asm__ volatile("" : : : "memory");
    return NULL;
}

FRAME void many_small(void)
{
    for (int i = 0; i < 200000; i++) grow_buffer(1000);
    __asm__ volatile("" : : : "memory");
}

FRAME void hold_name(void)
{
    hold(malloc(64));
    __asm__ volatile("" : : : "memory");
}

FRAME void hold_row(void)
{
    hold(malloc(3000));
    __asm__ volatile("" : : : "memory");
}

FRAME void hold_page(void)
{
    hold(malloc(60000));
    __asm__ volatile("" : : : "memory");
}

/* 200,000 names, 10,000 rows and 500 pages, mixed. */
static void of_three_sites(void)
{
    for (int i = 0; i < 200000; i++) {
        hold_name();
        if (i % 20 == 0) hold_row();
        if (i % 400 == 0) hold_page();
    }
}

static void handle_on_other_stack(void)
{
    static char other[64 << 10];
    const stack_t stack = { .ss_sp = other, .ss_size = sizeof other };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static void in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, in_worker, NULL);
    pthread_join(thread, NULL);
}

static void in_child(void)
{
    grow_buffer(2 * MIB); /* the parent recorded this stack before */
    const pid_t child = fork();
    if (child == 0) {
        grow_buffer(4 * MIB);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "malloc")) grow_buffer(2 * MIB);
    else if (!strcmp(how, "small")) grow_buffer(100);
    else if (!strcmp(how, "mmap")) map_file_cache(2 * MIB);
    else if (!strcmp(how, "fail")) ask_for_too_much();
    else if (!strcmp(how, "signal")) handle_on_other_stack();
    else if (!strcmp(how, "thread")) in_thread();
    else if (!strcmp(how, "fork")) in_child();
    else if (!strcmp(how, "many")) many_small();
    else if (!strcmp(how, "sites")) of_three_sites();
    else return 2;
    return 0;
}
