/* Writes LOG.symbols, the names of a log's calls: for reports where the program's files are not. */
#ifndef MPR_STORE_H
#define MPR_STORE_H

#include <stdbool.h>

#include "error.h"
#include "symbols.h"

struct mpr_store;

/* For the log of that id. */
struct mpr_store *mpr_store_new(const uint8_t id[16]);
void mpr_store_free(struct mpr_store *s);
/* What follows is of this object.  An object comes once, and each of its addresses once.  False,
 * here and below: there is no more room. */
bool mpr_store_object(struct mpr_store *s, const struct mpr_binary *object);
/* The calls at a return address; count 0: nothing is known of it. */
bool mpr_store_address(struct mpr_store *s, uint64_t offset, const struct mpr_symbol *symbol,
                       size_t count);
/* Puts it in the place of what was beside the log, when it is whole.  Its bytes, or -1 with *error
 * filled. */
long mpr_store_write(struct mpr_store *s, const char *log, struct mpr_error *error);

#endif
