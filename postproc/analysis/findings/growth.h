/* The difference of two instants: bytes by range, paired by path.  Private to this layer except for
 * the result (ooms.h). */
#ifndef MPR_GROWTH_H
#define MPR_GROWTH_H

#include "ooms.h"
#include "reader.h"

struct mpr_growth_builder {
    struct mpr_growth_row *row;
    size_t rows, max;
};

/* @max: the number of rows that will be added for both instants. */
void mpr_growth_begin(struct mpr_growth_builder *b, struct mpr_arena *arena, size_t max);
/* Adds bytes of either instant, in any order. */
void mpr_growth_add(struct mpr_growth_builder *b, struct mpr_path path, uint64_t before,
                    uint64_t after, bool estimated);
/* Merges rows of one path and drops those that did not change.  The largest change comes first. */
void mpr_growth_end(struct mpr_growth_builder *b, struct mpr_growth *out);

/* Returns a device's blocks by range: PyTorch's, or the driver's. */
const struct mpr_row *mpr_growth_blocks(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        const struct mpr_device_snapshot *p, bool torch,
                                        size_t *rows);

/* Compares two snapshots of a device: PyTorch's blocks by range (the driver's if PyTorch has none),
 * and the other parts of the device's account. */
void mpr_growth_pictures(struct mpr_growth *out, struct mpr_arena *arena,
                         const struct mpr_reader *reader, const struct mpr_device_snapshot *before,
                         const struct mpr_device_snapshot *after);

#endif
