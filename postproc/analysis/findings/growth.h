/* What two instants differ by: lists of bytes by range, paired by path.  Private to this layer but
 * for the rows (ooms_result.h). */
#ifndef MPR_GROWTH_H
#define MPR_GROWTH_H

#include "ooms_result.h"
#include "reader.h"

/* Room for `most` rows; rows of the second list are the later ones.  mpr_growth_add may be called
 * for either in any order. */
struct mpr_growth_builder {
    struct mpr_growth_row *row;
    size_t rows, most;
};

void mpr_growth_begin(struct mpr_growth_builder *b, struct mpr_arena *arena, size_t most);
void mpr_growth_add(struct mpr_growth_builder *b, struct mpr_path path, uint64_t before,
                    uint64_t after, bool estimated);
/* Rows of one path become one; those that did not change are dropped; the largest change comes
 * first. */
void mpr_growth_end(struct mpr_growth_builder *b, struct mpr_growth *out);

/* The picture's blocks by range: PyTorch's, or the driver's. */
const struct mpr_row *mpr_growth_blocks(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        const struct mpr_picture *p, bool torch, size_t *rows);

/* Between two pictures of a device: PyTorch's blocks by range (of other programs the driver's), and
 * the account's other parts. */
void mpr_growth_pictures(struct mpr_growth *out, struct mpr_arena *arena,
                         const struct mpr_reader *reader, const struct mpr_picture *before,
                         const struct mpr_picture *after);

#endif
