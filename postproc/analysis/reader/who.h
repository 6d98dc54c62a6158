/* Whose log it is, told without a report: what chooses one log among several. */
#ifndef MPR_WHO_H
#define MPR_WHO_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

/* From the log's header alone.  The strings live in the arena.  0, or -1 with *error filled. */
int mpr_who_read(struct mpr_process_info *who, struct mpr_arena *arena, const char *path,
                 struct mpr_error *error);

#define MPR_NEVER UINT64_MAX
enum { MPR_WHO_HEAPS = 256 };

/* What only a replay can tell. */
struct mpr_who_end {
    uint64_t peak;   /* bytes, of its largest heap */
    bool lacks;      /* the heap that is wanted */
    uint64_t failed; /* CLOCK_REALTIME, ns: when it was refused device memory for good, or killed
                        for host memory; MPR_NEVER */
};

/* From the whole log, but by heap alone.  @heap: the heap that is asked for, or
 * MPF_HEAP_NONE.  0, or -1 with *error filled. */
int mpr_who_ended(struct mpr_who_end *end, const char *path, uint8_t heap,
                  const struct mpr_progress *progress, struct mpr_error *error);
/* Would a report on one log be on the left one rather?  One that has the heap, of these the one
 * that failed first, else the one with the larger peak. */
bool mpr_who_rather(const struct mpr_who_end *left, const struct mpr_who_end *right);

/* Heaps that logs have, by their number (mpf/event.h). */
struct mpr_who_heaps {
    bool there[MPR_WHO_HEAPS];
};
/* Has the log this heap?  Read as far as its first block.  1; 0: all of it was read, and *heaps has
 * those that it has, beside what was there; -1 with *error filled. */
int mpr_who_has_heap(const char *path, uint8_t heap, struct mpr_who_heaps *heaps,
                     const struct mpr_progress *progress, struct mpr_error *error);

#endif
