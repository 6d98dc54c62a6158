/* Whose log it is, told without a report: what chooses one log among several. */
#ifndef MPR_WHO_H
#define MPR_WHO_H

#include <stdint.h>

#include "arena.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

/* From the log's header alone.  The strings live in the arena.  0, or -1 with *error filled. */
int mpr_who_read(struct mpr_process_info *who, struct mpr_arena *arena, const char *path,
                 struct mpr_error *error);
/* The peak of its largest heap, which only a replay can tell; that of the whole log, but by heap
 * alone.  0, or -1 with *error filled. */
int mpr_who_peak(uint64_t *bytes, const char *path, const struct mpr_progress *progress,
                 struct mpr_error *error);

#endif
