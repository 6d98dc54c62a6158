/* Text of a device's account: what its bytes were, PyTorch's live blocks, NCCL's communicators.  Private to this layer. */
#ifndef MPR_DEVICE_TEXT_H
#define MPR_DEVICE_TEXT_H

#include <stdio.h>

#include "device.h"
#include "render.h"

/* at: what the instant is ("peak", "at the failure"); by: what the rows are by. */
void mpr_device_text(FILE *out, const struct mpr_device *device, const struct mpr_device_state *state, const char *at,
                     const char *by, const struct mpr_style *style);
/* A size that may be negative, for the account. */
void mpr_device_signed(char *out, size_t cap, int64_t bytes);

#endif
