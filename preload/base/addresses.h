/* A set of addresses, of the blocks that are a sample: added, taken out and asked for in a bounded
 * time and without a lock, by any thread in any context.  Empty in a forked child.
 *
 * An address has two buckets of some places.  Most that are asked for are not in the set, and most
 * of these are told by a count of the members in their page, which is where their neighbours were
 * looked up just before. */
#ifndef MP_ADDRESSES_H
#define MP_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

enum { MP_ADDRESS_BUCKETS = 1 << 16, MP_ADDRESS_PLACES = 8, MP_ADDRESS_PAGES = 1 << 20 };

struct mp_addresses {
    uint8_t on_page[MP_ADDRESS_PAGES]; /* members in the pages with this hash; the most that it can
                                          be: or more than that, and so for ever */
    uint64_t at[MP_ADDRESS_BUCKETS][MP_ADDRESS_PLACES]; /* 0: an empty place */
};

/* A new set; NULL without memory. */
struct mp_addresses *mp_addresses_map(void);
/* Makes it empty: in a forked child, where the kernel may not have done it. */
void mp_addresses_clear(struct mp_addresses *set);

/* Puts in an address, not 0, that is not a member.  False: there is no room, for half a million of
 * them. */
bool mp_addresses_add(struct mp_addresses *set, const void *p);
/* Takes it out.  False: it is no member. */
bool mp_addresses_take(struct mp_addresses *set, const void *p);

/* False: it is no member. */
static inline bool mp_addresses_may_have(const struct mp_addresses *set, const void *p)
{
    const uint8_t *on_page = &set->on_page[(uintptr_t)p >> 12 & (MP_ADDRESS_PAGES - 1)];
    return __builtin_expect(__atomic_load_n(on_page, __ATOMIC_RELAXED), 0);
}

#endif
