/* Facts about a whole log that are needed before its growth can be measured.  Private to this
 * layer. */
#ifndef MPR_PRESCAN_H
#define MPR_PRESCAN_H

#include "reader.h"

struct mpr_prescan {
    struct mpr_choice choice; /* the grouping for AUTO */
    const char *range; /* the range with the instances by which growth is measured, in the arena, or
                          NULL if no range repeats often enough */
    uint64_t end_ns;   /* time of the last event */
    struct mpr_prescan_heap {
        uint64_t peak_bytes, peak_ns, end_bytes;
    } heap[MPR_HEAPS]; /* by code; zeros if there is a range */
};

/* Fills end_ns and the heaps from a finished replay. */
void mpr_prescan_take(struct mpr_prescan *out, const struct mpr_reader *reader);
/* Reads a log.  @with_heaps: the heaps are needed even if there is a range.  Returns 0, or -1 with
 * *error filled. */
int mpr_prescan_read(struct mpr_prescan *out, struct mpr_arena *arena, const char *path,
                     bool with_heaps, const struct mpr_progress *progress, struct mpr_error *error);
/* Returns the time up to which growth is measured by the clock, ns.  @heap: the reported heap, or
 * MPF_HEAP_NONE.
 *
 * The last instants may be the end of the program, which frees its blocks.  So growth is measured
 * up to the peak of the largest heap, if the heap has lost half of that peak and the peak is in the
 * last third of the log.  The peak of a heap half as large that has lost as much serves too: arenas
 * of Python peak with the last one that was mapped, long before the objects in them.  If the
 * program still works after it has freed that much, growth is measured up to the end of the log. */
uint64_t mpr_prescan_growth_end(const struct mpr_prescan *known, uint8_t heap, const char *path,
                                const struct mpr_progress *progress);

#endif
