/* The differences between two instants: bytes by path, or by part of a device's account.  Part of
 * the results of oom, top and steps. */
#ifndef MPR_GROWTH_H
#define MPR_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "frame.h"

struct mpr_device_snapshot;
struct mpr_reader;
struct mpr_row;

struct mpr_growth_row {
    const char *key; /* key of a part of the account, or NULL for a path */
    const struct mpr_frame *name;
    struct mpr_path path;
    int64_t before, after;
    uint64_t blocks_before, blocks_after; /* 0 for parts of the account, and in oom and top */
    bool estimated;                       /* from samples */
};
struct mpr_growth {
    bool valid;
    uint64_t time;              /* the first instant */
    uint64_t before, after;     /* bytes of all */
    struct mpr_growth_row *row; /* the largest change first */
    size_t rows;
};

/* ---- for analyses */

/* Adds a row with the bytes of one instant, in any order.  The caller has allocated room for it,
 * and may also add rows itself. */
void mpr_growth_add(struct mpr_growth *growth, struct mpr_path path, uint64_t before,
                    uint64_t after, bool estimated);
/* Merges rows of one path, drops unchanged ones, and sorts.  Call it after the last row. */
void mpr_growth_end(struct mpr_growth *growth);

/* Returns a device's blocks by range: PyTorch's, or the driver's. */
const struct mpr_row *mpr_growth_blocks(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        const struct mpr_device_snapshot *p, bool torch,
                                        size_t *rows);

/* Compares two snapshots of a device: PyTorch's blocks by range, or the driver's if there are none
 * of PyTorch's, and the other parts of the device's account. */
void mpr_growth_snapshots(struct mpr_growth *out, struct mpr_arena *arena,
                          const struct mpr_reader *reader, const struct mpr_device_snapshot *before,
                          const struct mpr_device_snapshot *after);

#endif
