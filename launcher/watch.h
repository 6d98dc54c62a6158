/* The processes of the recorded tree: which live, how each ended, and which run without memprof.
 *
 * They are found by looking ten times a second at the children of those that are known: one that
 * lives for less may never be seen, so no list of these is complete.  When one that is known ends,
 * and how, its pidfd tells. */
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
}; /* its cgroup's count of kills rose; the kernel's log names it */
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
    int fd;             /* a pidfd; -1: it has ended */
    uint64_t began;     /* ns of CLOCK_MONOTONIC, in steps of 10 ms */
    uint64_t arguments; /* mpl_proc_stat's, when last looked at: another one after an exec */
    char name[64];      /* of its program */
    enum mpl_unseen unseen;
    unsigned looks; /* at the same program that found the same */
    uint64_t rss;   /* maximum seen, bytes; 0: not known */
    enum mpl_end end;
    int status; /* that it exited with, or the signal */
    enum mpl_oom oom;
    uint64_t mono, real;    /* ns: when it was seen to have ended */
    bool told, told_unseen; /* the run's record has its end; that it was not seen */
};

struct mpl_watch {
    struct mpl_watched *process;
    size_t count, cap;
    const char *library; /* that is preloaded: the file's name */
    int kernel_log;      /* -1: not to be read */
    long kills;          /* of the memory cgroup, counting known kills; -1: not known */
    uint64_t next;       /* CLOCK_MONOTONIC ns: when to look again */
};

void mpl_watch_open(struct mpl_watch *w, const char *library);
void mpl_watch_close(struct mpl_watch *w);
/* Takes a process in, unless it is known already or gone. */
void mpl_watch_add(struct mpl_watch *w, pid_t pid);
/* Waits for a signal (of the signalfd), an end, or the time to look; does what is due.  True when
 * it looked. */
bool mpl_watch_wait(struct mpl_watch *w, int signals);
/* Sees who has ended by now. */
void mpl_watch_ends(struct mpl_watch *w);
/* What waitpid said. */
void mpl_watch_told(struct mpl_watch *w, pid_t pid, int wait_status);
/* Forgets those that ended and of which there is nothing more to say. */
void mpl_watch_forget(struct mpl_watch *w);

/* Does it run without memprof?  Twice looked at, for between fork and exec, and while libraries are
 * loaded, it may seem so. */
static inline bool mpl_watched_unseen(const struct mpl_watched *p)
{
    return p->unseen && p->looks > 1;
}

#endif
