/* Files with names that are kept with a log.  LOG.symbols has the names of the calls in a log's
 * native stacks.  It is written on a machine that has the object files of the program, and reports
 * use it on other machines.  FORMAT.md describes it: text, in one zstd frame.
 *
 * The reader trusts nothing: the file must be complete, of this log and of a known version, and the
 * names of an object are only used for its build id.  Other folders use only the writer. */
#ifndef MPR_STORE_H
#define MPR_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "debug.h"
#include "error.h"
#include "symbols.h"

/* ---- writing */

struct mpr_store;

/* Begins a file for the log with this id. */
struct mpr_store *mpr_store_new(const uint8_t id[16]);
void mpr_store_free(struct mpr_store *s);
/* Begins an object.  Add each object once, and each of its addresses once.  Returns false if the
 * file would become too large. */
bool mpr_store_object(struct mpr_store *s, const struct mpr_binary *object);
/* Adds the calls at a return address of the object; @count is 0 if none is known.  Returns false if
 * the file would become too large. */
bool mpr_store_address(struct mpr_store *s, uint64_t offset, const struct mpr_symbol *symbol,
                       size_t count);
/* Writes the file next to the log, and replaces an older one when it is complete.  Returns its
 * bytes, or -1 with *error filled. */
long mpr_store_write(struct mpr_store *s, const char *log, struct mpr_error *error);

/* ---- reading */

#define MPR_STORED_ENDING ".symbols"

struct mpr_stored;

/* Opens the file of a log with this id.  Returns NULL if it cannot be used, and the reason in
 * *found. */
struct mpr_stored *mpr_stored_open(const char *log, const uint8_t id[16],
                                   enum mpr_symbols_stored_state *found);
void mpr_stored_free(struct mpr_stored *s);
/* Returns the number of an object in the file, or 0 if it is not in the file. */
uint32_t mpr_stored_object(const struct mpr_stored *s, const struct mpr_binary *object);
/* Calls @each as mpr_debug_look does.  Returns false if the address is not in the file.
 * @offset: of the address in the mapped object */
bool mpr_stored_look(const struct mpr_stored *s, uint32_t object, uint64_t offset,
                     mpr_debug_each *each, void *arg);

/* ---- LOG.perfmap: names of code that a JIT compiler generated (file.h) */

struct mpr_generated;

/* Reads the map of a log.  Returns NULL if it cannot be used, and the reason in *found. */
struct mpr_generated *mpr_generated_open(const char *log, enum mpr_symbols_stored_state *found);
void mpr_generated_free(struct mpr_generated *g);
/* Returns the name of the function at this address, which the caller frees, or NULL.  If several
 * functions had the address at different times: the name of the last, and the number of others. */
char *mpr_generated_name(const struct mpr_generated *g, uint64_t address);

#endif
