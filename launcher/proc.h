/* Facts about a process from /proc. None for a process that is gone or belongs to another user. */
#ifndef MPL_PROC_H
#define MPL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mpl_proc_stat {
    char state;
    pid_t parent;
    uint64_t started; /* clock ticks since boot */
    uint64_t rss;     /* pages */
    /* their address, which differs after each exec; 0 or 1 if it may not be read */
    uint64_t arguments;
    int exit_code; /* of a zombie, as in waitpid; 0 if it may not be read */
};

bool mpl_proc_stat(pid_t pid, struct mpl_proc_stat *out);
/* Is it this user's, so that all of the above may be read? */
bool mpl_proc_readable(pid_t pid);
/* Calls `each` for every child of every thread. */
void mpl_proc_children(pid_t pid, void (*each)(void *arg, pid_t child), void *arg);
/* The last part of its program's path. */
void mpl_proc_name(pid_t pid, char *out, size_t cap);
/* Is a file of that name mapped?  1, 0, or -1 where that cannot be said. */
int mpl_proc_maps(pid_t pid, const char *name);
/* Did the environment that it was started with hold `text` in the variable?  1, 0, or -1. */
int mpl_proc_environ(pid_t pid, const char *variable, const char *text);

#endif
