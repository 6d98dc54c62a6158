/* Folds the journal of a dead process into its log: one SLOTS frame, one END frame, then the
 * journal is removed.  A log whose beginning was folded becomes one file again (folded.h).
 *
 * Logs are written by people who trust nobody else's: a log and its journal are changed only where
 * both belong to this user and lie where others cannot put something else in their place (file.h),
 * and only once the process has ended for certain (life.h).  Nothing is waited for: two recoveries
 * of a log keep each other out by a lock of the journal's first two bytes, and the second one fails
 * at once.  A crash at any point leaves the log readable: it is replaced as a whole, and the
 * journal goes last. */
#ifndef MPR_RECOVER_H
#define MPR_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

enum mpr_recover_outcome {
    MPR_RECOVER_DONE,
    MPR_RECOVER_WHOLE,   /* the log has its end already; a journal that was left is removed */
    MPR_RECOVER_NOTHING, /* no journal was found; nothing was changed */
};

/* What the end of a log tells of its process, if that wrote it. */
/* hwm: bytes, resident at most; 0: it does not tell */
struct mpr_ending {
    uint64_t events, lost, hwm;
};

struct mpr_recovery {
    enum mpr_recover_outcome outcome;
    uint64_t events, lost; /* recovered now; missing, as the log or its journal says: also known
                              if the recovery fails */
    struct mpr_ending ending;
    bool merged;           /* with LOG.fold, which is gone */
    bool runs;             /* refused, for the process still runs */
    bool may_run;          /* refused, because the process may still run */
    bool cut;              /* the process has ended, and neither its end nor its journal is there */
    struct mpr_error left; /* why a journal that was read, or a LOG.fold, stays where it is; "" :
                              none does */
};

/* @dead: the user says that the process has ended, and if the log is a copy, that it had ended
 * before the copy was made.  Used only if the files do not show it. 0, or -1 with *error filled:
 * the process still runs, the log cannot be written, ... */
int mpr_recover(const char *path, bool dead, struct mpr_recovery *recovery,
                struct mpr_error *error);
/* The same of the log `name` in a directory that is open and fit for it (file.h); its path is for
 * messages and its journal's. */
int mpr_recover_in(int directory, const char *name, const char *path, bool dead,
                   struct mpr_recovery *recovery, struct mpr_error *error);

#endif
