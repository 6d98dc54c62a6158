/* Whether a log and its journal are copies, and whether their process had ended when they were
 * copied.
 *
 * The files of a running process change while they are copied, and afterwards.
 * So a copy is whole only if its process had ended before; docs/processes.md says which evidence
 * counts. */
#ifndef MPR_COPY_H
#define MPR_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "journal.h"
#include "life.h"
#include "run.h"

struct mpr_copied {
    const struct mpr_journal *journal;
    const struct stat *log;
    int log_fd;
    uint64_t newest_frame;  /* CLOCK_MONOTONIC ns at which the newest frame of the log was made */
    enum mpr_life life;     /* whether the process runs now */
    struct mpr_run_end end; /* of the process, from memprof.run */
};

/* Returns true if the log or its journal is another file than the journal's head names.  False
 * where the head does not say (before 1.2), and without a journal. */
bool mpr_copy_is(const struct mpr_journal *journal, const struct stat *log);
/* Returns true for a copy whose process may have recorded more after it was made. */
bool mpr_copy_may_miss(const struct mpr_copied *c);

#endif
