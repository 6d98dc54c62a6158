/* Instants that a log has a name for: its peak, its newest lack of device memory that the program
 * did not get over, its end, the beginning or end of a range's instance. */
#ifndef MPR_NAMED_INSTANT_H
#define MPR_NAMED_INSTANT_H

#include <stdbool.h>

#include "instant.h"
#include "progress.h"

struct mpr_error;

/* True for "peak", "oom", "end" and names of instances (instance_name.h): "NAME:12" is the 12th
 * time that a range of this name or path, "outer > inner", was pushed, with or without its numbers,
 * as repeats.h has it. */
bool mpr_named_instant_parse(const char *text);
/* Reads the log for such an instant: of a range's instance the state that its event left behind.
 * heap: whose peak; NULL: the largest heap's.  0, or -1 with *error filled (none such). */
int mpr_named_instant_find(const char *path, const char *text, uint8_t heap,
                           const struct mpr_progress *progress, struct mpr_instant *at,
                           struct mpr_error *error);

/* -1, and *error says that there was no such lack. */
int mpr_no_oom(const char *path, struct mpr_error *error);

#endif
