/* OOM kills in the memory cgroup of this process, and so of the commands it starts. */
#ifndef MP_OOM_H
#define MP_OOM_H

/* How many there have been (version 2: memory.events, version 1: memory.oom_control); -1 where it cannot be read. */
long mp_oom_kills(void);

#endif
