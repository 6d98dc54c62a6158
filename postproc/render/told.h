/* Paths of a column as people see them: a call stack by what it tells.  Private to this layer.
 *
 * Rows that stand for other rows are told before (naming.h); here each row is its own, so where two
 * stacks tell the same, what they differ by is told as their caller. */
#ifndef MPR_TOLD_H
#define MPR_TOLD_H

#include <stddef.h>

#include "document.h"
#include "telling.h"

/* In place, but for values that are no path, or told already; new texts are in the arena. */
void mpr_told(struct mpr_arena *arena, struct mpr_telling *telling, enum mpr_group by,
              struct mpr_value *value, size_t values);

#endif
