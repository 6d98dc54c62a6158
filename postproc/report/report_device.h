/* The account of a device: what its bytes were, PyTorch's live blocks, NCCL's communicators.
 * Private to this layer. */
#ifndef MPR_REPORT_DEVICE_H
#define MPR_REPORT_DEVICE_H

#include "device.h"
#include "document.h"
#include "group.h"

/* @at: the instant in a heading for people ("peak", "then"), or NULL if people do not see it.
 * @by: the grouping of the rows. */
void mpr_report_device(struct mpr_document *doc, const struct mpr_device *device,
                       const struct mpr_device_state *state, const char *at, enum mpr_group by);

/* The same in a few lines: its largest parts. */
void mpr_report_account(struct mpr_document *doc, const struct mpr_device *device,
                        const struct mpr_device_state *state, const char *at);

#endif
