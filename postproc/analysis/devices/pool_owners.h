/* Whose pool a block of the driver's is part of: told by the object file that asked for it. Private
 * to this layer. */
#ifndef MPR_POOL_OWNERS_H
#define MPR_POOL_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "sites.h"

enum { MPR_OWNER_NCCL, MPR_OWNER_XLA, MPR_OWNER_CUPY, MPR_OWNER_OTHER, MPR_OWNERS };
struct mpr_owner {
    const char *key, *name; /* of the part of the account */
    const char *who;        /* NULL: what the object file is called */
};
extern const struct mpr_owner mpr_owner[MPR_OWNERS];
/* Is that the key of one of them? */
bool mpr_owners_has(const char *key);

/* The owner of each library by its number, that of what has none at 0. */
const uint8_t *mpr_owners_of(struct mpr_arena *arena, const struct mpr_sites *sites);

#endif
