/* Mappings of the host (host/mmap, host/shm): which bytes are mapped where, and who made them
 * writable. */
#ifndef MPR_MAPPINGS_H
#define MPR_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

#include "intervals.h"
#include "mpf/event.h"

struct mpr_replay;
struct mpr_thread;

/* Intervals that do not overlap. `what` is a cell: of the holder of the bytes if they are writable,
 * otherwise of who reserved them. Only writable bytes count. */
struct mpr_mappings {
    struct mpr_intervals spans;
};

/* An mremap in progress, from REMAP_FROM to REMAP_TO: another thread may map something at the old
 * place before the call returns. So the intervals are no longer mapped, but their bytes count until
 * they have arrived. */
struct mpr_leaving {
    struct mpr_interval *span; /* NULL: nothing was known there */
    size_t count;
    uint64_t from, size;
};

/* MAP, RESERVE. */
void mpr_mappings_map(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_mappings_unmap(struct mpr_replay *r, const struct mpf_event *e);
/* PROTECT_RW, PROTECT_NONE. */
void mpr_mappings_protect(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* mremap. A FAIL ends it, unless that was an mmap in a signal handler: then a REMAP_TO still comes.
 */
void mpr_mappings_remap_from(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_mappings_remap_to(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_mappings_remap_failed(struct mpr_replay *r, struct mpr_thread *t);

#endif
