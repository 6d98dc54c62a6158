/* The account of a device: the parts of its bytes, PyTorch's live blocks, and NCCL's
 * communicators. Private to this layer. */
#ifndef MPR_REPORT_DEVICE_H
#define MPR_REPORT_DEVICE_H

#include "device.h"
#include "document.h"
#include "group.h"

/* @at: the instant in a heading for people ("peak", "then"), or NULL if people do not see it.
 * @by: the grouping of the rows. */
void mpr_report_device(struct mpr_document *doc, const struct mpr_device *device,
                       const struct mpr_device_state *state, const char *at, enum mpr_group by);

/* Adds the line "gpu0 NVIDIA H200 GPU-30f74445 peak 1.99 GiB of 139.80 GiB used at 2.976 s". */
void mpr_report_device_heading(struct mpr_document *doc, const struct mpr_device *device,
                               const struct mpr_device_state *state, const char *at);
/* Returns the parts of the account that are not 0, in the document's memory, with room for one
 * more. Other recorded processes have their names. */
struct mpr_device_part *mpr_report_named_parts(struct mpr_document *doc,
                                               const struct mpr_device_state *state, size_t *parts);
/* Returns the parts of at least a twentieth (unknown bytes: a hundredth), largest first, and one
 * part for all others, in the document's memory. */
struct mpr_device_part *mpr_report_largest_parts(struct mpr_document *doc,
                                                 const struct mpr_device_state *state,
                                                 size_t *parts);

/* Adds a list of all devices, each with its largest parts at its `peak`. @at: what people read
 * for that instant. @oom: the state of device @oom_device when it ran out of memory, which
 * replaces its peak, or NULL. */
void mpr_report_accounts(struct mpr_document *doc, const struct mpr_device *device, size_t devices,
                         const char *at, const struct mpr_device_state *oom, unsigned oom_device);

#endif
