/* What /proc says of a process.  Of one that is gone, or another user's, it says nothing. */
#ifndef MPL_PROC_H
#define MPL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mpl_proc_stat {
    char state;
    pid_t parent;
    uint64_t started;   /* clock ticks since boot */
    uint64_t rss;       /* pages */
    uint64_t arguments; /* where they lie: each exec puts them elsewhere; 0 or 1 where that may not
                           be read */
    int exit_code;      /* of a zombie, as waitpid has it; 0 where it may not be read */
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
