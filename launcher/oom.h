/* Counts the OOM kills in the memory cgroup of this process, which is also that of its commands,
 * and names the killed processes. */
#ifndef MPL_OOM_H
#define MPL_OOM_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns the number of kills so far (version 2: memory.events, version 1: memory.oom_control), or
 * -1 if it cannot be read. */
long mpl_oom_kills(void);

/* Opens the kernel's log for records from now on. Returns a descriptor, or -1 if it may not be read
 * or has process IDs of another namespace. */
int mpl_oom_log_open(void);
/* Sets the next process that the kernel killed for memory. Returns false if there is none yet. */
bool mpl_oom_log_next(int log, pid_t *killed);

#endif
