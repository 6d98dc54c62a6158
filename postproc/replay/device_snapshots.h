/* Snapshots of the devices at instants that are spread over the run. Each is taken just before an
 * event of a device, after nothing has changed for a while.
 *
 * Their number is limited, however long the run is. If there are too many, those are dropped that
 * are closer to the previous one than evenly spread ones would be. Some are kept whatever their
 * distance: the instants at which PyTorch held most of a device, and requested ones, at most a
 * quarter of all. A snapshot keeps copies of blocks that are removed after it, so memory grows with
 * the live blocks at the kept instants. */
#ifndef MPR_DEVICE_SNAPSHOTS_H
#define MPR_DEVICE_SNAPSHOTS_H

#include "replay.h"

struct mpr_device_snapshots;

/* @limit: number of instants that are kept, even. @from, @to: ns, both included. */
struct mpr_device_snapshots *mpr_device_snapshots_new(size_t limit, uint64_t from, uint64_t to);
void mpr_device_snapshots_free(struct mpr_device_snapshots *instants);

/* Call before an event of a device. */
void mpr_device_snapshots_before_event(struct mpr_device_snapshots *instants,
                                       const struct mpr_replay *r);
/* A block is removed or loses its address. */
void mpr_device_snapshots_keep(struct mpr_device_snapshots *instants,
                               const struct mpr_gpu_block *b);
/* Requests the state after the current event, if it lasts for a while. */
void mpr_device_snapshots_request(struct mpr_device_snapshots *instants);
/* Call after the last event. */
void mpr_device_snapshots_finish(struct mpr_device_snapshots *instants, const struct mpr_replay *r);

/* Returns how many there are, in order of time: at most `limit`, plus one, plus one for each
 * device. */
size_t mpr_device_snapshots_count(const struct mpr_device_snapshots *instants);
/* Returns true if it is kept whatever its distance. */
bool mpr_device_snapshots_is_kept(const struct mpr_device_snapshots *instants, size_t index);
/* Returns since when (ns) the devices were in that state. */
uint64_t mpr_device_snapshots_since(const struct mpr_device_snapshots *instants, size_t index);
/* Returns a device's snapshot, gathered after the last event. The caller frees it. It is not valid
 * if the device was not used yet. */
struct mpr_device_snapshot mpr_device_snapshots_get(const struct mpr_device_snapshots *instants,
                                                    size_t index, unsigned device,
                                                    const struct mpr_replay *r);

#endif
