/* Appends the journal of a process that has ended to its log, as a SLOTS frame and an END frame,
 * and removes it.  A log whose beginning was thinned becomes one file again (folded.h).
 *
 * A log and its journal are changed only if both belong to this user, if others cannot replace
 * files in their folder (file.h), and if the process has certainly ended (life.h).  A recovery
 * locks the journal's first two bytes; a second one of the same log fails.  The log is replaced as
 * a whole, and the journal is removed last, so after a crash at any point the log is readable. */
#ifndef MPR_RECOVER_H
#define MPR_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

enum mpr_recover_outcome {
    MPR_RECOVER_DONE,
    MPR_RECOVER_WHOLE,   /* the log already has its end; a journal that was left is removed */
    MPR_RECOVER_NOTHING, /* no journal was found; nothing was changed */
};

/* The contents of the END frame that the process wrote. */
struct mpr_ending {
    uint64_t events, lost;
    uint64_t hwm; /* maximum of resident bytes, or 0 if unknown */
};

struct mpr_recovery {
    enum mpr_recover_outcome outcome;
    uint64_t events; /* recovered now */
    uint64_t lost;   /* missing according to the log or its journal; also set if recovery fails */
    struct mpr_ending ending;
    bool merged;  /* LOG.fold was merged into the log and removed */
    bool runs;    /* refused, because the process still runs */
    bool may_run; /* refused, because the process may still run */
    bool cut;     /* the process has ended, but the log has no end and no journal was found */
    struct mpr_error left; /* why a journal that was read, or a LOG.fold, stays; "" if none does */
};

/* @dead: the user says that the process has ended, and had ended before the log was copied if it is
 * a copy; used only if the files do not prove it.
 * Returns 0, or -1 with *error filled: the process still runs, the log cannot be written, ... */
int mpr_recover(const char *path, bool dead, struct mpr_recovery *recovery,
                struct mpr_error *error);
/* Recovers the log with this name in a directory that mpr_file_directory opened.  @path: used for
 * messages, and to find the journal */
int mpr_recover_in(int directory, const char *name, const char *path, bool dead,
                   struct mpr_recovery *recovery, struct mpr_error *error);

#endif
