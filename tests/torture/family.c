#include "family.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

enum { STEPS = 300, INHERITED = 10, THREADS = 3 };
extern char **environ;
char *family_file;

/* The executed program continues from this seed. */
static _Noreturn void exec_again(struct owner *o)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)roll(&o->dice));
    execl("/proc/self/exe", "mixed", family_file, seed, "child", NULL);
    _exit(1);
}

static pid_t spawned(struct owner *parent)
{
    char name[] = "mixed", seed[24], role[] = "child";
    pid_t pid;
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)roll(&parent->dice));
    char *const argv[] = { name, family_file, seed, role, NULL };
    return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0 ? pid : -1;
}

static void *in_thread(void *arg)
{
    steps(arg, STEPS);
    return NULL;
}

static void threads(struct owner *first)
{
    static struct owner owner[THREADS];
    pthread_t thread[THREADS];
    bool made[THREADS] = { false };
    for (int i = 0; i < THREADS; i++)
        made[i] = owner_begin(&owner[i], roll(&first->dice)) &&
                  pthread_create(&thread[i], NULL, in_thread, &owner[i]) == 0;
    for (int i = 0; i < THREADS; i++)
        if (made[i]) pthread_join(thread[i], NULL);
}

/* If there is no clock namespace, the offsets are refused, and the grandchild has its parent's
 * time. */
static void other_time(struct owner *o)
{
    char text[64];
    const long long seconds = (long long)(roll(&o->dice) % 2000000) - 1000;
    const int n =
        snprintf(text, sizeof text, "monotonic %lld 0\nboottime %lld 0\n", seconds, seconds);
    if (unshare(CLONE_NEWTIME) != 0) return;
    const int fd = open("/proc/self/timens_offsets", O_WRONLY);
    if (fd < 0) return;
    if (write(fd, text, (size_t)n) != n) perror("timens_offsets");
    close(fd);
}

static _Noreturn void child(enum family how, struct owner *parent)
{
    static struct owner generation[2];
    static int number;
    struct owner *own = &generation[number++];
    if (!owner_begin(own, roll(&parent->dice))) _exit(0);
    steps_library = NULL;
    steps(own, STEPS);
    steps_free_inherited(own, parent, INHERITED);
    if (how == FAMILY_TIME) other_time(own);
    if (how == FAMILY_NESTED || how == FAMILY_TIME) family_wait(family_make(FAMILY_FORK, own));
    if (how == FAMILY_THREADS) threads(own);
    steps(own, STEPS);
    if (steps_corrupt) _exit(9);
    truth->lane[own->lane].orderly = how != FAMILY_ABORT;
    if (how == FAMILY_EXEC) exec_again(own);
    if (how == FAMILY_EXIT) exit(0);
    if (how == FAMILY_ABORT) abort();
    _exit(0);
}

static pid_t make_copy(enum family how)
{
    const long flags = SIGCHLD | (how == FAMILY_PIDS ? CLONE_NEWPID : 0);
    if (how == FAMILY__FORK) return _Fork();
    if (how == FAMILY_CLONE || how == FAMILY_PIDS)
        return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    return fork();
}

pid_t family_make(enum family how, struct owner *parent)
{
    if (how == FAMILY_SPAWN) return spawned(parent);
    if (how == FAMILY_VFORK) {
        const pid_t pid = vfork();
        if (pid == 0) {
            steps(parent, 4); /* in the parent's memory, so these are the parent's events */
            exec_again(parent);
        }
        return pid;
    }
    const pid_t pid = make_copy(how);
    if (pid == 0) child(how, parent);
    return pid;
}

void family_wait(pid_t pid)
{
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}

int family_program(uint64_t seed)
{
    static struct owner own;
    if (!owner_begin(&own, seed)) return 0;
    steps(&own, STEPS);
    if (steps_corrupt) return 9;
    truth->lane[own.lane].orderly = true;
    return 0;
}
