/* Paths of a column as people see them: call stacks are shortened (user_frame.h).  Private to this
 * layer.
 *
 * Rows that were merged to lines are shortened before (naming.h).  Here each row is its own, so if
 * two stacks are shortened to the same text, they also get the calls in which they differ. */
#ifndef MPR_DISTINCT_PATHS_H
#define MPR_DISTINCT_PATHS_H

#include <stddef.h>

#include "document.h"
#include "user_frame.h"

/* Changes the values in place, except those that are not paths or were shortened before.  New texts
 * are in the arena. */
void mpr_distinct_paths(struct mpr_arena *arena, struct mpr_user_frames *user_frames,
                        enum mpr_group by, struct mpr_value *value, size_t values);

#endif
