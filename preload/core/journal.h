/* Creates, maps, grows and removes the journal file.
 *
 * A journal is safe if the kernel keeps MAP_SHARED pages of a killed process and a full disk is an
 * error at allocation instead of a SIGBUS at a store: on ext4, xfs, tmpfs and overlays of them.
 * Elsewhere chunks are anonymous memory.
 *
 * Its first byte is locked as long as the process's memory exists, whatever ends it, and any
 * process can test the lock. */
#ifndef MP_JOURNAL_FILE_H
#define MP_JOURNAL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "mpf/slot.h"

/* Makes the file for the log at `log_path`.  False: no memory at all. */
bool mp_journal_open(const char *log_path, const uint8_t id[16], const struct mpf_clock *start);
/* Says which file the log is; again when it has become another one. */
void mp_journal_tie(struct mpf_file log);
/* Stores a sign of life, CLOCK_MONOTONIC ns; 0, from a refused clock, is none. */
void mp_journal_beat(uint64_t mono);
/* Maps MP_POOL_STEP more places; false when the addresses end.  On the worker, while its caller
 * holds pool.grow. */
bool mp_journal_extend(void);
/* Makes the pages of a place present. Returns false if there is no memory for them. */
bool mp_journal_touch(uint32_t place);
/* Returns the absolute path, or "" if there is no journal. */
const char *mp_journal_path(void);
/* The memory stays as it is. */
void mp_journal_remove(void);
/* Creates the file again after that, with the content of the memory. Returns false if there is no
 * journal from now on. No thread may store meanwhile. */
bool mp_journal_restore(void);
/* Bytes of the journal (or of its anonymous stand-in) that are resident. */
uint64_t mp_journal_resident(void);

#endif
