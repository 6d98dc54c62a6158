/* A sandbox whose filter kills the program at any system call that it does not need. The program
 * maps 1 MiB of a memfd, and then 1 MiB of a file in /dev/shm that it opened before. Prints
 * "done". */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MIB = 1 << 20 };
#ifndef SYS_open
#define SYS_open SYS_openat
#endif

#define KILL(number)                                                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                             \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define REFUSE(number)                                                                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                             \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* As in Chromium's renderers, opening files is refused, and calls that inspect the system are
 * fatal. */
static int shut_in(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        KILL(SYS_fstatfs),
        KILL(SYS_statfs),
        KILL(SYS_ptrace),
        KILL(SYS_unshare),
        KILL(SYS_setns),
        KILL(SYS_getcwd),
        REFUSE(SYS_openat),
        REFUSE(SYS_open),
        REFUSE(SYS_readlinkat),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void map(int fd)
{
    void *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED || munmap(p, MIB) != 0) exit(2);
}

int main(void)
{
    char name[64];
    snprintf(name, sizeof name, "/memprof-strict.%d", (int)getpid());
    const int memory = memfd_create("strict", 0), file = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (memory < 0 || file < 0 || shm_unlink(name) || ftruncate(memory, MIB) ||
        ftruncate(file, MIB))
        return 2;
    map(file);
    if (shut_in()) return 2;
    map(memory);
    map(file);
    return write(STDOUT_FILENO, "done\n", 5) != 5;
}
