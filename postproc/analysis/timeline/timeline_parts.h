/* What timeline.c has the parts of its result filled by.  Private to this layer. */
#ifndef MPR_TIMELINE_PARTS_H
#define MPR_TIMELINE_PARTS_H

#include "callers.h"
#include "flows.h"
#include "large.h"
#include "levels.h"
#include "reader.h"
#include "timeline_result.h"
#include "tree.h"

/* From cells to bands: the largest keep their names, the rest is summed.  Fills bands, spans and
 * changes of the heap from its series. */
void mpr_bands_fill(struct mpr_timeline *timeline, const struct mpr_reader *reader,
                    const struct mpr_levels *levels, uint8_t heap, struct mpr_heap_line *out);

/* When blocks of its bands came and went; by cell: its band. */
void mpr_band_flows_fill(struct mpr_timeline *timeline, const struct mpr_flow_heap *heap,
                         const uint32_t *band_of, struct mpr_heap_line *out);

/* Who held a heap's peak, by the best name of each block (its range, else its Python stack, else
 * its native one or its library), by numbers of the result. */
void mpr_holders_fill(struct mpr_timeline *timeline, struct mpr_tree *tree,
                      struct mpr_callers *callers, struct mpr_heap_line *out);

/* The blocks of a heap that stand out at some time, from what replay kept. */
void mpr_lifetimes_fill(struct mpr_timeline *timeline, struct mpr_tree *tree,
                        struct mpr_callers *callers, const struct mpr_large *large, uint8_t heap,
                        struct mpr_heap_line *out);

/* What stands beside the bytes: marks (failures and graphs, too), instances of ranges, tracks of
 * the kernel's and the driver's figures.  Taken while replay runs, in bounded memory. */
struct mpr_annotations;

struct mpr_annotations *mpr_annotations_new(void);
void mpr_annotations_free(struct mpr_annotations *h);
/* Events that are no allocations come here: for mpr_watch, arg is the mpr_annotations. */
void mpr_annotations_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                         const struct mpf_event *e);
/* Fills marks, instances and tracks of the timeline. */
void mpr_annotations_fill(const struct mpr_annotations *h, struct mpr_tree *tree,
                          const struct mpr_reader *reader, struct mpr_timeline *out);

#endif
