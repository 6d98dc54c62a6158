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

/* Creates the file for the log at `log_path`. Returns false without memory. */
bool mp_journal_open(const char *log_path, const uint8_t id[16], const struct mpf_clock *start);
/* Records which file the log is. Called again when the log becomes another file. */
void mp_journal_tie(struct mpf_file log);
/* Stores the time of a heartbeat, CLOCK_MONOTONIC ns. 0, from a refused clock, is ignored. */
void mp_journal_beat(uint64_t mono);
/* Maps MP_POOL_STEP more places. Returns false at the end of the addresses. Called on the worker,
 * while its caller holds pool.grow. */
bool mp_journal_extend(void);
/* Makes the pages of a place present. Returns false without memory. */
bool mp_journal_touch(uint32_t place);
/* Returns the absolute path, or "" without a journal. */
const char *mp_journal_path(void);
/* Called when the recording has ended and the program continues: the removed file's memory is
 * released. */
void mp_journal_release(void);
/* Removes the file. Its memory is unchanged. */
void mp_journal_remove(void);
/* Creates the file again after that, with the content of the memory. Returns false if the process
 * has no journal from now on. No thread may store meanwhile. */
bool mp_journal_restore(void);
/* Returns the resident bytes of the journal, or of the anonymous memory that replaces it. */
uint64_t mp_journal_resident(void);

#endif
