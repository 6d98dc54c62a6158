/* A set of addresses of sampled blocks. Any thread may add, remove and look up in any context, in
 * bounded time and without a lock. It is empty in a forked child.
 *
 * An address has two buckets. Most addresses that are looked up are not members, and a count of
 * members per page answers for most of them; a page's count is in the cache after a look-up of a
 * neighbour. */
#ifndef MP_ADDRESSES_H
#define MP_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

enum { MP_ADDRESS_BUCKETS = 1 << 16, MP_ADDRESS_PLACES = 8, MP_ADDRESS_PAGES = 1 << 20 };

struct mp_addresses {
    /* Number of members in the pages with this hash. The maximum means an unknown number, and is
     * never decremented. */
    uint8_t on_page[MP_ADDRESS_PAGES];
    uint64_t at[MP_ADDRESS_BUCKETS][MP_ADDRESS_PLACES]; /* 0: an empty place */
};

/* Maps a new set. Returns NULL without memory. */
struct mp_addresses *mp_addresses_map(void);
/* Empties the set, in a forked child on kernels without MADV_WIPEONFORK. */
void mp_addresses_clear(struct mp_addresses *set);

/* Adds an address, which is neither 0 nor a member. Returns false if half a million members leave
 * no room. */
bool mp_addresses_add(struct mp_addresses *set, const void *p);
/* Removes an address. Returns false if it is not a member. */
bool mp_addresses_take(struct mp_addresses *set, const void *p);

/* One instruction less than a mask: the upper half of an address is not part of its page's number.
 */
static inline uint32_t mp_address_page(const void *p) { return (uint32_t)(uintptr_t)p >> 12; }
_Static_assert(MP_ADDRESS_PAGES == 1 << (32 - 12), "a place for each page's number");

/* A byte is read at once, also without an atomic load, which the compiler keeps apart from the
 * comparison. Sanitizers have to know that the read is meant. */
#if defined(MEMPROF_SANITIZED)
#define MP_ADDRESS_COUNT(at) __atomic_load_n(at, __ATOMIC_RELAXED)
#else
#define MP_ADDRESS_COUNT(at) (*(at))
#endif

/* From now on mp_addresses_may_have is true for the address (@is: true), although it is not a
 * member; or not any more. Each call with true needs one with false. */
void mp_addresses_suspect(struct mp_addresses *set, const void *p, bool is);

/* Returns false if the address is certainly not a member. */
static inline __attribute__((always_inline)) bool mp_addresses_may_have(
    const struct mp_addresses *set, const void *p)
{
    const uint8_t *on_page = &set->on_page[mp_address_page(p)];
    return __builtin_expect(MP_ADDRESS_COUNT(on_page), 0);
}

#endif
