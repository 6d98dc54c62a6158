/* `endings HOW [BLOCKS]`: keeps BLOCKS (1,000) blocks of 100 bytes in the range "work", then ends
 * as HOW says. child_HOW: a forked child does both. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "ranges.h"

static void *volatile sink;

static void work(long blocks)
{
    range_push("work");
    for (long i = 0; i < blocks; i++) sink = malloc(100);
    range_pop();
}

static void *rest(void *arg)
{
    /* The main thread has ended when this thread allocates. */
    pthread_join(*(pthread_t *)arg, NULL);
    work(500);
    return NULL;
}

/* Starts a thread that keeps running, and leaves output that the C library writes at exit. */
static void leave_behind(void)
{
    static pthread_t main_thread;
    pthread_t other;
    main_thread = pthread_self();
    printf("buffered");
    pthread_create(&other, NULL, rest, &main_thread);
}

static void *idle(void *arg)
{
    for (;;) pause();
    return arg;
}

static void failed_exec(void)
{
    static char long_argument[4 << 20]; /* only the kernel detects that the argument is too long */
    memset(long_argument, 'x', sizeof long_argument - 1);
    if (execl("/proc/self/exe", "endings", long_argument, NULL) != -1 || errno != E2BIG) abort();
    work(200);
}

/* Makes the process so large that its log is kept. */
static void grow(void)
{
    const size_t bytes = (size_t)48 << 20;
    memset(sink = malloc(bytes), 1, bytes);
    free(sink);
}

static void end(const char *how)
{
    if (!strcmp(how, "exit")) exit(0);
    if (!strcmp(how, "_exit")) _exit(0);
    if (!strcmp(how, "_Exit")) _Exit(0);
    if (!strcmp(how, "quick_exit")) quick_exit(0);
    if (!strcmp(how, "exit_group")) syscall(SYS_exit_group, 0);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "segv")) raise(SIGSEGV);
    if (!strcmp(how, "term")) kill(getpid(), SIGTERM);
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "exec")) execl("/proc/self/exe", "endings", "return", "300", NULL);
    if (!strcmp(how, "failed_exec_threads")) {
        pthread_t other;
        pthread_create(&other, NULL, idle, NULL);
        failed_exec();
    }
    if (!strcmp(how, "exec_true")) execl("/bin/true", "true", NULL);
    if (!strcmp(how, "failed_exec")) failed_exec();
    if (!strcmp(how, "failed_exec_grow")) failed_exec(), grow();
    if (!strcmp(how, "failed_exec_kill")) failed_exec(), kill(getpid(), SIGKILL);
    if (!strcmp(how, "raw_exit")) syscall(SYS_exit, 3);
    if (!strcmp(how, "pthread_exit")) {
        leave_behind();
        pthread_exit(NULL);
    }
    if (!strcmp(how, "thrd_exit")) {
        leave_behind();
        thrd_exit(0);
    }
}

int main(int argc, char **argv)
{
    const bool child = !strncmp(argv[1], "child_", 6);
    ranges_init();
    if (child && fork()) return wait(NULL) < 0;
    work(argc > 2 ? atol(argv[2]) : 1000);
    end(argv[1] + (child ? 6 : 0));
    return 0;
}
