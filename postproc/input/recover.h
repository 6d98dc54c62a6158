/* Folds the journal of a dead process into its log: one SLOTS frame, one END frame, then the journal is removed.
 *
 * The launcher calls it too.  One at a time for a log: the log is locked (flock).  A crash at any point leaves the log
  * readable:
 * the journal goes last. */
#ifndef MPR_RECOVER_H
#define MPR_RECOVER_H

#include <stdint.h>

#include "error.h"

enum mpr_recover_outcome {
    MPR_RECOVER_DONE,
    MPR_RECOVER_WHOLE,      /* the log has its end already; a journal that was left is removed */
    MPR_RECOVER_NOTHING,    /* no journal was found; nothing was changed */
};

struct mpr_recovery { enum mpr_recover_outcome outcome; uint64_t events; };

/* 0, or -1 with *error filled: the process still runs, the log cannot be written, ... */
int mpr_recover(const char *path, struct mpr_recovery *recovery, struct mpr_error *error);

#endif
