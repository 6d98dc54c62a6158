/* Checks for files of memprof on tmpfs: their pages are memory, which counts towards the limit of
 * the process's memory cgroup and cannot be written back. */
#ifndef MP_TMPFS_H
#define MP_TMPFS_H

#include <stdint.h>

/* Finds the file systems of the log and the journal after they were created, and warns about tmpfs.
 * Called by the constructor, because a seccomp filter that the program installs later may forbid
 * it. The files of a forked child are on the same file systems.
 * @limit: bytes that the memory cgroup may have, or MPF_UNKNOWN for no limit and no warning */
void mp_tmpfs_init(uint64_t limit);
/* Returns the bytes of the log and the journal that are on tmpfs. */
uint64_t mp_tmpfs_bytes(void);
#endif
