/* What can read an object file's debug information: libdw, or nothing.  Private to this folder. */
#ifndef MPR_DEBUG_H
#define MPR_DEBUG_H

#include <stdbool.h>

#include "symbols.h"

struct mpr_debug;

/* NULL with *state telling why. */
struct mpr_debug *mpr_debug_open(const struct mpr_binary *object, enum mpr_symbols_state *state);
void mpr_debug_close(struct mpr_debug *d);
/* Calls each with the functions at pc, innermost first; names as they are in the file, valid during
 * the call.  False: pages of the file were gone, for it was truncated meanwhile: what it said now
 * is nothing.  (Less than a page reads as zeros.) */
typedef void mpr_debug_each(void *arg, const char *function, const char *file, unsigned line);
bool mpr_debug_look(struct mpr_debug *d, uint64_t pc, mpr_debug_each *each, void *arg);

#endif
