/* Reads the debug information of an object file: with libdw, or not at all (debug_none.c).  Private
 * to this folder. */
#ifndef MPR_DEBUG_H
#define MPR_DEBUG_H

#include <stdbool.h>

#include "symbols.h"

struct mpr_debug;

/* Returns NULL if the file cannot be used, and the reason in *state. */
struct mpr_debug *mpr_debug_open(const struct mpr_binary *object, enum mpr_symbols_state *state);
void mpr_debug_close(struct mpr_debug *d);
/* Calls @each with the functions at an address, innermost first.  Names are as in the file and
 * valid during the call.  Returns false if the file was truncated in the meantime: the reported
 * names are then useless.  (If less than a page is missing, it reads as zeros.) */
typedef void mpr_debug_each(void *arg, const char *function, const char *file, unsigned line);
bool mpr_debug_look(struct mpr_debug *d, uint64_t pc, mpr_debug_each *each, void *arg);

#endif
