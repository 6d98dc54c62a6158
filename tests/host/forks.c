/* `forks HOW CHILDREN`: a process whose 4 threads allocate all the time creates children, one after
 * the other, and waits for each. Every child keeps 100 blocks of 1,000 bytes and frees 10 that it
 * inherited. HOW is one of:
 *
 * fork, _fork, clone: the child ends with _exit.
 * exit: fork, and the child ends with exit.
 * abort: fork, and a signal ends the child.
 * exec: fork, then exec of `forks child`.
 * nested: fork, and again in the child.
 * vfork, spawn: exec of `forks child` without a copy of the memory.
 * unrecorded: fork; the child may not open files, so it has no log.
 * daemon: daemon(), so that the rest of the program runs in a child.
 *
 * `forks child` is a program that keeps 100 blocks of 1,000 bytes. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranges.h"

enum { THREADS = 4, BLOCKS = 100, BYTES = 1000, INHERITED = 10 };
extern char **environ;
static _Atomic int stop;
static void *volatile kept[BLOCKS];
static void *inherited[INHERITED];

static void *churn(void *arg)
{
    (void)arg;
    while (!stop) {
        void *p = malloc(100), *q = malloc(200);
        p = realloc(p, 300);
        free(q);
        free(p);
    }
    return NULL;
}

static void keep(void)
{
    range_push("child");
    for (int i = 0; i < BLOCKS; i++) kept[i] = malloc(BYTES);
    range_pop();
}

static _Noreturn void child(const char *how)
{
    if (!strcmp(how, "unrecorded")) setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, 0 });
    keep();
    for (int i = 0; i < INHERITED; i++) free(inherited[i]);
    if (!strcmp(how, "exit")) exit(0);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "exec")) execl("/proc/self/exe", "forks", "child", NULL);
    if (!strcmp(how, "nested")) {
        const pid_t pid = fork();
        if (pid == 0) keep();
        else waitpid(pid, NULL, 0);
    }
    _exit(0);
}

static pid_t make(const char *how)
{
    static char *const argv[] = { "forks", "child", NULL };
    pid_t pid;
    if (!strcmp(how, "spawn"))
        return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0 ? pid : -1;
    if (!strcmp(how, "vfork")) {
        pid = vfork();
        if (pid == 0) {
            /* The parent records this event, because the memory is the parent's. */
            free(malloc(64));
            execv("/proc/self/exe", argv);
            _exit(1);
        }
        return pid;
    }
    if (!strcmp(how, "_fork")) pid = _Fork();
    else if (!strcmp(how, "clone"))
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    else pid = fork();
    if (pid == 0) child(how);
    return pid;
}

static int all(const char *how, int children)
{
    pthread_t thread[THREADS];
    /* After _Fork and clone a child may use malloc only if no other thread was in malloc: POSIX
     * guarantees no more. */
    const int threads = strcmp(how, "_fork") && strcmp(how, "clone") ? THREADS : 0;
    for (int i = 0; i < threads; i++) pthread_create(&thread[i], NULL, churn, NULL);
    for (int i = 0; i < children; i++) {
        for (int k = 0; k < INHERITED; k++) inherited[k] = malloc(77);
        int status;
        const pid_t pid = make(how);
        if (pid < 0 || waitpid(pid, &status, 0) != pid) return 1;
        if (strcmp(how, "abort") ? status != 0 : !WIFSIGNALED(status)) return 1;
        for (int k = 0; k < INHERITED; k++) free(inherited[k]);
    }
    stop = 1;
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    ranges_init();
    if (argc > 1 && !strcmp(argv[1], "child")) {
        keep();
        return 0;
    }
    if (argc != 3) return 2;
    if (strcmp(argv[1], "daemon")) return all(argv[1], atoi(argv[2]));
    for (int k = 0; k < INHERITED; k++) inherited[k] = malloc(77);
    if (daemon(1, 1) != 0) return 1;
    child("exit");
    return 1;
}
