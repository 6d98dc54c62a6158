/* Checks whether logs are complete: the result of `memprof-report log verify`.  Lives until
 * mpr_verify_free. */
#ifndef MPR_VERIFY_H
#define MPR_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

struct mpr_verified {
    struct mpr_summary summary;
    uint64_t good_bytes; /* the log is whole up to this offset, and up to summary.good_ns */
};

/* Zero before the first log. */
struct mpr_verify {
    struct mpr_arena arena;
    struct mpr_verified *log;
    size_t logs, cap;
    size_t incomplete; /* number of incomplete logs */
};

/* Reads one log.  Returns 0, or -1 with *error filled; the other logs stay valid. */
int mpr_verify_add(struct mpr_verify *verify, const char *path, const struct mpr_progress *progress,
                   struct mpr_error *error);
void mpr_verify_free(struct mpr_verify *verify);

#endif
