#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "object.h"
#include "oom.h"
#include "proc.h"
#include "target.h"

#define NS_PER_S    UINT64_C(1000000000)
#define PERIOD_NS   (NS_PER_S / 10)
#define COST_FACTOR 100 /* so that looking uses at most 1 % of a processor */

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void mpl_watch_open(struct mpl_watch *w, const char *library)
{
    *w = (struct mpl_watch){ .library = library,
                             .kernel_log = mpl_oom_log_open(),
                             .kills = mpl_oom_kills() };
}

void mpl_watch_close(struct mpl_watch *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->process[i].fd >= 0) close(w->process[i].fd);
    if (w->kernel_log >= 0) close(w->kernel_log);
    free(w->process);
}

/* ---- finding processes */

static struct mpl_watched *find(struct mpl_watch *w, pid_t pid)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->process[i].pid == pid && w->process[i].fd >= 0) return &w->process[i];
    return NULL;
}

static bool grow(struct mpl_watch *w)
{
    const size_t cap = w->cap ? w->cap * 2 : 16;
    struct mpl_watched *process = realloc(w->process, cap * sizeof *process);
    if (!process) return false;
    w->process = process;
    w->cap = cap;
    return true;
}

/* The kernel counts from boot, including sleep. */
static uint64_t start_time(uint64_t ticks)
{
    const uint64_t since_boot = ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    const uint64_t awake = now_ns(CLOCK_MONOTONIC), asleep = now_ns(CLOCK_BOOTTIME) - awake;
    return since_boot > asleep ? since_boot - asleep : 0;
}

void mpl_watch_add(struct mpl_watch *w, pid_t pid)
{
    struct mpl_proc_stat stat;
    if (find(w, pid) || (w->count == w->cap && !grow(w))) return;
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) return;
    if (!mpl_proc_stat(pid, &stat) || stat.state == 'Z')
        close(fd); /* the list contains dead processes until their parent waits for them */
    else
        w->process[w->count++] =
            (struct mpl_watched){ .pid = pid, .fd = fd, .began = start_time(stat.started) };
}

static void add_child(void *watch, pid_t child) { mpl_watch_add(watch, child); }

/* ---- processes without memprof */

static enum mpl_unseen why_unseen(const struct mpl_watch *w, pid_t pid)
{
    char exe[64];
    struct mpl_object object;
    snprintf(exe, sizeof exe, "/proc/%ld/exe", (long)pid);
    const int requested = mpl_proc_environ(pid, "LD_PRELOAD", w->library);
    if (requested < 0) return MPL_UNSEEN_NO; /* this cannot be known */
    mpl_object_open(&object, exe);
    const enum mpl_object_kind kind = object.kind;
    mpl_object_close(&object);
    if (kind == MPL_OBJECT_STATIC) return MPL_UNSEEN_STATIC;
    if (kind == MPL_OBJECT_MUSL) return MPL_UNSEEN_MUSL;
    if (kind == MPL_OBJECT_FOREIGN) return MPL_UNSEEN_FOREIGN;
    if (requested) return mpl_target_gains_rights(exe) ? MPL_UNSEEN_RIGHTS : MPL_UNSEEN_NO;
    /* A program may overwrite its environment. */
    return mpl_proc_maps(pid, w->library) == 0 ? MPL_UNSEEN_DROPPED : MPL_UNSEEN_NO;
}

/* If two looks at a program had the same result, the result stays until an exec. */
static void look_at(const struct mpl_watch *w, struct mpl_watched *p)
{
    struct mpl_proc_stat stat;
    if (!mpl_proc_stat(p->pid, &stat) || stat.state == 'Z') return;
    const uint64_t rss = stat.rss * (uint64_t)sysconf(_SC_PAGESIZE);
    if (rss > p->rss) p->rss = rss;
    if (stat.arguments != p->arguments) p->looks = 0;
    p->arguments = stat.arguments;
    if (p->looks > 1) return;
    const enum mpl_unseen found = why_unseen(w, p->pid);
    mpl_proc_name(p->pid, p->name, sizeof p->name);
    p->looks = p->looks && found == p->unseen ? p->looks + 1 : 1;
    p->unseen = found;
}

/* New processes are appended to the known ones and examined in turn. */
static void look_at_all(struct mpl_watch *w)
{
    const uint64_t before = now_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < w->count; i++) {
        if (w->process[i].fd < 0) continue;
        look_at(w, &w->process[i]);
        mpl_proc_children(w->process[i].pid, add_child, w);
    }
    const uint64_t now = now_ns(CLOCK_MONOTONIC), pause = (now - before) * COST_FACTOR;
    w->next = now + (pause > PERIOD_NS ? pause : PERIOD_NS);
}

/* ---- ends of processes */

/* struct pidfd_info of linux/pidfd.h, from Linux 6.15. Older kernels have no information about a
 * process after its parent has waited for it. */
struct info {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code;
};
#define GET_INFO  _IOWR(0xFF, 11, struct info)
#define INFO_EXIT 8u

/* Returns its wait status, or -1. A zombie shows it only to its own user, the pidfd of an ended
 * process to all users. */
static int wait_status(const struct mpl_watched *p)
{
    struct mpl_proc_stat stat;
    struct info info = { .mask = INFO_EXIT };
    if (mpl_proc_stat(p->pid, &stat) && stat.state == 'Z' && mpl_proc_readable(p->pid) &&
        syscall(SYS_pidfd_send_signal, p->fd, 0, NULL, 0) == 0)
        return stat.exit_code;
    return ioctl(p->fd, GET_INFO, &info) == 0 && info.mask & INFO_EXIT ? info.exit_code : -1;
}

static void set_end(struct mpl_watch *w, struct mpl_watched *p, int status)
{
    p->end = status < 0 ? MPL_END_UNKNOWN : WIFSIGNALED(status) ? MPL_END_SIGNAL : MPL_END_EXIT;
    p->status = p->end == MPL_END_SIGNAL ? WTERMSIG(status)
                : p->end == MPL_END_EXIT ? WEXITSTATUS(status)
                                         : 0;
    if (p->end != MPL_END_SIGNAL || p->status != SIGKILL || w->kills < 0 ||
        mpl_oom_kills() <= w->kills)
        return;
    w->kills++;
    if (!p->oom) p->oom = MPL_OOM_CGROUP;
}

static void end(struct mpl_watch *w, struct mpl_watched *p, int status)
{
    p->mono = now_ns(CLOCK_MONOTONIC);
    p->real = now_ns(CLOCK_REALTIME);
    set_end(w, p, status);
    close(p->fd);
    p->fd = -1;
}

/* The kernel writes its line when it kills. The process ends later, when its memory is freed. */
static void read_kernel_log(struct mpl_watch *w)
{
    pid_t killed;
    while (mpl_oom_log_next(w->kernel_log, &killed)) {
        for (size_t i = 0; i < w->count; i++)
            if (w->process[i].pid == killed && !w->process[i].recorded)
                w->process[i].oom = MPL_OOM_KERNEL;
    }
}

void mpl_watch_set_status(struct mpl_watch *w, pid_t pid, int status)
{
    for (size_t i = w->count; i-- > 0;) {
        struct mpl_watched *p = &w->process[i];
        if (p->pid != pid) continue;
        if (p->fd >= 0) end(w, p, status);
        else if (p->end == MPL_END_UNKNOWN) set_end(w, p, status);
        break;
    }
    read_kernel_log(w);
}

/* ---- waiting */

static int timeout_ms(const struct mpl_watch *w)
{
    const uint64_t now = now_ns(CLOCK_MONOTONIC);
    return now < w->next ? (int)((w->next - now) / 1000000) + 1 : 0;
}

/* Entry 0 is for signals. poll ignores descriptor -1. */
static void wait_for(struct mpl_watch *w, int signals, int ms)
{
    struct pollfd alone = { .fd = signals, .events = POLLIN },
                  *entry = malloc((w->count + 1) * sizeof *entry);
    if (!entry) {
        poll(&alone, 1, ms);
        return;
    }
    entry[0] = alone;
    for (size_t i = 0; i < w->count; i++)
        entry[1 + i] = (struct pollfd){ .fd = w->process[i].fd, .events = POLLIN };
    const int ready = poll(entry, w->count + 1, ms);
    for (size_t i = 0; ready > 0 && i < w->count; i++)
        if (entry[1 + i].revents) end(w, &w->process[i], wait_status(&w->process[i]));
    free(entry);
}

void mpl_watch_ends(struct mpl_watch *w) { wait_for(w, -1, 0); }

bool mpl_watch_wait(struct mpl_watch *w, int signals)
{
    wait_for(w, signals, timeout_ms(w));
    if (timeout_ms(w)) return false;
    read_kernel_log(w);
    look_at_all(w);
    return true;
}

void mpl_watch_forget(struct mpl_watch *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct mpl_watched *p = &w->process[i];
        if (p->fd >= 0 || !p->recorded || p->oom || mpl_watched_unseen(p)) w->process[kept++] = *p;
    }
    w->count = kept;
}
