/* `refused WHEN ERRNO [CALL...]`: a program that installs a filter which refuses these system calls
 * with that errno.  WHEN is `after` (it has worked before), `before` (it installs the filter and
 * executes itself) or `only` (as after, but all other calls are refused).  It then works again:
 * takes and frees memory, makes a thread, forks, and says what came of each.  `refused list`: the
 * calls that memprof makes. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not every processor has these, and no processor a call of that number. */
#ifndef SYS_poll
#define SYS_poll 0xffff
#endif
#ifndef SYS_rseq
#define SYS_rseq 334
#endif

/* What memprof calls, itself or by the C library, and what a program that forks calls besides. */
// clang-format off
#define CALLS(X) \
    X(clock_gettime) X(clone) X(clone3) X(close) X(close_range) X(fallocate) X(fcntl) X(fstatfs) X(ftruncate) X(futex) X(getcwd) X(getpid) \
    X(getppid) X(getrandom) X(getrusage) X(gettid) X(madvise) X(memfd_create) X(mkdirat) X(mmap) X(mprotect) X(munmap) X(newfstatat) X(openat) X(poll) X(ppoll) X(prctl) \
    X(prlimit64) X(process_vm_readv) X(read) X(readlinkat) X(rseq) X(rt_sigprocmask) X(sched_getaffinity) X(sched_yield) X(set_robust_list) \
    X(tgkill) X(uname) X(unlinkat) X(write)
// clang-format on
#define OTHERS(X) X(brk) X(exit) X(exit_group) X(wait4)

static const struct {
    const char *name;
    unsigned number;
} call[] = {
#define X(name) { #name, SYS_##name },
    CALLS(X) OTHERS(X)
#undef X
};
#define X(name) +1
enum { COUNT = sizeof call / sizeof *call, OURS = 0 CALLS(X) };
#undef X

static unsigned number_of(const char *name)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (!strcmp(call[i].name, name)) return call[i].number;
    exit(70);
}

static void install(char **name, unsigned then, unsigned otherwise)
{
    struct sock_filter f[2 * COUNT + 2] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) };
    unsigned n = 1;
    for (; *name; name++) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(*name), 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, then);
    }
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    const struct sock_fprog program = { (unsigned short)n, f };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(71);
}

static unsigned take_and_free(unsigned blocks)
{
    unsigned got = 0;
    for (unsigned i = 0; i < blocks; i++) {
        void *volatile p = malloc(i % 3000);
        got += p != NULL;
        free(p);
    }
    return got;
}

/* From that on there is reason for an encoder. */
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

/* The C library ends the process where a thread waits for another one without futexes, or begins
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
