/* A set of addresses of any size: one bit per 8 bytes of address space, mapped for 64 MiB of it
 * when the first address is added. A member costs at most a page of 4 KiB, which covers 256 KiB of
 * the program's heap. Exact; any thread, any context, no lock. It is empty in a forked child. */
#ifndef MP_MARKS_H
#define MP_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_MARKS_REGION_SHIFT 26 /* bytes of address space of a region */
#define MP_MARKS_REGIONS      ((size_t)1 << (47 - MP_MARKS_REGION_SHIFT))

struct mp_marks {
    void *region[MP_MARKS_REGIONS]; /* NULL if no address of it was added */
};

/* Maps a new set. Returns NULL without memory. */
struct mp_marks *mp_marks_map(void);
/* Empties the set, in a forked child on kernels without MADV_WIPEONFORK. The memory of its regions
 * is not returned. */
void mp_marks_clear(struct mp_marks *set);

/* Adds an address. Returns false without memory, or if no program can have the address. */
bool mp_marks_add(struct mp_marks *set, const void *p);
/* Removes an address. Returns false if it is not a member. */
bool mp_marks_take(struct mp_marks *set, const void *p);

static inline uint64_t mp_marks_bit(const void *p)
{
    return UINT64_C(1) << ((uintptr_t)p >> 3 & 63);
}
/* Returns the word with the address's bit, or NULL if no bit of its region is set. */
static inline uint64_t *mp_marks_word(const struct mp_marks *set, const void *p)
{
    const uintptr_t at = (uintptr_t)p, number = at >> MP_MARKS_REGION_SHIFT;
    if (number >= MP_MARKS_REGIONS) return NULL;
    uint64_t *const region = __atomic_load_n(&set->region[number], __ATOMIC_ACQUIRE);
    return region ? &region[(at & ((UINT64_C(1) << MP_MARKS_REGION_SHIFT) - 1)) >> 9] : NULL;
}
static inline bool mp_marks_has(const struct mp_marks *set, const void *p)
{
    const uint64_t *word = mp_marks_word(set, p);
    return word && __atomic_load_n(word, __ATOMIC_RELAXED) & mp_marks_bit(p);
}

#endif
