/* Is a log whole?  The result behind `memprof-report verify`.  Lives until mpr_verify_free. */
#ifndef MPR_VERIFY_H
#define MPR_VERIFY_H

#include <stdint.h>

#include "arena.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

struct mpr_verify {
    struct mpr_arena arena;
    struct mpr_summary summary;
    uint64_t good_bytes; /* the log is whole up to this offset, and up to summary.good_ns */
};

/* 0, or -1 with *error filled (nothing to free then). */
int mpr_verify_read(struct mpr_verify *verify, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error);
void mpr_verify_free(struct mpr_verify *verify);

#endif
