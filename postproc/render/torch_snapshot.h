/* A snapshot of PyTorch's allocator, in the format of torch.cuda.memory._dump_snapshot. */
#ifndef MPR_TORCH_SNAPSHOT_H
#define MPR_TORCH_SNAPSHOT_H

#include <stdint.h>
#include <stdio.h>

#include "progress.h"

struct mpr_error;
struct mpr_torch_survey;

/* What a snapshot has: blocks of at least min_bytes, at times in [from_ns, until_ns]. */
struct mpr_torch_export {
    const char *log;
    const struct mpr_torch_survey *survey; /* of that log */
    uint64_t min_bytes, from_ns, until_ns;
};

/* Reads the log for the traces of each device, then for annotations, and writes the snapshot.
 * Returns 0, or -1 with *error filled.  Output errors stay in the stream. */
int mpr_torch_snapshot_write(FILE *out, const struct mpr_torch_export *of,
                             const struct mpr_progress *progress, struct mpr_error *error);

#endif
