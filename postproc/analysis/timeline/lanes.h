/* The lanes of ranges: a box for each time that a range was open, with what it took of each heap.
 * Private to this layer.
 *
 * Memory is bounded: when there are more boxes than wanted, those shorter than some length are
 * joined with neighbours of their lane to boxes of at most that length, and what is inside a box
 * so short goes; the length doubles until few enough are left, as long as each thread keeps one.
 * Where threads are so many that there is no room, what begins is left out.  Of what is deeper than
 * MPR_LANES_DEPTH there are no boxes. */
#ifndef MPR_LANES_H
#define MPR_LANES_H

#include "repeats.h"
#include "timeline_result.h"
#include "tree.h"

enum { MPR_LANES_DEPTH = 4 };

struct mpr_lanes;

/* At most so many boxes. */
struct mpr_lanes *mpr_lanes_new(size_t most);
void mpr_lanes_free(struct mpr_lanes *lanes); /* NULL: nothing */
/* Makes it a watch of a replay that has seen nothing yet, beside the one that it has, and which the
 * repeats are. */
void mpr_lanes_watch(struct mpr_lanes *lanes, struct mpr_repeats *repeats, struct mpr_replay *r);
/* After the last event. */
void mpr_lanes_end(struct mpr_lanes *lanes, const struct mpr_replay *r);
/* Fills boxes, and of each heap of the timeline what they took. */
void mpr_lanes_fill(const struct mpr_lanes *lanes, struct mpr_tree *tree, struct mpr_timeline *out);

#endif
