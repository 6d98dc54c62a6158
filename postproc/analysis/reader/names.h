/* Names of the calls of native stacks, each looked up once.  Private to this layer. */
#ifndef MPR_NAMES_H
#define MPR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "ranges.h"
#include "sites.h"

struct mpr_names;
struct mpr_symbol; /* symbols.h */

/* @log, @id: the log, which may have stored names (symbols.h), or NULL. */
struct mpr_names *mpr_names_new(const char *log, const uint8_t id[16]);
void mpr_names_free(struct mpr_names *names);
/* Returns the calls at a node of the native stacks, innermost first; several if some are inlined.
 * They live in the arena, which must be the same in each call. */
const struct mpr_frame *const *mpr_names_at(struct mpr_names *names, struct mpr_arena *arena,
                                            const struct mpr_sites *sites, uint32_t node,
                                            size_t *count);
/* Returns the same for a return address in a module, as symbols.h has them. */
const struct mpr_symbol *mpr_names_calls(struct mpr_names *names, const struct mpr_sites *sites,
                                         uint32_t module, uint64_t pc, size_t *count);
/* Returns true if a newer memprof stored the names. */
bool mpr_names_are_newer(struct mpr_names *names);
/* Return cache entries for the frame of a node of the ranges, and of a Python frame's name; NULL at
 * first. */
const struct mpr_frame **mpr_names_range(struct mpr_names *names, uint32_t node);
const struct mpr_frame **mpr_names_python(struct mpr_names *names, uint32_t name);
/* Returns a line for each reason why names are missing. */
const char *const *mpr_names_notes(const struct mpr_names *names, struct mpr_arena *arena,
                                   const struct mpr_sites *sites, size_t *notes);

#endif
