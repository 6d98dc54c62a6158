/* The parts of a timeline; timeline.c combines them. Private to this layer. */
#ifndef MPR_TIMELINE_PARTS_H
#define MPR_TIMELINE_PARTS_H

#include "alloc_free_matrix.h"
#include "excerpts.h"
#include "large.h"
#include "levels.h"
#include "reader.h"
#include "repeats.h"
#include "timeline.h"

/* ---- timeline.c: ranges, call stacks and frames that a result mentions get the result's numbers.
 * Each is named once. */

struct mpr_numbering {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    uint32_t *of_node;          /* by node: its number + 1, or 0 */
    struct mpr_tree_node *node; /* by number; the first is the empty path */
    size_t nodes;
    uint32_t *of_native, *of_python; /* a stack's number, by node, or 0 */
    struct mpr_call_stack *stack;    /* by number; the first is empty */
    uint32_t stacks, stack_cap;
    const struct mpr_frame **frame; /* by number */
    uint32_t frames, frame_cap;
    struct mpr_index of_frame; /* by hash of the text: number + 1 */
};

void mpr_numbering_init(struct mpr_numbering *n, struct mpr_arena *arena,
                        const struct mpr_reader *reader);
void mpr_numbering_free(struct mpr_numbering *n);
/* Returns the number of a range. Its ancestors have smaller numbers. */
uint32_t mpr_numbering_node(struct mpr_numbering *n, uint32_t node);
/* Return the number of a stack, or 0 for node 0. */
uint32_t mpr_numbering_native(struct mpr_numbering *n, uint32_t node);
uint32_t mpr_numbering_python(struct mpr_numbering *n, uint32_t node);
uint32_t mpr_numbering_frame(struct mpr_numbering *n, const struct mpr_frame *frame);
/* Returns the numbers of the path's frames. It does not become one of the stacks. */
struct mpr_call_stack mpr_numbering_path(struct mpr_numbering *n, struct mpr_path path);
/* Fills nodes, stacks and frames of the timeline. */
void mpr_numbering_fill(const struct mpr_numbering *n, struct mpr_timeline *out);

/* ---- bands.c: the owners of a heap become bands.  The largest have a band each; the others share
 * bands. */

/* Fills bands, spans, changes and flows of the heap from its series. */
void mpr_bands_fill(struct mpr_timeline *timeline, const struct mpr_reader *reader,
                    const struct mpr_levels *levels, uint8_t heap, struct mpr_heap_timeline *out);

/* Replaces the numbers in the heap's places at the peak by those of the result. Call it last: a
 * place only keeps a range that the result has by then. */
void mpr_places_number(struct mpr_numbering *n, struct mpr_heap_timeline *out);

/* ---- spans.c: the bands over time */

/* A heap's bands over time in buckets, and excerpts that have every change, in order of `from`. */
struct mpr_band_series {
    const struct mpr_series *series;
    const struct mpr_excerpt_series *excerpt;
    size_t excerpts, bands;
    size_t numbers; /* per band: 1, or MPR_LEVELS_NUMBERS; the series has the first numbers of
                       all bands, then the second ones, and so on */
};
/* Fills spans, changes and exact intervals of the heap. An excerpt replaces the buckets in its
 * interval. */
void mpr_spans_fill(const struct mpr_band_series *splice, struct mpr_arena *arena,
                    struct mpr_heap_timeline *out);
/* Fills the heap's flows and slices.  @band_of: the band of each cell. */
void mpr_band_flows_fill(struct mpr_timeline *timeline, const struct mpr_alloc_free_heap *heap,
                         const uint32_t *band_of, struct mpr_heap_timeline *out);

/* ---- owner_lines.c: rows of a heap as the lines of the reports (naming.h), in each view of the
 * page that has such lines.  As in the reports, rows with bytes at the heap's peak are merged with
 * each other, and so are rows without. */

/* Returns the lines for all owners of the heap, with the replay's numbers, in the timeline's
 * arena. */
struct mpr_owner_lines *mpr_owner_lines_make(struct mpr_timeline *t, struct mpr_reader *reader,
                                             uint8_t heap);
/* Returns the number of a block's line in a view, or 0.  @block: a band with the node, stacks,
 * library and thread of the block. */
uint32_t mpr_owner_lines_find(const struct mpr_owner_lines *lines, enum mpr_view view,
                              const struct mpr_band *block);
/* Returns how many owners the line has. */
size_t mpr_owner_lines_rows(const struct mpr_owner_lines *lines, enum mpr_view view,
                            uint32_t number);
/* Records that some bytes of the line are in a band that does not show their owner. @whole: it
 * does not show the line's name either. */
void mpr_owner_lines_hide(struct mpr_owner_lines *lines, enum mpr_view view, uint32_t number,
                          bool whole);
/* Fills the owners at the heap's peak. A block belongs to its range, else to its Python stack,
 * else to its native stack or library. */
void mpr_owner_lines_fill_holders(const struct mpr_owner_lines *lines, struct mpr_numbering *n,
                                  struct mpr_heap_timeline *out);
/* Fills the views with those owners that bands, blocks and holders have. Call it after these
 * have their numbers. */
void mpr_owner_lines_fill(const struct mpr_owner_lines *lines, struct mpr_numbering *n,
                          struct mpr_heap_timeline *out);

/* ---- annotations.c: marks (also of failures and graphs), instances of ranges, and the figures of
 * kernel and driver, gathered during replay in bounded memory */

struct mpr_annotations;

/* Starts to collect them, before the first event. */
struct mpr_annotations *mpr_annotations_watch(struct mpr_replay *r);
void mpr_annotations_free(struct mpr_annotations *a); /* may be NULL */
/* Fills marks, instances and tracks of the timeline. */
void mpr_annotations_fill(const struct mpr_annotations *a, struct mpr_numbering *n,
                          struct mpr_timeline *out);

/* ---- lanes.c: a box for each instance of a range, with the memory that it used of each heap
 *
 * Memory is bounded.  If there are too many boxes, those shorter than some length are joined with
 * neighbours in their lane to boxes of at most that length, and boxes inside them are dropped.  The
 * length doubles until there are few enough boxes, but each thread keeps one.  If there are too
 * many threads for that, new ranges are omitted.  Deeper ranges than MPR_LANES_DEPTH have no box.
 */

enum { MPR_LANES_DEPTH = 4 };

struct mpr_lanes;

/* Starts to collect at most @limit boxes, before the first event. @repeats must already watch
 * the replay. */
struct mpr_lanes *mpr_lanes_watch(size_t limit, struct mpr_repeats *repeats, struct mpr_replay *r);
void mpr_lanes_free(struct mpr_lanes *lanes); /* may be NULL */
/* Call it after the last event. */
void mpr_lanes_end(struct mpr_lanes *lanes, const struct mpr_replay *r);
/* Fills the boxes, and each box's peak, allocations and so on for each heap of the timeline. */
void mpr_lanes_fill(const struct mpr_lanes *lanes, struct mpr_numbering *n,
                    struct mpr_timeline *out);

#endif
