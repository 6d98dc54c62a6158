/* Every handled signal is blocked and read from a signalfd, so no handler runs and no signal is
 * missed. */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc.h"
#include "target.h"
#include "utf8.h"

static const int forwarded[] = { SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1,
                                 SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT };

static sigset_t handled_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) sigaddset(&set, forwarded[i]);
    return set;
}

static void start(const struct mpl_command *c, const sigset_t *mask, const struct sigaction *chld)
{
    for (const struct mpl_variable *v = c->variables; v->name; v++) {
        if (v->value) setenv(v->name, v->value, 1);
        else unsetenv(v->name);
    }
    sigaction(SIGCHLD, chld, NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(c->path, c->argv);
    const int error = errno,
              status = error == ENOENT ? MPL_STATUS_NOT_FOUND : MPL_STATUS_NOT_EXECUTABLE;
    fputs("memprof: ", stderr);
    mpr_utf8_write_escaped(stderr, c->path);
    fprintf(stderr, ": %s\n", strerror(error));
    _exit(status);
}

/* Returns 0 if the process has ended. */
static pid_t parent_of(pid_t pid)
{
    struct mpl_proc_stat stat;
    return mpl_proc_stat(pid, &stat) ? stat.parent : 0;
}

/* Returns true if only the launcher got the signal. The kernel sends its own signals (^C, a resized
 * window) to all processes of the group, and the command's processes know only the group, not the
 * launcher. A sender with the number 0 is outside of this container. */
static bool for_launcher_alone(const struct signalfd_siginfo *signal, pid_t child)
{
    if (signal->ssi_code > 0) return false;
    for (pid_t p = (pid_t)signal->ssi_pid; p > 0; p = parent_of(p)) {
        if (p == child) return false;
    }
    return true;
}

/* Returns true if the command has ended. */
static bool ended(pid_t child, int *status)
{
    while (waitpid(child, status, WNOHANG | WUNTRACED) == child) {
        if (!WIFSTOPPED(*status)) return true;
        if (WSTOPSIG(*status) == SIGSTOP)
            continue;   /* the sender of that signal will wake the command, not the launcher */
        raise(SIGSTOP); /* until a shell, or the sender of the stop signal, continues it */
        kill(child, SIGCONT);
    }
    return false;
}

static void forward(int signals, pid_t child)
{
    struct signalfd_siginfo signal;
    while (read(signals, &signal, sizeof signal) == (ssize_t)sizeof signal) {
        const int number = (int)signal.ssi_signo;
        if (number != SIGCHLD && for_launcher_alone(&signal, child)) kill(child, number);
    }
}

static int wait_for(pid_t child, int signals, struct mpl_tree *tree)
{
    int status = 0;
    mpl_tree_begin(tree, child);
    while (!ended(child, &status)) {
        mpl_tree_wait(tree, signals);
        forward(signals, child);
    }
    mpl_tree_end(tree, child, status);
    return status;
}

int mpl_child_run(const struct mpl_command *command, struct mpl_tree *tree)
{
    const sigset_t handled = handled_signals();
    const struct sigaction usual = { .sa_handler = SIG_DFL };
    struct sigaction chld;
    sigset_t before;
    sigprocmask(SIG_BLOCK, &handled, &before);
    /* If it were inherited as ignored, the kernel would discard the exit status. */
    sigaction(SIGCHLD, &usual, &chld);
    const int signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    const pid_t child = signals >= 0 ? fork() : -1;
    if (child == 0) start(command, &before, &chld);
    const int status = child > 0 ? wait_for(child, signals, tree) : -1;
    const int error = errno;
    if (signals >= 0) close(signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return status;
}
