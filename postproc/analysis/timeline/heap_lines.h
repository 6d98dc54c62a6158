/* What people see as one: rows of a heap as the reports' lines (naming.h), in each way that a page
 * stacks it and that has such lines.  As the reports do, what held bytes at the heap's peak folds
 * by these; what held none folds among itself.  Private to this layer. */
#ifndef MPR_HEAP_LINES_H
#define MPR_HEAP_LINES_H

#include "callers.h"
#include "timeline_result.h"
#include "tree.h"

struct mpr_heap_lines;

/* All rows of the heap, by numbers of replay; in the timeline's arena. */
struct mpr_heap_lines *mpr_heap_lines_make(struct mpr_timeline *t, const struct mpr_reader *reader,
                                           uint8_t heap);
/* The number of its line in a view: its node, Python and native stack, library and thread are
 * those of a block. 0: of none. */
uint32_t mpr_heap_lines_find(const struct mpr_heap_lines *lines, enum mpr_view view,
                             const struct mpr_band *of);
/* How many rows the line of that number has. */
size_t mpr_heap_lines_rows(const struct mpr_heap_lines *lines, enum mpr_view view, uint32_t number);
/* Of the line that number is of, some lies in a band that does not say so: whole: not even that it
 * is the line's. */
void mpr_heap_lines_hide(struct mpr_heap_lines *lines, enum mpr_view view, uint32_t number,
                         bool whole);
/* Who held bytes at the peak, by AUTO, largest first: numbers of replay. */
const struct mpr_holder *mpr_heap_lines_holders(const struct mpr_heap_lines *lines,
                                                size_t *holders);
/* After the last number of a node or stack that a band, a block or a holder has: fills out->view.
 */
void mpr_heap_lines_fill(const struct mpr_heap_lines *lines, const struct mpr_tree *tree,
                         struct mpr_callers *callers, struct mpr_heap_line *out);

#endif
