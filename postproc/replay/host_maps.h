/* Mappings of the host (host/mmap, host/shm): events become regions of writable bytes. */
#ifndef MPR_HOST_MAPS_H
#define MPR_HOST_MAPS_H

#include "replay.h"

/* MAP, RESERVE */
void mpr_host_maps_map(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_host_maps_unmap(struct mpr_replay *r, const struct mpf_event *e);
/* PROTECT_RW, PROTECT_NONE */
void mpr_host_maps_protect(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* mremap, in two steps; a FAIL is its end, or that of an mmap of a handler's: then it ends later.
 */
void mpr_host_maps_remap_from(struct mpr_replay *r, struct mpr_thread *t,
                              const struct mpf_event *e);
void mpr_host_maps_remap_to(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_host_maps_refused(struct mpr_replay *r, struct mpr_thread *t);

#endif
