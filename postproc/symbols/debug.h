/* Reads the debug information of an object file: with libdw, or not at all (debug_none.c).  Private
 * to this folder. */
#ifndef MPR_DEBUG_H
#define MPR_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols.h"

struct mpr_debug;

/* Returns NULL if the file cannot be used, and the reason in *state. */
struct mpr_debug *mpr_debug_open(const struct mpr_binary *object, enum mpr_symbols_state *state);
void mpr_debug_close(struct mpr_debug *d);
/* Calls @each with the functions at an address, innermost first.  Names are those in the file and
 * valid during the call.  Returns false if the file was truncated; the names may then be wrong. (If
 * less than a page is missing, that is not noticed.) */
typedef void mpr_debug_each(void *arg, const char *function, const char *file, unsigned line);
bool mpr_debug_look(struct mpr_debug *d, uint64_t pc, mpr_debug_each *each, void *arg);

/* ---- opening the object files that a log names */

/* Maximum ratio of compression of debug sections.  Real ones shrink to a third. */
#define MPR_UNPACKED_MAX 32u

/* Maximum bytes of all copies in one run, or half of RLIMIT_DATA if that is less. */
#define MPR_COPIED_MAX (UINT64_C(4) << 30)

/* Opens a regular file, or a copy of it if a user other than root and this one may change it.
 * Returns the descriptor, or -1, with errno EFBIG if the copies would be too large.  Never waits.
 */
int mpr_object_open(const char *path);
/* Returns 1 if the file has this build id, or none if @bytes is 0; 0 if it does not; or -1 if it is
 * not an object file. */
int mpr_object_has_build_id(int fd, const uint8_t *build_id, size_t bytes);
/* Returns true if its compressed sections unpack to at most MPR_UNPACKED_MAX times its size. */
bool mpr_object_unpacks_well(int fd);

#endif
