/* Facts about a whole log that must be known before its growth can be measured.  Private to this
 * layer. */
#ifndef MPR_PRESCAN_H
#define MPR_PRESCAN_H

#include "reader.h"

struct mpr_prescan {
    struct mpr_choice choice; /* the grouping for AUTO */
    const char *range; /* growth is measured per instance of this range, which is in the arena; NULL
                          if no range repeats often enough */
    uint64_t end_ns;   /* time of the last event */
    struct mpr_prescan_heap {
        uint64_t peak_bytes, peak_ns, end_bytes;
    } heap[MPR_HEAPS]; /* by code; zeros if there is a range */
};

/* Fills end_ns and the heaps from a finished replay. */
void mpr_prescan_take(struct mpr_prescan *out, const struct mpr_reader *reader);
/* Reads a log.  @with_heaps: fill the heaps even if there is a range.  Returns 0, or -1 with *error
 * filled. */
int mpr_prescan_read(struct mpr_prescan *out, struct mpr_arena *arena, const char *path,
                     bool with_heaps, const struct mpr_progress *progress, struct mpr_error *error);
/* Returns the time until which growth is measured by the clock, ns.  @heap: the reported heap, or
 * MPF_HEAP_NONE.
 *
 * A program that ends frees its blocks, which would hide growth.  So growth is measured until the
 * peak of the largest heap, if that peak is in the last third of the log and the heap lost half of
 * it.  The latest such peak of a heap at least half as large counts: Python's arenas peak when the
 * last one is mapped, long before the objects in them do.  If the program continues to work after
 * it freed that much, growth is measured until the end of the log. */
uint64_t mpr_prescan_growth_end(const struct mpr_prescan *known, uint8_t heap, const char *path,
                                const struct mpr_progress *progress);

#endif
