#include "base/addresses.h"

#include "base/sys.h"

enum { MANY = UINT8_MAX };

struct mp_addresses *mp_addresses_map(void)
{
    return mp_sys_map_wiped(sizeof(struct mp_addresses));
}

void mp_addresses_clear(struct mp_addresses *set) { mp_sys_wipe(set, sizeof *set); }

/* A full counter (MANY) is never decremented, because the real count is not known. */
static void count(struct mp_addresses *set, const void *p, int change)
{
    uint8_t *at = &set->on_page[mp_address_page(p)], n = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (n != MANY && !__atomic_compare_exchange_n(at, &n, (uint8_t)(n + change), false,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* Replaces `before` by `after` in one of the address's two buckets. */
static bool exchange(struct mp_addresses *set, const void *p, uint64_t before, uint64_t after)
{
    const uint64_t hash = ((uintptr_t)p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48;
    for (unsigned i = 0; i < 2 * MP_ADDRESS_PLACES; i++) {
        uint64_t *at = &set->at[hash ^ i / MP_ADDRESS_PLACES][i % MP_ADDRESS_PLACES];
        uint64_t value = __atomic_load_n(at, __ATOMIC_RELAXED);
        if (value == before && __atomic_compare_exchange_n(at, &value, after, false,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

bool mp_addresses_add(struct mp_addresses *set, const void *p)
{
    if (!exchange(set, p, 0, (uintptr_t)p)) return false;
    count(set, p, 1);
    return true;
}

bool mp_addresses_take(struct mp_addresses *set, const void *p)
{
    if (!exchange(set, p, (uintptr_t)p, 0)) return false;
    count(set, p, -1);
    return true;
}

void mp_addresses_suspect(struct mp_addresses *set, const void *p, bool is)
{
    count(set, p, is ? 1 : -1);
}
