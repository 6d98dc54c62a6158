/* Whose pool a block of the driver's is part of: told by the object file that asked for it. Private
 * to this layer. */
#ifndef MPR_POOL_OWNERS_H
#define MPR_POOL_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "sites.h"

/* In the order of their uses (device.h), from MPR_USE_NCCL on. */
enum { MPR_OWNER_NCCL, MPR_OWNER_XLA, MPR_OWNER_CUPY, MPR_OWNER_OTHER, MPR_OWNERS };
/* For people; NULL: the name of the object file. */
extern const char *const mpr_owner_name[MPR_OWNERS];

/* The owner of each library by its number, that of what has none at 0. */
const uint8_t *mpr_owners_of(struct mpr_arena *arena, const struct mpr_sites *sites);

#endif
