/* Finds out whether a recorded process still runs, and whether its files are copies.
 *
 * After a wrong "runs" a log cannot be recovered; after a wrong "ended" a process loses the journal
 * to which it still writes.  So if neither can be proved, the answer is UNKNOWN.  docs/processes.md
 * lists the evidence. */
#ifndef MPR_LIFE_H
#define MPR_LIFE_H

#include <stdbool.h>

#include "header.h"
#include "journal.h"
#include "run.h"

enum mpr_life { MPR_LIFE_ENDED, MPR_LIFE_RUNS, MPR_LIFE_UNKNOWN };

struct mpr_life_verdict {
    enum mpr_life life;
    char why[192]; /* a clause that fits into parentheses */
};

/* Finds out whether the header's process runs.
 * @journal: its journal; without an image if none was found
 *
 * If the journal has a lock (format/FORMAT.md) and is not a copy, the lock decides: in any
 * namespace the kernel releases it together with the memory of the process.  Otherwise the process
 * is looked for by its number and start time.  If it has just ended, waits up to 100 ms until the
 * kernel has released its memory. */
struct mpr_life_verdict mpr_life_find(const struct mpr_header *header,
                                      const struct mpr_journal *journal);
/* Sets the boot and the namespaces of this process; `started` is 0. */
void mpr_life_own_identity(struct mpf_identity *identity);
/* Returns true if a process ran on this machine since it was booted. */
bool mpr_life_same_boot(const struct mpf_identity *process);
/* Returns true if its CLOCK_MONOTONIC times can be compared with those of this process. */
bool mpr_life_same_clock(const struct mpf_identity *process);

/* Returns true if a process recorded the identity of this file.  After another boot only the inode
 * is compared, because device numbers may have changed. */
bool mpr_life_same_file(const struct mpf_file *recorded, const struct mpf_identity *process,
                        const struct stat *st);
/* Returns true if the log or its journal is another file than the journal's head names.  False if
 * the head does not name files (before 1.2), and without a journal. */
bool mpr_life_is_copy(const struct mpr_journal *journal, const struct stat *log);

/* A log that may be a copy. */
struct mpr_copied {
    const struct mpr_journal *journal;
    const struct stat *log;
    int log_fd;
    uint64_t newest_frame;  /* CLOCK_MONOTONIC ns at which the newest frame was written */
    enum mpr_life life;     /* whether the process runs now */
    struct mpr_run_end end; /* how it ended, from memprof.run */
};
/* Returns true for a copy whose process may have recorded more during the copy or later. */
bool mpr_life_copy_may_miss(const struct mpr_copied *c);

#endif
