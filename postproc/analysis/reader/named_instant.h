/* Instants by name: the peak of a log, the highest resident memory, the highest charge of the
 * memory cgroup, the newest out-of-memory event of a device from which the program did not
 * recover, the end of the log, the begin or end of a range's instance, and marks. */
#ifndef MPR_NAMED_INSTANT_H
#define MPR_NAMED_INSTANT_H

#include <stdbool.h>

#include "instant.h"
#include "progress.h"

struct mpr_error;

/* Returns true for "peak", "rss", "cgroup", "oom", "end" and names of instances.
 * "NAME:12" is the 12th instance of a range with this name or path, "outer > inner", with or
 * without its numbers (repeats.h). */
bool mpr_named_instant_parse(const char *text);
/* Reads the log to find such an instant. For an instance of a range it is the state after the
 * instance's begin or end. If no range has the name, it is the state after the mark with that
 * name, or for "NAME:12" after the 12th such mark.
 *
 * @heap: the heap whose peak is meant, or MPF_HEAP_NONE for the largest heap. Returns 0, or -1
 * with *error filled, also if the log does not have the instant. */
int mpr_named_instant_find(const char *path, const char *text, uint8_t heap,
                           const struct mpr_progress *progress, struct mpr_instant *at,
                           struct mpr_error *error);

/* Returns -1 with *error: the log has no out-of-memory event. */
int mpr_no_oom(const char *path, struct mpr_error *error);

#endif
