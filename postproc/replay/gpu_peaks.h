/* The instant when most of a device was used, in the whole log and in chosen spans of time. */
#ifndef MPR_GPU_PEAKS_H
#define MPR_GPU_PEAKS_H

#include "replay_state.h"

/* Is anything known of it? */
bool mpr_gpu_is_there(const struct mpr_replay *r, unsigned device);
/* Bytes of gpuN/device. */
uint64_t mpr_gpu_tracked(const struct mpr_replay *r, unsigned device);
/* The newest measurement, and what changed since. */
uint64_t mpr_gpu_used(const struct mpr_replay *r, unsigned device);
/* More may be used than before.  measured: that is all that happened, and where less is tracked now
 * than at the peak so far, little more makes no new one. */
void mpr_gpu_note_peak(struct mpr_replay *r, unsigned device, bool measured);
/* Before an event that can shrink what is live. */
void mpr_gpu_take_pictures(struct mpr_replay *r);
/* A block of device memory goes, or loses its address: pictures that were begun keep it. */
void mpr_gpu_gone(struct mpr_replay *r, const struct mpr_gpu_block *b);
/* Tracked bytes changed: was it measured already, not longer ago than this? */
#define MPR_IN_FLIGHT_NS UINT64_C(100000000)
void mpr_gpu_explain(struct mpr_replay *r, unsigned device, int64_t change);
/* The chosen instant begins: devices have no peaks yet.  What each holds counts as of `time`.  The
 * instant ends. */
void mpr_gpu_choose(struct mpr_replay *r);
void mpr_gpu_carry(struct mpr_replay *r, uint64_t time);
void mpr_gpu_chosen(struct mpr_replay *r);
/* Before any event: of windows that have passed. */
void mpr_gpu_close_windows(struct mpr_replay *r);
/* After the last event. */
void mpr_gpu_finish(struct mpr_replay *r);

#endif
