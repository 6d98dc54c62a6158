/* `exec_calls [FOLDER]`: counts the system calls of failing exec calls with ptrace, and prints the
 * name, the errno and the number of calls of each. The file `plain` in FOLDER must not be
 * executable. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);

enum { MARK = 0x4d41524b }; /* getpgid(MARK) starts and ends a measurement */

static char *const argv[] = { (char[]){ "x" }, NULL };
static char plain[4096];
static const char *folder;
static const char *volatile nowhere;

#define CASES(X)                                                                                   \
    X(execve, execve("/nonexistent", argv, environ))                                               \
    X(execv, execv("/nonexistent/x", argv))                                                        \
    X(execvp, execvp("nonexistent-program", argv))                                                 \
    X(execvp_path, execvp("./nonexistent-program", argv))                                          \
    X(execvp_empty, execvp("", argv))                                                              \
    X(execvpe, execvpe("nonexistent-program", argv, environ))                                      \
    X(execl, execl("/nonexistent", "x", NULL))                                                     \
    X(execlp, execlp("nonexistent-program", "x", NULL))                                            \
    X(execle, execle("/nonexistent", "x", NULL, environ))                                          \
    X(fexecve, fexecve(-1, argv, environ))                                                         \
    X(fexecve_plain, fexecve(open(plain, O_RDONLY), argv, environ))                                \
    X(execveat, execveat(AT_FDCWD, "/nonexistent", argv, environ, 0))                              \
    X(execveat_link, execveat(AT_FDCWD, "/proc/self/exe", argv, environ, AT_SYMLINK_NOFOLLOW))     \
    X(plain, execv(plain, argv))                                                                   \
    X(folder, execv(folder, argv))                                                                 \
    X(null, execv(nowhere, argv))

enum {
#define X(name, call) C_##name,
    CASES(X)
#undef X
        COUNT
};
static const char *const name[] = {
#define X(name, call) #name,
    CASES(X)
#undef X
};

static int fail(int which)
{
    switch (which) {
#define X(name, call)                                                                              \
    case C_##name: call; break;
        CASES(X)
#undef X
    }
    return errno;
}

static void mark(int code) { syscall(SYS_getpgid, MARK, code); }

/* Allocates some blocks, so that there is a log, and makes each exec call between two marks. */
static int traced(void)
{
    static void *volatile sink;
    for (int i = 0; i < 1000; i++) free(sink = malloc(100));
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    for (int i = 0; i < COUNT; i++) {
        mark(-1);
        const int error = fail(i);
        mark(error);
    }
    return 0;
}

/* Returns true if the stopped thread is entering a system call. */
static bool enters(pid_t thread, struct __ptrace_syscall_info *info)
{
    return ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof *info, info) > 0 &&
           info->op == PTRACE_SYSCALL_INFO_ENTRY;
}

static void count(void)
{
    int status, calls = 0, which = 0;
    struct __ptrace_syscall_info info;
    for (pid_t thread; (thread = waitpid(-1, &status, __WALL)) > 0;) {
        if (!WIFSTOPPED(status)) continue;
        if (enters(thread, &info)) {
            const bool is_mark = info.entry.nr == SYS_getpgid && info.entry.args[0] == MARK;
            const int code = (int)info.entry.args[1];
            if (is_mark && code >= 0) printf("%s %d %d\n", name[which++], code, calls);
            calls = is_mark ? 0 : calls + 1;
        }
        ptrace(PTRACE_SYSCALL, thread, NULL, NULL);
    }
}

int main(int argc, char **arguments)
{
    if (argc != 2) return 2;
    folder = arguments[1];
    snprintf(plain, sizeof plain, "%s/plain", folder);
    const pid_t child = fork();
    if (!child) _exit(traced());
    int status;
    const long all = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 77;
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)all) != 0) return 77;
    ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    count();
    return 0;
}
