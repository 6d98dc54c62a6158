#include "base/marks.h"

#include "base/sys.h"

#define REGION_BYTES ((size_t)1 << (MP_MARKS_REGION_SHIFT - 6))

struct mp_marks *mp_marks_map(void) { return mp_sys_map_wiped(sizeof(struct mp_marks)); }

void mp_marks_clear(struct mp_marks *set) { mp_sys_wipe(set, sizeof *set); }

/* Whoever comes first has its mapping used. */
static bool map_region(uint64_t **place)
{
    uint64_t *const region = mp_sys_map_wiped(REGION_BYTES), *none = NULL;
    if (!region) return false;
    if (!__atomic_compare_exchange_n(place, &none, region, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        mp_sys_munmap(region, REGION_BYTES);
    return true;
}

bool mp_marks_add(struct mp_marks *set, const void *p)
{
    const uintptr_t number = (uintptr_t)p >> MP_MARKS_REGION_SHIFT;
    if (number >= MP_MARKS_REGIONS) return false;
    if (!mp_marks_word(set, p) && !map_region(&set->region[number])) return false;
    __atomic_fetch_or(mp_marks_word(set, p), mp_marks_bit(p), __ATOMIC_RELAXED);
    return true;
}

bool mp_marks_take(struct mp_marks *set, const void *p)
{
    if (!mp_marks_has(set, p)) return false;
    return __atomic_fetch_and(mp_marks_word(set, p), ~mp_marks_bit(p), __ATOMIC_RELAXED) &
           mp_marks_bit(p);
}
