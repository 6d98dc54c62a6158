/* OOM kills: how many in the memory cgroup of this process, and so of the commands it starts; and
 * whom. */
#ifndef MPL_OOM_H
#define MPL_OOM_H

#include <stdbool.h>
#include <sys/types.h>

/* How many there have been (version 2: memory.events, version 1: memory.oom_control); -1 where it
 * cannot be read. */
long mpl_oom_kills(void);

/* The kernel's log from now on: a descriptor, or -1 where it may not be read or counts processes
 * otherwise than this namespace. */
int mpl_oom_log_open(void);
/* The next process that it killed for memory; false: none so far. */
bool mpl_oom_log_next(int log, pid_t *killed);

#endif
