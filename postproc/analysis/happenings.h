/* What happened beside allocations: marks, failures, graphs; instances of ranges; samples of the kernel's and the
 * driver's figures.  Taken while replay runs, in bounded memory.  Private to this layer. */
#ifndef MPR_HAPPENINGS_H
#define MPR_HAPPENINGS_H

#include "replay.h"
#include "timeline.h"

struct mpr_happenings;
struct mpr_tree;

struct mpr_happenings *mpr_happenings_new(void);        /* NULL without memory */
void mpr_happenings_free(struct mpr_happenings *h);
/* Events that are no allocations come here: for mpr_watch, arg is the mpr_happenings. */
void mpr_happenings_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t, const struct mpf_event *e);
/* Fills marks, instances and tracks of the timeline. */
void mpr_happenings_fill(const struct mpr_happenings *h, struct mpr_tree *tree, const struct mpr_replay *r,
                         struct mpr_timeline *out);

#endif
