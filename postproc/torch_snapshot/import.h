/* Opens memory snapshots of PyTorch (pickle.h) as logs.
 *
 * Each entry of a trace becomes the events that memprof would have recorded: allocations of
 * segments and blocks with their Python call stacks, out-of-memory errors, and the ranges of
 * external annotations.  Segments and blocks that are older than the first entry are allocated at
 * the beginning.  Their times, and what was freed before, are not in a snapshot.
 *
 * Sizes are those of requests, rounded up to 512 bytes, because a trace has no sizes of blocks. */
#ifndef MPR_IMPORT_H
#define MPR_IMPORT_H

/* Lets mpr_log_open open snapshots.  Call it once, before logs are opened. */
void mpr_import_snapshots(void);

#endif
