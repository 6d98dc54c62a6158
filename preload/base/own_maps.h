/* Registry of the address ranges that memprof has mapped for itself, so that mlockall can leave
 * them out.
 *
 * Any thread, any context, without a lock.  Adjacent ranges share an entry.  A range is not
 * registered if all MP_OWN_MAPS entries are taken.  Forked children inherit the registry with the
 * mappings. */
#ifndef MP_OWN_MAPS_H
#define MP_OWN_MAPS_H

#include <stddef.h>
#include <stdint.h>

#define MP_OWN_MAPS 512u

struct mp_range {
    uintptr_t from, to; /* from == to: no range */
};

/* Add and remove whole pages. `bytes` is rounded up. */
void mp_own_maps_add(const void *at, size_t bytes);
void mp_own_maps_remove(const void *at, size_t bytes);
/* Returns the part of the first own range that is within [from, to). */
struct mp_range mp_own_maps_first(uintptr_t from, uintptr_t to);

#endif
