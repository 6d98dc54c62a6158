/* Applies events of host memory, which are blocks and mappings, to the accounts. */
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
/* For realloc: when it is called, and when it returns. */
void mpr_host_move_begin(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_host_move_end(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* For FAIL: a block or a mapping could not be allocated. */
void mpr_host_fail(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* For small objects of Python, of which the log has only samples. */
void mpr_host_python(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* For blocks of host/heap in a log that does not have all of them. */
void mpr_host_part(struct mpr_replay *r, struct mpr_thread *t, struct mpf_event e);
/* Drops the events that have waited for a partner for too long (reorder.h). */
void mpr_host_expire(struct mpr_replay *r, uint64_t now);

/* ---- mappings of host/mmap and host/shm (mappings.c)
 *
 * They are intervals that do not overlap.  `value` is the cell that made the bytes writable, or
 * that reserved them.  Only writable bytes count. */

/* An mremap in progress, from REMAP_FROM to REMAP_TO.  Its intervals are not mapped meanwhile,
 * because another thread may map something at their address before the call returns.  Their bytes
 * count until they are mapped again. */
struct mpr_mremap {
    struct mpr_interval *span; /* NULL: nothing was known there */
    size_t count;
    uint64_t from, size;
};

/* Applies MAP, RESERVE, UNMAP, PROTECT_* and REMAP_*. */
void mpr_mappings_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* A FAIL ends the newest mremap of the thread.  If the FAIL was that of an mmap in a signal
 * handler, a REMAP_TO still follows. */
void mpr_mappings_remap_failed(struct mpr_replay *r, struct mpr_thread *t);

#endif
