/* Pictures of all that is live on a device. */
#ifndef MPR_PICTURE_H
#define MPR_PICTURE_H

#include "replay_state.h"

/* The device as it is now: at once; or begun now, told of each block that goes or loses its
 * address, and ended after the last event. The caller frees the picture. */
void mpr_picture_begin(struct mpr_picture *p, const struct mpr_replay *r, unsigned device,
                       uint64_t time);
void mpr_picture_gone(struct mpr_picture *p, const struct mpr_gpu_block *b);
void mpr_picture_end(struct mpr_picture *p, const struct mpr_replay *r);
void mpr_picture_take(struct mpr_picture *p, const struct mpr_replay *r, unsigned device,
                      uint64_t time);
/* Leaves each block that went once: its number. */
size_t mpr_picture_once(struct mpr_gpu_block *gone, size_t gones);
void mpr_picture_free(struct mpr_picture *p);

#endif
