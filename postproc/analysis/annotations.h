/* What stands beside the bytes of a timeline: marks (failures and graphs, too), instances of ranges, tracks of the kernel's
 * and the driver's figures.  Taken while replay runs, in bounded memory.  Private to this layer. */
#ifndef MPR_ANNOTATIONS_H
#define MPR_ANNOTATIONS_H

#include "replay.h"
#include "timeline.h"

struct mpr_annotations;
struct mpr_tree;

struct mpr_annotations *mpr_annotations_new(void);        /* NULL without memory */
void mpr_annotations_free(struct mpr_annotations *h);
/* Events that are no allocations come here: for mpr_watch, arg is the mpr_annotations. */
void mpr_annotations_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t, const struct mpf_event *e);
/* Fills marks, instances and tracks of the timeline. */
void mpr_annotations_fill(const struct mpr_annotations *h, struct mpr_tree *tree, const struct mpr_replay *r,
                         struct mpr_timeline *out);

#endif
