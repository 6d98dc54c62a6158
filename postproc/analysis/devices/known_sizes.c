/* Sizes are found by their MiB, because a request is at most 1 MiB smaller than its block.  Only
 * some sizes of a site and MiB are kept, because several give no answer anyway. */
#include "known_sizes.h"

#include <stdlib.h>

#include "alloc.h"

enum { SIZES_MAX = 8 };

#define MIB (UINT64_C(1) << 20)
/* Has the sizes of all sites.  No call site has this number. */
#define ANY_SITE UINT32_MAX

static uint64_t key_of(uint32_t site, uint64_t mib)
{
    return mpr_hash((uint64_t)site << 32 | (mib & UINT32_MAX));
}

static void add(struct mpr_known_sizes *known, uint32_t site, uint64_t bytes)
{
    const uint64_t key = key_of(site, bytes / MIB);
    unsigned count = 0;
    MPR_INDEX_EACH(number, &known->of, key) {
        const struct mpr_known_size *k = &known->at[number - 1];
        if ((k->site == site && k->bytes == bytes) || ++count == SIZES_MAX) return;
    }
    *MPR_ADD(known->at, known->count, known->cap) = (struct mpr_known_size){ bytes, site };
    mpr_index_add(&known->of, key, known->count);
}

void mpr_known_sizes_add(struct mpr_known_sizes *known, uint32_t site, uint64_t bytes)
{
    add(known, ANY_SITE, bytes);
    if (site) add(known, site, bytes);
}

static uint64_t find(const struct mpr_known_sizes *known, uint32_t site, uint64_t least,
                     uint64_t most)
{
    uint64_t found = 0;
    for (uint64_t mib = least / MIB; mib <= most / MIB; mib++)
        MPR_INDEX_EACH(number, &known->of, key_of(site, mib)) {
            const struct mpr_known_size *k = &known->at[number - 1];
            if (k->site != site || k->bytes < least || k->bytes > most) continue;
            if (found) return 0;
            found = k->bytes;
        }
    return found;
}

uint64_t mpr_known_sizes_find(const struct mpr_known_sizes *known, uint32_t site, uint64_t least,
                              uint64_t most)
{
    const uint64_t own = site ? find(known, site, least, most) : 0;
    return own ? own : find(known, ANY_SITE, least, most);
}

void mpr_known_sizes_free(struct mpr_known_sizes *known)
{
    free(known->at);
    mpr_index_free(&known->of);
}
