/* The processes of the recorded tree: which are alive, how each ended, and which run without
 * memprof.
 *
 * Ten times a second the children of known processes are listed. A process that lives for a shorter
 * time may not be found, so these lists may be incomplete. A known process's pidfd reports its end
 * and its exit status. */
#ifndef MPL_WATCH_H
#define MPL_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum mpl_end { MPL_END_NONE, MPL_END_UNKNOWN, MPL_END_EXIT, MPL_END_SIGNAL };
enum mpl_oom {
    MPL_OOM_NO,
    MPL_OOM_CGROUP,
    MPL_OOM_KERNEL
}; /* its cgroup's count of kills increased; the kernel's log has its name */
enum mpl_unseen {
    MPL_UNSEEN_NO,
    MPL_UNSEEN_DROPPED,
    MPL_UNSEEN_STATIC,
    MPL_UNSEEN_MUSL,
    MPL_UNSEEN_FOREIGN,
    MPL_UNSEEN_RIGHTS
};

struct mpl_watched {
    pid_t pid;
    int fd;             /* a pidfd, or -1 after its end */
    uint64_t began;     /* ns of CLOCK_MONOTONIC, in steps of 10 ms */
    uint64_t arguments; /* mpl_proc_stat's value at the last look; it differs after an exec */
    char name[64];      /* name of its program */
    enum mpl_unseen unseen;
    unsigned looks; /* number of looks at this program with the same result */
    uint64_t rss;   /* maximum seen, bytes; 0: not known */
    enum mpl_end end;
    int status; /* its exit status, or the signal */
    enum mpl_oom oom;
    uint64_t mono, real;            /* ns: when its end was noticed */
    bool recorded, unseen_recorded; /* the run's record has its end; has that it is not recorded */
};

struct mpl_watch {
    struct mpl_watched *process;
    size_t count, cap;
    const char *library; /* file name of the preloaded library */
    int kernel_log;      /* -1 if it cannot be read */
    long kills; /* number of kills in the memory cgroup, including known ones, or -1 if unknown */
    uint64_t next; /* CLOCK_MONOTONIC ns of the next look */
};

void mpl_watch_open(struct mpl_watch *w, const char *library);
void mpl_watch_close(struct mpl_watch *w);
/* Adds a process, unless it is known or has ended. */
void mpl_watch_add(struct mpl_watch *w, pid_t pid);
/* Waits for a signal of the signalfd, an end, or the time of the next look, and handles it. Returns
 * true if it looked. */
bool mpl_watch_wait(struct mpl_watch *w, int signals);
/* Records the processes that have ended. */
void mpl_watch_ends(struct mpl_watch *w);
/* Sets the wait status that waitpid returned. */
void mpl_watch_set_status(struct mpl_watch *w, pid_t pid, int wait_status);
/* Removes processes that have ended and have been reported. */
void mpl_watch_forget(struct mpl_watch *w);

/* Returns true if the process runs without memprof. Two looks must agree, because it may seem so
 * between fork and exec, and while libraries are loaded. */
static inline bool mpl_watched_unseen(const struct mpl_watched *p)
{
    return p->unseen && p->looks > 1;
}

#endif
