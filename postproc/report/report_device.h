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

/* Adds a list of all devices, each with its largest parts at its `peak`.
 * @at: that instant for people; @oom: the state of the device with index @oom_device when it ran
 * out of memory, shown instead of its peak, or NULL. */
void mpr_report_accounts(struct mpr_document *doc, const struct mpr_device *device, size_t devices,
                         const char *at, const struct mpr_device_state *oom, unsigned oom_device);

#endif
