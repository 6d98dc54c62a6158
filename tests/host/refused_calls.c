/* `refused_calls WHEN ERRNO [CALL...]`: installs a filter that makes these system calls fail
 * with ERRNO.  WHEN is `after` (the program has allocated before), `before` (the program
 * installs the filter and executes itself) or `only` (as after, but the filter refuses all
 * other calls).  Then the program allocates and frees memory, creates a thread, forks, and
 * prints the result of each.  `refused_calls list` prints the system calls that memprof makes. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "refusal.h"

static unsigned take_and_free(unsigned blocks)
{
    unsigned allocated = 0;
    for (unsigned i = 0; i < blocks; i++) {
        void *volatile p = malloc(i % 3000);
        allocated += p != NULL;
        free(p);
    }
    return allocated;
}

/* Allocates a large block, which makes memprof start an encoder. */
static bool take_a_large_one(void)
{
    void *volatile p = malloc((size_t)2 << 20);
    free(p);
    return p != NULL;
}

static void *in_thread(void *arg)
{
    *(unsigned *)arg = take_and_free(2000);
    return NULL;
}

static int work(bool threads)
{
    char text[256];
    pthread_t thread;
    unsigned in_all = take_and_free(20000), in_other = 0;
    const bool large = take_a_large_one();
    in_all += take_and_free(5000);
    const int error = threads ? pthread_create(&thread, NULL, in_thread, &in_other) : -1;
    if (!error) pthread_join(thread, NULL);
    const pid_t child = fork();
    if (child == 0) _exit(take_and_free(3000) == 3000 ? 3 : 4);
    int status = -1;
    const bool waited = child > 0 && waitpid(child, &status, 0) == child;
    const int n =
        snprintf(text, sizeof text, "%u blocks, large %d, thread %d: %u, fork %d, %d: %d\n", in_all,
                 large, error, in_other, child > 0, waited, status);
    return write(STDOUT_FILENO, text, (size_t)n) == n ? 5 : 6;
}

/* The C library ends the process if a thread waits for another one without futexes, or starts
 * without rseq. */
static bool may_thread(char **name)
{
    for (; *name; name++)
        if (!strcmp(*name, "futex") || !strcmp(*name, "rseq")) return false;
    return true;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "list"))
        for (unsigned i = 0; i < OURS; i++) printf("%s\n", call[i].name);
    if (argc < 3) return 0;
    const bool before = !strcmp(argv[1], "before"), only = !strcmp(argv[1], "only");
    const unsigned refuse = SECCOMP_RET_ERRNO | (unsigned)atoi(argv[2]);
    if (!strcmp(argv[1], "now")) return work(may_thread(argv + 3));
    if (!before) take_and_free(only ? 100 : 5000);
    install(argv + 3, only ? SECCOMP_RET_ALLOW : refuse, only ? refuse : SECCOMP_RET_ALLOW);
    if (!before) return work(!only && may_thread(argv + 3));
    argv[1] = "now";
    execv("/proc/self/exe", argv);
    return 72;
}
