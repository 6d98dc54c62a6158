/* Names of code that a JIT generated, from LOG.perfmap (perf_map.h).  Private to this folder. */
#ifndef MPR_GENERATED_H
#define MPR_GENERATED_H

#include <stdint.h>

#include "symbols.h"

struct mpr_generated;

/* Reads the map of a log.  Returns NULL if it cannot be used, and the reason in *found. */
struct mpr_generated *mpr_generated_open(const char *log, enum mpr_symbols_stored_state *found);
void mpr_generated_free(struct mpr_generated *g);
/* Returns the name of the function at this address, to be freed, or NULL.  If several functions had
 * the address at different times, the name is the last one's, with the number of the others. */
char *mpr_generated_name(const struct mpr_generated *g, uint64_t address);

#endif
