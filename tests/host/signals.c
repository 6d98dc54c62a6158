/* `signals storm BLOCKS`: allocates and frees BLOCKS blocks, while the handler of a timer maps and
 * unmaps two pages and opens a range, as often as possible. Prints how often the handler ran.
 * `signals aim`: starts the encoder, sends itself 1,000 signals, and prints how many the program's
 * threads got.
 * `signals eintr`: starts the encoder, then reads from a pipe that another thread fills late.
 * Prints the result of read.
 * `signals setxid [first-thread]`: starts the encoder, with first-thread after another thread, then
 * changes the user ID of all threads. The C library does that by a signal to each of them. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ranges.h"

#define MIB ((size_t)1 << 20)
static _Atomic long handled, to_us;
static pid_t me;

static void storm_handler(int number)
{
    (void)number;
    const int saved = errno;
    range_push("handler");
    void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p, 8192);
    range_pop();
    handled++;
    errno = saved;
}

static void set_handler(int number, void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    sigaction(number, &action, NULL);
}

static void storm(long blocks)
{
    timer_t timer;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
    const struct itimerspec often = { { 0, 20000 }, { 0, 20000 } }, never = { 0 };
    set_handler(SIGPROF, storm_handler);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) exit(77);
    timer_settime(timer, 0, &often, NULL);
    range_push("blocks");
    for (long i = 0; i < blocks; i++) {
        errno = 4242;
        free(malloc(16 + (size_t)i % 500));
        if (errno != 4242) abort();
    }
    range_pop();
    timer_settime(timer, 0, &never, NULL);
    signal(SIGPROF, SIG_IGN);
    printf("%ld\n", handled);
}

static void aim_handler(int number)
{
    (void)number;
    handled++;
    to_us += gettid() == me;
}

static void aim(void)
{
    me = gettid();
    set_handler(SIGUSR1, aim_handler);
    for (int i = 0; i < 1000; i++) {
        kill(getpid(), SIGUSR1);
        free(malloc(MIB));
    }
    printf("%ld of %ld\n", to_us, handled);
}

static void *fill(void *arg)
{
    for (int i = 0; i < 20000; i++) free(malloc(1000));
    return write(*(int *)arg, "x", 1) == 1 ? NULL : arg;
}

static void eintr(void)
{
    int pipes[2];
    char byte;
    pthread_t thread;
    if (pipe(pipes) != 0) exit(77);
    pthread_create(&thread, NULL, fill, &pipes[1]);
    printf("%ld\n", (long)read(pipes[0], &byte, 1));
    pthread_join(thread, NULL);
}

static void *nothing(void *arg) { return arg; }

static void first_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    ranges_init();
    if (!strcmp(argv[1], "setxid") && argc > 2) first_thread();
    if (!strcmp(argv[1], "storm"))
        storm(argc > 2 ? atol(argv[2]) : 1000); /* memprof's encoder starts during this call */
    free(malloc(4 * MIB));                      /* it starts at the first large block */
    if (!strcmp(argv[1], "aim")) aim();
    if (!strcmp(argv[1], "eintr")) eintr();
    if (!strcmp(argv[1], "setxid")) printf("%d\n", setuid(getuid()));
    return 0;
}
