/* Distinguishes a program that frees its blocks because it ends from one that frees the blocks of a
 * phase and then continues.  Private to this layer. */
#ifndef MPR_TEARDOWN_H
#define MPR_TEARDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "first_look.h"
#include "progress.h"

/* Returns true if the heap, a code of mpf/event.h, does nothing but shrink from its peak to the end
 * of the log.  Reads the log once more; false if that fails. */
bool mpr_teardown_follows(const struct mpr_first_look *known, unsigned heap, const char *path,
                          const struct mpr_progress *progress);

#endif
