/* The sizes of requests that the blocks of a log show.
 *
 * A block that was cut from a larger hole has the size of its request, rounded up to 512 bytes.
 * Another block may be up to 1 MiB larger than its request.  Its size is taken from the exact ones:
 * of the same call site, or else of all sites. */
#ifndef MPR_KNOWN_SIZES_H
#define MPR_KNOWN_SIZES_H

#include <stddef.h>
#include <stdint.h>

#include "index.h"

/* All zeros at first. */
struct mpr_known_sizes {
    struct mpr_known_size {
        uint64_t bytes;
        uint32_t site;
    } * at;
    uint32_t count, cap;
    struct mpr_index of; /* by hash of site and MiB: number + 1 */
};

/* @site: number of a call site, or 0 if it is unknown */
void mpr_known_sizes_add(struct mpr_known_sizes *known, uint32_t site, uint64_t bytes);
/* Returns the only known size from least to most, or 0. */
uint64_t mpr_known_sizes_find(const struct mpr_known_sizes *known, uint32_t site, uint64_t least,
                              uint64_t most);
void mpr_known_sizes_free(struct mpr_known_sizes *known);

#endif
