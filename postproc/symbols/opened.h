/* Object files that are open, shared by the logs of a run: a file is opened, and its sections are
 * unpacked, once for each build id and path.  Private to this folder; not thread-safe. */
#ifndef MPR_OPENED_H
#define MPR_OPENED_H

#include "debug.h"

struct mpr_opened;

/* Opens a log's object file, or shares it if another log did.  Returns NULL if it cannot be used,
 * and the reason in *state.  A file without a build id is not shared. */
struct mpr_opened *mpr_opened_get(const struct mpr_binary *object, enum mpr_symbols_state *state);
/* Gives the file back.  The last user leaves it open for the next log. */
void mpr_opened_put(struct mpr_opened *o);
/* Looks up a return address, @offset bytes from where the log's object began (mpr_debug_look).  If
 * it returns false the file is of no more use, and must be given back. */
bool mpr_opened_look(struct mpr_opened *o, uint64_t offset, mpr_debug_each *each, void *arg);

#endif
