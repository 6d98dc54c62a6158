/* Keeps a log within a budget.  The part before its newest part is thinned into LOG.fold, and its
 * room in LOG is released (input/folded.h, docs/keep.md).  The process that writes LOG continues
 * and is not involved.
 *
 * If this process is killed, the log reads the same as before or after the round: LOG.fold is
 * replaced as a whole, and room is only released after that.  A log is changed under the rules of
 * recover.h. */
#ifndef MPR_COMPACT_H
#define MPR_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "mpf/keep.h"

enum mpr_compact_outcome {
    MPR_COMPACT_FOLDED,
    MPR_COMPACT_LITTLE, /* the older part is too small to be worth it */
    MPR_COMPACT_READ,   /* another process is reading the log: try later */
    MPR_COMPACT_OTHER,  /* the log is not of the given run; nothing was done */
};

struct mpr_compaction {
    enum mpr_compact_outcome outcome;
    uint64_t until_ns;      /* thinned up to this time */
    uint64_t before, after; /* bytes of the frames that were thinned, and of LOG.fold */
    bool ended;             /* its process has ended: recover can merge both files */
    uint64_t next;          /* size of LOG at which another round may be worth it, bytes */
};

/* Does one round.  Returns 0, or -1 with *error filled and nothing lost.
 * @keep: the size or time to keep, or NULL for the value in the log's header
 * @run: id of a run, to touch only its logs that were recorded on this machine with MEMPROF_KEEP;
 * or NULL to touch any log */
int mpr_compact(const char *path, const struct mpf_keep *keep, const char *run,
                struct mpr_compaction *out, struct mpr_error *error);

#endif
