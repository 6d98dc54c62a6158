/* Names kept beside a log, as LOG.symbols: of each call in its native stacks what the machine with
 * the program's files knew.  FORMAT.md has the bytes: text, in one frame of zstd.
 *
 * Nothing in it is believed that does not fit: it is of this log, whole, of a version that is
 * known, and an object's names are those of its build id.  Private to this folder, but for the
 * writer. */
#ifndef MPR_STORED_H
#define MPR_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include "debug.h"
#include "symbols.h"

#define MPR_STORED_ENDING    ".symbols"
#define MPR_STORED_VERSION   1u
#define MPR_STORED_TEXT_MOST ((size_t)128 << 20) /* bytes that it unpacks to, at most */
#define MPR_STORED_RATIO     1000u               /* and at most so many times its size */

struct mpr_stored;

/* In hex; "" where it has none. */
#define MPR_BUILD_ID_MOST 64u
const char *mpr_build_id_text(const struct mpr_binary *object,
                              char text[2 * MPR_BUILD_ID_MOST + 1]);

/* That of a log with this id.  NULL with *found telling why there is none. */
struct mpr_stored *mpr_stored_open(const char *log, const uint8_t id[16],
                                   enum mpr_symbols_beside *found);
void mpr_stored_free(struct mpr_stored *s);
/* The number of an object; 0: it is not in there. */
uint32_t mpr_stored_object(const struct mpr_stored *s, const struct mpr_binary *object);
/* Calls each as mpr_debug_look does.  False: the address, counted from where the object begins, is
 * not in there. */
bool mpr_stored_look(const struct mpr_stored *s, uint32_t object, uint64_t offset,
                     mpr_debug_each *each, void *arg);

#endif
