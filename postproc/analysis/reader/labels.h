/* Names for what replay knows by number.  Private to this layer.
 *
 * A reader makes each frame once, in the arena of the first call that needs it. Later calls return
 * the same frame, so their arenas must not live longer than that one. */
#ifndef MPR_LABELS_H
#define MPR_LABELS_H

#include "arena.h"
#include "reader.h"

/* Were some of the heap's blocks counted now and then, so that a peak of it may be another? */
bool mpr_label_is_about(const struct mpr_replay *r, uint8_t heap);
/* Does each byte of it lie in memory that other heaps count, whichever those are?  Regions that
 * libraries told NVTX of do: they are in no sum. */
bool mpr_label_is_nested(uint8_t heap);
/* The cell's path, outermost first: ranges, or one text for a thread, a size class or a heap. */
struct mpr_path mpr_label_path(struct mpr_arena *arena, const struct mpr_reader *reader,
                               const struct mpr_cell *cell);
/* Are there blocks in the cell that stand for others, of the same site, which lie in another one?
 * at_least: so the cell has not all that its name has made. */
bool mpr_label_is_sampled(const struct mpr_replay *r, const struct mpr_cell *cell);
bool mpr_label_at_least(const struct mpr_replay *r, const struct mpr_cell *cell);
/* The path of a node of the ranges, and of a native stack; outermost first. */
struct mpr_path mpr_label_node(struct mpr_arena *arena, const struct mpr_reader *reader,
                               uint32_t node);
struct mpr_path mpr_label_stack(struct mpr_arena *arena, const struct mpr_reader *reader,
                                uint32_t stack);
/* The ranges; where there are none the Python stack, then the native one. */
struct mpr_path mpr_label_best(struct mpr_arena *arena, const struct mpr_reader *reader,
                               uint32_t node, struct mpr_site at);
/* What could not be named, and why: a line for each reason. */
const char *const *mpr_label_notes(struct mpr_arena *arena, const struct mpr_reader *reader,
                                   size_t *notes);
/* Returns true if native calls have no names in this run because libdw is not on this machine. */
bool mpr_label_is_libdw_missing(void);
/* "domain:name", or the name alone in the default domain. */
const char *mpr_label_name(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t name,
                           uint32_t domain);
/* The innermost range, or the frame, of a node. */
const struct mpr_frame *mpr_label_frame(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        uint32_t node);
const char *mpr_label_size(struct mpr_arena *arena, uint32_t class);
/* Whose blocks a cell of this thread has: the thread's name; of memprof's own, 0, those that are
 * nobody's. */
const char *mpr_label_maker(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t number);
const char *mpr_label_thread(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t number);
const struct mpr_frame *mpr_label_library_frame(struct mpr_arena *arena, const struct mpr_replay *r,
                                                uint32_t library);
/* That of a maker, whose name is without the kernel's number. */
const struct mpr_frame *mpr_label_maker_frame(struct mpr_arena *arena, const struct mpr_replay *r,
                                              uint32_t number);

#endif
