/* Keeps a log within a budget: what is older than its newest part is thinned into LOG.fold, and its
 * room in LOG given back (input/folded.h, docs/keep.md).  The process that writes LOG goes on and
 * need not know.
 *
 * Killed at any instant it leaves a log that reads the same: LOG.fold is replaced as a whole, and
 * room is given back after that only.  A log is changed under the rules of recover.h. */
#ifndef MPR_COMPACT_H
#define MPR_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "mpf/keep.h"

enum mpr_compact_outcome {
    MPR_COMPACT_FOLDED,
    MPR_COMPACT_LITTLE, /* what is older is not worth it yet */
    MPR_COMPACT_READ,   /* somebody reads the log: at another time */
    MPR_COMPACT_OTHER,  /* it is not of the given run; nothing was done */
};

struct mpr_compaction {
    enum mpr_compact_outcome outcome;
    uint64_t until_ns;      /* folded up to that time */
    uint64_t before, after; /* bytes of what was folded, and of LOG.fold */
    bool ended;             /* its process has: recover makes one file of both */
    uint64_t next;          /* bytes of LOG from which on another round may be worth it */
};

/* Does one round.  Returns 0, or -1 with *error filled: nothing is lost then.
 * @keep: the size or time to keep, or NULL for the value in the log's header
 * @run: id of a run, to touch only its logs that were recorded on this machine with MEMPROF_KEEP;
 * or NULL to touch any log */
int mpr_compact(const char *path, const struct mpf_keep *keep, const char *run,
                struct mpr_compaction *out, struct mpr_error *error);

#endif
