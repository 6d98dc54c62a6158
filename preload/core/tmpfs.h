/* memprof's own files on tmpfs: their pages are memory, which counts towards the limit of the
 * process's memory cgroup and cannot be written back. */
#ifndef MP_TMPFS_H
#define MP_TMPFS_H

#include <stdint.h>

/* Looks where the log and the journal are, once they are made, and warns if they are on tmpfs.  A
 * filter of system calls that the program installs later may forbid that, so the constructor calls
 * it; a forked child has its files in the same places.
 * @limit: bytes that the memory cgroup may have, or MPF_UNKNOWN for no limit and no warning */
void mp_tmpfs_init(uint64_t limit);
/* Bytes of the log and the journal that are on tmpfs. */
uint64_t mp_tmpfs_bytes(void);
#endif
