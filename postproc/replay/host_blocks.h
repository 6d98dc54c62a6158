/* Blocks of the host's heaps: events become live blocks, and bytes in the books. */
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
/* Of a mapping, too. */
void mpr_host_blocks_fail(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Of Python's small objects the log has sampled ones only. */
void mpr_host_blocks_python(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Those of host/heap, of which not every one is in the log; and the rest, which is counted: of
 * nobody's range, thread or size. */
void mpr_host_blocks_part(struct mpr_replay *r, struct mpr_thread *t, struct mpf_event e);
void mpr_host_blocks_rest(struct mpr_replay *r, const struct mpf_event *e);
/* Events that wait for a partner (repairs.h), as long as they may: it does not come. */
void mpr_host_blocks_expire(struct mpr_replay *r, uint64_t now);

#endif
