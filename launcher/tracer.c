/* Each thread is stopped only until it was examined: 0.1 ms or so. A thread that is at no safe
 * place is let go, and stopped again later.
 *
 * Invariants:
 *  - A thread that stops is examined, and continued or left (PTRACE_DETACH), at once.
 *  - A signal that stops a traced thread on its way is passed on.
 *  - Threads of a process that is stopped by a signal stay stopped (PTRACE_LISTEN).
 *  - This program waits only with a time limit. When it ends, the kernel lets go of all threads. */
#include "tracer.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "restart.h"
#include "signal_frame.h"

enum { THREADS_MAX = 1 << 16, AGAIN_NS = 2000000, LEAVE_NS = 1000000000, LOOK_NS = 200000 };

struct thread {
    pid_t tid;
    bool left;     /* ended, or not traced any more */
    bool listens;  /* stopped by a signal of the process */
    bool expected; /* it was asked to stop, and has not stopped yet */
};

struct tracer {
    const struct mpl_safety *safety;
    const struct mpl_call *call;
    struct thread *thread;
    size_t count;
    bool started, stopped, gone;
    int refused;    /* errno, or 0 */
    uint64_t asked; /* when the threads were asked to stop */
};

static uint64_t longest;

uint64_t mpl_traced_longest(void) { return longest; }

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the threads */

static struct thread *find(struct tracer *t, pid_t tid)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->thread[i].tid == tid) return &t->thread[i];
    return NULL;
}

static bool add(struct tracer *t, pid_t tid)
{
    struct thread *more = realloc(t->thread, (t->count + 1) * sizeof *more);
    if (!more || t->count == THREADS_MAX) return false;
    t->thread = more;
    more[t->count++] = (struct thread){ .tid = tid };
    return true;
}

/* Seizes the threads that are not traced yet. Returns their number, or -1 if the kernel refuses it.
 * A thread may end meanwhile. */
static int seize_new(struct tracer *t)
{
    char path[64];
    const struct dirent *entry;
    int count = 0;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)t->safety->process->pid);
    DIR *d = opendir(path);
    while (d && (entry = readdir(d))) {
        const pid_t tid = (pid_t)atol(entry->d_name);
        if (tid <= 0 || find(t, tid)) continue;
        if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACEEXEC) == 0) count += add(t, tid);
        else if (errno != ESRCH) {
            t->refused = errno;
            count = -1;
            break;
        }
    }
    if (d) closedir(d);
    else t->gone = true;
    return count;
}

/* A thread that creates others meanwhile has them seized, too. */
static bool seize_all(struct tracer *t)
{
    int count;
    do count = seize_new(t);
    while (count > 0);
    return count == 0 && !t->gone;
}

static void ask_to_stop(struct tracer *t)
{
    t->asked = now_ns();
    for (size_t i = 0; i < t->count; i++) {
        struct thread *thread = &t->thread[i];
        if (thread->left || thread->listens || thread->expected) continue;
        if (ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) == 0) thread->expected = true;
        else thread->left = true;
    }
}

static void let_go(struct thread *thread, bool for_ever, int signal)
{
    ptrace(for_ever ? PTRACE_DETACH : PTRACE_CONT, thread->tid, NULL, (void *)(long)signal);
    if (for_ever) thread->left = true;
}

/* ---- stops */

/* Makes the thread the one that makes the call, if it is at a safe place. */
static bool starts_call(struct tracer *t, struct thread *thread,
                        const struct user_regs_struct *regs)
{
    if (t->started || t->stopped || t->gone || !mpl_is_safe(t->safety, regs)) return false;
    t->started = mpl_signal_frame(t->safety, thread->tid, regs, t->call);
    return t->started;
}

/* The thread stopped because it was asked to. @leaving: it is not asked again. */
static void take_stop(struct tracer *t, struct thread *thread, bool leaving)
{
    struct user_regs_struct regs;
    const uint64_t from = now_ns();
    thread->expected = false;
    if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &regs) == 0) {
        if (mpl_repeat_call(&regs)) ptrace(PTRACE_SETREGS, thread->tid, NULL, &regs);
        if (starts_call(t, thread, &regs)) leaving = true;
    }
    let_go(thread, leaving || t->started, 0);
    const uint64_t took = now_ns() - from;
    if (took > longest) longest = took;
}

static bool stops_process(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* Handles one wait status of a thread. */
static void take_status(struct tracer *t, pid_t tid, int status, bool leaving)
{
    struct thread *thread = find(t, tid);
    const int signal = WSTOPSIG(status), event = status >> 16;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        if (thread) thread->left = true;
        if (tid == t->safety->process->pid) t->gone = true;
    } else if (!thread) {
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
    } else if (event == PTRACE_EVENT_EXEC) {
        t->gone = true; /* another program has its memory now */
        let_go(thread, true, 0);
    } else if (event == PTRACE_EVENT_STOP && stops_process(signal)) {
        t->stopped = thread->listens = true;
        thread->expected = false;
        if (leaving) let_go(thread, true, 0);
        else ptrace(PTRACE_LISTEN, tid, NULL, NULL);
    } else if (event == PTRACE_EVENT_STOP) take_stop(t, thread, leaving);
    else let_go(thread, false, event ? 0 : signal);
}

/* Handles all stops so far, and waits a short time for more if there was none. */
static void take_stops(struct tracer *t, bool leaving)
{
    const struct timespec look = { 0, LOOK_NS };
    sigset_t child;
    int status;
    bool any = false;
    for (pid_t tid; (tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0; any = true)
        take_status(t, tid, status, leaving);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    if (!any) sigtimedwait(&child, NULL, &look);
}

static size_t traced(const struct tracer *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->count; i++) n += !t->thread[i].left;
    return n;
}

/* Only a stopped thread can be left. One that waits in the kernel without being interruptible, for
 * a disk or for its vfork child, is left when this program ends. */
static void leave(struct tracer *t)
{
    const uint64_t from = now_ns();
    for (size_t i = 0; i < t->count; i++)
        if (t->thread[i].listens && !t->thread[i].left)
            t->thread[i].listens = t->thread[i].expected = false;
    ask_to_stop(t);
    while (traced(t) && now_ns() - from < LEAVE_NS) take_stops(t, true);
}

static void try_until(struct tracer *t, uint64_t limit_ns)
{
    const uint64_t from = now_ns();
    ask_to_stop(t);
    while (!t->started && !t->stopped && !t->gone && now_ns() - from < limit_ns) {
        take_stops(t, false);
        if (now_ns() - t->asked > AGAIN_NS) ask_to_stop(t);
    }
}

enum mpl_traced mpl_trace_call(const struct mpl_safety *s, const struct mpl_call *call,
                               uint64_t limit_ns)
{
    struct tracer t = { .safety = s, .call = call };
    sigset_t child, before;
    const int priority = getpriority(PRIO_PROCESS, 0), highest = -20;
    setpriority(PRIO_PROCESS, 0, highest); /* threads are stopped; only root may do this */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    longest = 0;
    if (seize_all(&t)) try_until(&t, limit_ns);
    leave(&t);
    sigprocmask(SIG_SETMASK, &before, NULL);
    setpriority(PRIO_PROCESS, 0, priority);
    free(t.thread);
    errno = t.refused;
    if (t.started) return MPL_TRACED_STARTED;
    if (t.refused) return MPL_TRACED_REFUSED;
    if (t.gone) return MPL_TRACED_GONE;
    return t.stopped ? MPL_TRACED_STOPPED : MPL_TRACED_BUSY;
}
