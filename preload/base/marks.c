#include "base/marks.h"

#include "base/sys.h"

#define REGION_BYTES ((size_t)1 << (MP_MARKS_REGION_SHIFT - 6))

struct mp_marks *mp_marks_map(void) { return mp_sys_map_wiped(sizeof(struct mp_marks)); }

void mp_marks_clear(struct mp_marks *set) { mp_sys_wipe(set, sizeof *set); }

bool mp_marks_add(struct mp_marks *set, const void *p)
{
    const uintptr_t number = (uintptr_t)p >> MP_MARKS_REGION_SHIFT;
    if (number >= MP_MARKS_REGIONS) return false;
    if (!mp_sys_map_once(&set->region[number], REGION_BYTES, true)) return false;
    __atomic_fetch_or(mp_marks_word(set, p), mp_marks_bit(p), __ATOMIC_RELAXED);
    return true;
}

bool mp_marks_take(struct mp_marks *set, const void *p)
{
    if (!mp_marks_has(set, p)) return false;
    return __atomic_fetch_and(mp_marks_word(set, p), ~mp_marks_bit(p), __ATOMIC_RELAXED) &
           mp_marks_bit(p);
}
