/* The host's memory: applies events of blocks and mappings to the accounts. */
#ifndef MPR_HOST_MEMORY_H
#define MPR_HOST_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "intervals.h"
#include "mpf/event.h"

struct mpr_replay;
struct mpr_thread;

/* ---- blocks (host_blocks.c) */

void mpr_host_alloc(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_host_free(struct mpr_replay *r, const struct mpf_event *e);
/* realloc, in two steps. */
void mpr_host_move_begin(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_host_move_end(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* A failed allocation of a block or a mapping. */
void mpr_host_fail(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Small objects of Python, of which the log has samples only. */
void mpr_host_python(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Blocks of host/heap in a log that does not have all of them. */
void mpr_host_part(struct mpr_replay *r, struct mpr_thread *t, struct mpf_event e);
/* Drops events that have waited for a partner (reorder.h) as long as they may. */
void mpr_host_expire(struct mpr_replay *r, uint64_t now);

/* ---- mappings of host/mmap and host/shm (mappings.c)
 *
 * Replay has them as intervals that do not overlap. `what` is the cell that made the bytes
 * writable, or that reserved them. Only writable bytes count. */

/* An mremap in progress, from REMAP_FROM to REMAP_TO: another thread may map something at the old
 * place before the call returns. So the intervals are no longer mapped, but their bytes count until
 * they have arrived. */
struct mpr_leaving {
    struct mpr_interval *span; /* NULL: nothing was known there */
    size_t count;
    uint64_t from, size;
};

/* Takes MAP, RESERVE, UNMAP, the PROTECTs and the REMAPs. */
void mpr_mappings_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* A FAIL ends an mremap, unless that was an mmap in a signal handler: then a REMAP_TO still comes.
 */
void mpr_mappings_remap_failed(struct mpr_replay *r, struct mpr_thread *t);

#endif
