/* The processes of the recorded tree: which live, how each ended, and which run without memprof.
 *
 * They are found by looking ten times a second at the children of those that are known: one that lives for less may never be
 * seen, so no list of these is complete.  When one that is known ends, and how, its pidfd tells. */
#ifndef MP_WATCH_H
#define MP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum mp_end { MP_END_NONE, MP_END_UNKNOWN, MP_END_EXIT, MP_END_SIGNAL };
enum mp_oom { MP_OOM_NO, MP_OOM_CGROUP, MP_OOM_KERNEL };    /* its cgroup's count of kills rose; the kernel's log names it */
enum mp_unseen { MP_UNSEEN_NO, MP_UNSEEN_DROPPED, MP_UNSEEN_STATIC, MP_UNSEEN_FOREIGN, MP_UNSEEN_RIGHTS };

struct mp_watched {
    pid_t pid;
    int fd;                     /* a pidfd; -1: it has ended */
    uint64_t began;             /* ns of CLOCK_MONOTONIC, in steps of 10 ms */
    uint64_t arguments;         /* mp_proc_stat's, when last looked at: another one after an exec */
    char name[64];              /* of its program */
    enum mp_unseen unseen;
    unsigned looks;             /* at the same program that found the same */
    uint64_t rss;               /* the most that was seen, bytes; 0: not known */
    enum mp_end end;
    int status;                 /* that it exited with, or the signal */
    enum mp_oom oom;
    uint64_t mono, real;        /* ns: when it was seen to have ended */
    bool told, told_unseen;     /* the run's record has its end; that it was not seen */
};

struct mp_watch {
    struct mp_watched *process;
    size_t count, cap;
    const char *library;        /* that is preloaded: the file's name */
    int kernel_log;             /* -1: not to be read */
    long kills;                 /* of the memory cgroup, as many as are accounted for; -1: not known */
    uint64_t next;              /* CLOCK_MONOTONIC ns: when to look again */
};

void mp_watch_open(struct mp_watch *w, const char *library);
void mp_watch_close(struct mp_watch *w);
/* Takes a process in, unless it is known already or gone. */
void mp_watch_add(struct mp_watch *w, pid_t pid);
/* Waits for a signal (of the signalfd), an end, or the time to look; does what is due.  True when it looked. */
bool mp_watch_wait(struct mp_watch *w, int signals);
/* Sees who has ended by now. */
void mp_watch_ends(struct mp_watch *w);
/* What waitpid said. */
void mp_watch_told(struct mp_watch *w, pid_t pid, int wait_status);
/* Forgets those that ended and of which there is nothing more to say. */
void mp_watch_forget(struct mp_watch *w);

/* Does it run without memprof?  Twice looked at, for between fork and exec, and while libraries are loaded, it may seem so. */
static inline bool mp_watched_unseen(const struct mp_watched *p) { return p->unseen && p->looks > 1; }

#endif
