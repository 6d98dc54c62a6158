/* `reload HOW ONE OTHER`: uses the library ONE, closes it, and uses OTHER, which gets the same
 * addresses. Prints the distance between the two.
 *
 * turns: three times in turn; each library keeps a block of 1,000 bytes.
 * child: the same, with OTHER in a forked child that has no block of ONE.
 * threads: a thousand times in turn, while two threads allocate.
 * handler: in a signal handler that interrupts mappings, 300 times. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FRAME __attribute__((noinline, noclone)) static
enum { TURNS = 1000, HANDLED = 300 };
static const char *file[2];
static uintptr_t place[2];
static atomic_int stop, handled;

static void *open_library(int which)
{
    void *library = dlopen(file[which], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    place[which] = (uintptr_t)dlsym(library, "go");
    return library;
}

FRAME void use(int which, void *library, size_t bytes)
{
    ((void (*)(size_t))place[which])(bytes);
    if (bytes != 1000) ((void (*)(void))dlsym(library, "drop"))();
    __asm__ volatile("" : : : "memory");
}

static void turn(int which, size_t bytes)
{
    void *library = open_library(which);
    use(which, library, bytes);
    dlclose(library);
}

static int in_child(void)
{
    void *library = open_library(0);
    use(0, library, 1000);
    const pid_t child = fork();
    if (child == 0) {
        dlclose(library);
        turn(1, 1000);
        return 0;
    }
    waitpid(child, NULL, 0);
    exit(0);
}

FRAME void *allocate(void *arg)
{
    while (!stop) {
        void *volatile p = malloc(100);
        free(p);
    }
    return arg;
}

static void among_threads(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, allocate, NULL);
    for (int i = 0; i < TURNS; i++) turn(i & 1, 500);
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
}

/* The interrupted code holds no lock of the C library. */
static void on_timer(int number)
{
    (void)number;
    turn(handled++ & 1, 500);
}

static void in_handler(void)
{
    timer_t timer;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
    const struct itimerspec often = { { 0, 500000 }, { 0, 500000 } }, never = { 0 };
    turn(0, 500);
    signal(SIGPROF, on_timer);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) exit(77);
    timer_settime(timer, 0, &often, NULL);
    while (handled < HANDLED)
        munmap(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
    timer_settime(timer, 0, &never, NULL);
    signal(SIGPROF, SIG_IGN);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    file[0] = argv[2];
    file[1] = argv[3];
    if (!strcmp(argv[1], "child")) in_child();
    if (!strcmp(argv[1], "threads")) among_threads();
    if (!strcmp(argv[1], "handler")) in_handler();
    if (!strcmp(argv[1], "turns"))
        for (int i = 0; i < 6; i++) turn(i & 1, 1000);
    dprintf(1, "%ld\n", (long)(place[1] - place[0]));
    return 0;
}
