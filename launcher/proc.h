/* Reads facts about a process from /proc. They are unknown if the process has ended or belongs to
 * another user. */
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
    /* the address of the arguments, which differs after each exec; 0 or 1 if it may not be read */
    uint64_t arguments;
    int exit_code; /* the wait status of a zombie, or 0 if it may not be read */
};

bool mpl_proc_stat(pid_t pid, struct mpl_proc_stat *out);
/* Returns true if the process belongs to this user, so that the fields above can be read. */
bool mpl_proc_readable(pid_t pid);
/* Calls `each` for every child of every thread. */
void mpl_proc_children(pid_t pid, void (*each)(void *arg, pid_t child), void *arg);
/* Writes the last part of its program's path. */
void mpl_proc_name(pid_t pid, char *out, size_t cap);
/* Returns 1 if a file of that name is mapped, 0 if not, and -1 if that is unknown. */
int mpl_proc_maps(pid_t pid, const char *name);
/* Returns 1 if the variable contained `text` when the process started, 0 if not, and -1 if that is
 * unknown. */
int mpl_proc_environ(pid_t pid, const char *variable, const char *text);

#endif
