/* Names of the calls of native stacks, each looked up once.  Private to this layer. */
#ifndef MPR_NAMES_H
#define MPR_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "ranges.h"
#include "sites.h"

struct mpr_names;

struct mpr_names *mpr_names_new(void);
void mpr_names_free(struct mpr_names *names);
/* The calls at a node of the native stacks, innermost first: several where some are inlined.  They
 * live in the arena, which is to be the same each time. */
const char *const *mpr_names_at(struct mpr_names *names, struct mpr_arena *arena,
                                const struct mpr_sites *sites, uint32_t node, size_t *count);
/* Where the name of a range's node is kept, NULL until it is. */
const char **mpr_names_range(struct mpr_names *names, uint32_t node);
/* What could not be named, and why: a line for each reason. */
const char *const *mpr_names_notes(const struct mpr_names *names, struct mpr_arena *arena,
                                   const struct mpr_sites *sites, size_t *notes);

#endif
