/* Blocks of the host's heaps: applies their events to the live table and the accounts. */
#ifndef MPR_HOST_BLOCKS_H
#define MPR_HOST_BLOCKS_H

#include "replay.h"

void mpr_host_blocks_alloc(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_host_blocks_free(struct mpr_replay *r, const struct mpf_event *e);
/* realloc, in two steps. */
void mpr_host_blocks_move_begin(struct mpr_replay *r, struct mpr_thread *t,
                                const struct mpf_event *e);
void mpr_host_blocks_move_end(struct mpr_replay *r, struct mpr_thread *t,
                              const struct mpf_event *e);
/* A failed allocation of a block or a mapping. */
void mpr_host_blocks_fail(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Small objects of Python, of which the log has samples only. */
void mpr_host_blocks_python(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Blocks of host/heap in a log that does not have all of them. */
void mpr_host_blocks_part(struct mpr_replay *r, struct mpr_thread *t, struct mpf_event e);
/* Drops events that have waited for a partner (repairs.h) as long as they may. */
void mpr_host_blocks_expire(struct mpr_replay *r, uint64_t now);

#endif
