/* A seccomp filter that refuses system calls by name: those that memprof makes, itself or through
 * the C library, and those that a forking program makes in addition. */
#ifndef REFUSAL_H
#define REFUSAL_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Not every processor has these calls. No processor has a call with this number. */
#ifndef SYS_poll
#define SYS_poll 0xffff
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_rseq
#define SYS_rseq 334
#endif

/* CALLS are memprof's.
 * clang-format off */
// clang-format off
#define CALLS(X) \
    X(clock_gettime) X(clone) X(clone3) X(close) X(close_range) X(faccessat2) X(fallocate) X(fcntl) X(fstatfs) X(ftruncate) X(futex) X(getcwd) X(getdents64) X(getpid) \
    X(getppid) X(getrandom) X(getresgid) X(getresuid) X(getrusage) X(gettid) X(ioctl) X(madvise) X(memfd_create) X(mincore) X(mkdirat) X(mmap) X(mprotect) X(munmap) X(newfstatat) X(openat) X(poll) X(ppoll) X(prctl) \
    X(prlimit64) X(process_vm_readv) X(read) X(readlinkat) X(rseq) X(rt_sigprocmask) X(sched_getaffinity) X(sched_getscheduler) X(sched_setaffinity) X(sched_setscheduler) X(sched_yield) X(set_robust_list) X(setgroups) X(setresgid) X(setresuid) X(statfs) \
    X(tgkill) X(uname) X(unlinkat) X(unshare) X(write)
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

static inline unsigned number_of(const char *name)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (!strcmp(call[i].name, name)) return call[i].number;
    exit(70);
}

/* Installs a filter: calls in `name`, which ends with NULL, get the action `then`, and all others
 * get `otherwise`. */
static inline void install(char **name, unsigned action, unsigned otherwise)
{
    struct sock_filter f[2 * COUNT + 2] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) };
    unsigned n = 1;
    for (; *name; name++) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(*name), 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    }
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    const struct sock_fprog program = { (unsigned short)n, f };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(71);
}

#endif
