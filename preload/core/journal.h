/* The journal file: made, mapped, grown, removed.
 *
 * A journal is sound where the kernel keeps MAP_SHARED pages of a killed process and a full disk is
 * an error at allocation rather than a SIGBUS at a store: ext4, xfs, tmpfs and overlays of them.
 * Elsewhere chunks are anonymous memory.
 *
 * Its first byte is locked as long as the memory of the process is there, whatever ends that, and
 * whoever asks from wherever. */
#ifndef MP_JOURNAL_FILE_H
#define MP_JOURNAL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "mpf/slot.h"

/* Makes the file for the log at `log_path`.  False: no memory at all. */
bool mp_journal_open(const char *log_path, const uint8_t id[16], const struct mpf_clock *start);
/* Says which file the log is; again when it has become another one. */
void mp_journal_tie(struct mpf_file log);
/* A sign of life, at CLOCK_MONOTONIC ns (0, of a clock that is refused, is none). */
void mp_journal_beat(uint64_t mono);
/* Maps MP_POOL_STEP more places; false when the addresses end.  On the worker, while its caller
 * holds pool.grow. */
bool mp_journal_extend(void);
/* Makes the pages of a place present; false when there is no memory for them. */
bool mp_journal_touch(uint32_t place);
/* Absolute path; "" when there is none. */
const char *mp_journal_path(void);
/* The memory stays as it is. */
void mp_journal_remove(void);
/* After that, the file anew, with what the memory holds; false: there is none from now on.  Nobody
 * may store meanwhile. */
bool mp_journal_restore(void);
/* Bytes of the journal (or of its anonymous stand-in) that are resident. */
uint64_t mp_journal_resident(void);

#endif
