/* Does the recorded process live?  A wrong yes keeps a log from being folded, a wrong no takes the
 * journal from a process that writes to it: where neither can be proved the answer is that it
 * cannot be told from here. */
#ifndef MPR_LIFE_H
#define MPR_LIFE_H

#include <stdbool.h>

#include "header.h"
#include "journal.h"

enum mpr_life { MPR_LIFE_ENDED, MPR_LIFE_RUNS, MPR_LIFE_UNKNOWN };

/* The answer, and why it is so: a clause that can stand in parentheses. */
struct mpr_verdict {
    enum mpr_life life;
    char why[192];
};

/* Of the header's process.  journal: its journal, or one without an image where none was found.
 *
 * The lock of the journal decides, where it has one (format/FORMAT.md) and this is no copy of it:
 * the kernel gives it back when the memory of the process goes, so it is told rightly from any
 * namespace.  Else the process is looked for by its number and start. Never waits for a lock; where
 * a process has just ended it waits up to 100 ms for the kernel to give its memory back. */
struct mpr_verdict mpr_life_tell(const struct mpr_header *header,
                                 const struct mpr_journal *journal);

/* Do a recorded file and one of this machine agree, as far as that can be told?  Devices have other
 * numbers after another boot. */
bool mpr_life_same_file(const struct mpf_file *recorded, const struct mpf_identity *by,
                        const struct stat *st);
/* Do times of CLOCK_MONOTONIC that the process recorded compare with those of here? */
bool mpr_life_same_clock(const struct mpf_identity *process);

/* By its number, its namespace and the time of its start: what is asked where the journal's lock
 * says nothing. */
struct mpr_verdict mpr_process_tell(const struct mpr_header *header);
/* What the header says of its process, of this one: started is 0. */
void mpr_process_here(struct mpf_identity *here);

#endif
