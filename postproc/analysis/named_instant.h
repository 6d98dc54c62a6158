/* Instants that a log has a name for: its peak, its end, the beginning or end of a range's
 * instance. */
#ifndef MPR_NAMED_INSTANT_H
#define MPR_NAMED_INSTANT_H

#include <stdbool.h>

#include "instant.h"
#include "progress.h"

struct mpr_error;

/* True for "peak", "end", "NAME:12" (the 12th time that a range of this name or path, "outer >
 * inner", was pushed; names with or without their numbers, as repeats.h has it, but a range that is
 * called "NAME:12" itself comes first) or "NAME:12.end". */
bool mpr_named_instant_parse(const char *text);
/* Reads the log for such an instant: of a range's instance the state that its event left behind.
 * heap: whose peak; NULL: the largest heap's.  0, or -1 with *error filled (none such). */
int mpr_named_instant_find(const char *path, const char *text, const char *heap,
                           const struct mpr_progress *progress, struct mpr_instant *at,
                           struct mpr_error *error);

#endif
