/* Reading the files that are kept with a log: LOG.symbols, LOG.perfmap.  Private to this folder. */
#ifndef MPR_BESIDE_H
#define MPR_BESIDE_H

#include <stddef.h>

#include "symbols.h"

/* Reads a whole file, which must be one that can be trusted.
 * @ending: the file's name is the log's with this added.
 * @max: bytes of a larger file are not read.
 * Returns the bytes with a zero after them, to be freed, and their number in *bytes; or NULL, and
 * in *found the reason. */
char *mpr_beside_read(const char *log, const char *ending, size_t max, size_t *bytes,
                      enum mpr_symbols_beside *found);

#endif
