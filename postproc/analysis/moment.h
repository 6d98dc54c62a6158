/* Instants of a log by what happened: its peak, or the beginning or end of a range's instance. */
#ifndef MPR_MOMENT_H
#define MPR_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "at.h"
#include "progress.h"

struct mpr_error;

/* "peak", "NAME:12" (the 12th time that a range of this name or path, "outer > inner", was pushed) or "NAME:12.end". */
bool mpr_moment_parse(const char *text);
/* Reads the log for it: of a range's instance the state that its instant left behind.  heap: whose peak; NULL: the largest
 * heap's.  0, or -1 with *error filled (none such). */
int mpr_moment_find(const char *path, const char *text, const char *heap, const struct mpr_progress *progress,
                    struct mpr_at *at, struct mpr_error *error);

#endif
