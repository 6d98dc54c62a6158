/* The GPUs that a process used, each with its account at its peak.  Private to this layer. */
#ifndef MPR_DEVICES_H
#define MPR_DEVICES_H

#include "device.h"
#include "reader.h"

/* Of a log that was read, by index; in the arena. */
struct mpr_device *mpr_devices_fill(struct mpr_arena *arena, const struct mpr_reader *reader,
                                    size_t *devices);

#endif
