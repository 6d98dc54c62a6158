/* What a device's used bytes are made of at one instant: by name, each from a measured number.
 * Private to this layer.
 *
 * Segments are PyTorch's driver blocks, those of plug-in allocators, too; a segment's bytes are
 * live, or free: inside a segment that something live pins (split), in one, or in a piece of an
 * expandable one, that nothing does (releasable), or in one that a graph's private pool owns. */
#ifndef MPR_COMPOSITION_H
#define MPR_COMPOSITION_H

#include "device.h"
#include "reader.h"

/* Fills the parts and the segments' sums of *out. */
void mpr_composition_account(struct mpr_device_state *out, struct mpr_arena *arena,
                             const struct mpr_reader *reader, const struct mpr_picture *p);
/* And who holds PyTorch's blocks, and the communicators. */
void mpr_composition(struct mpr_device_state *out, struct mpr_arena *arena,
                     const struct mpr_reader *reader, const struct mpr_picture *p);
/* Lines by the replay's grouping of PyTorch's blocks, or of the driver's. */
const struct mpr_row *mpr_composition_rows(struct mpr_arena *arena, const struct mpr_reader *reader,
                                           const struct mpr_gpu_block *block, size_t blocks,
                                           size_t *rows);
/* Lines of so much of each of PyTorch's blocks. */
const struct mpr_row *mpr_composition_torch(struct mpr_arena *arena,
                                            const struct mpr_reader *reader,
                                            const struct mpr_picture *p,
                                            uint64_t (*bytes)(const struct mpr_gpu_block *),
                                            size_t *rows);

#endif
