/* A range is one word, so that each change is one compare-and-swap: the number of its first 4 KiB
 * in the upper part, their count in the lower part. 0 is an empty place. */
#include "base/own_maps.h"

#include <stdbool.h>

#include "base/sys.h"

enum { UNIT_SHIFT = 12, COUNT_BITS = 28 };

static uint64_t place[MP_OWN_MAPS];

static uint64_t word_of(struct mp_range r)
{
    const uint64_t units = (r.to - r.from) >> UNIT_SHIFT;
    return units ? (uint64_t)r.from >> UNIT_SHIFT << COUNT_BITS | units : 0;
}

static struct mp_range range_of(uint64_t word)
{
    const uintptr_t from = word >> COUNT_BITS << UNIT_SHIFT;
    return (struct mp_range){ from, from + ((word & ((1u << COUNT_BITS) - 1)) << UNIT_SHIFT) };
}

static struct mp_range pages_of(const void *at, size_t bytes)
{
    const uintptr_t from = (uintptr_t)at, rest = mp_sys_page() - 1;
    return (struct mp_range){ from & ~rest, (from + bytes + rest) & ~rest };
}

static struct mp_range within(struct mp_range r, struct mp_range outer)
{
    if (r.from < outer.from) r.from = outer.from;
    if (r.to > outer.to) r.to = outer.to;
    return r.from < r.to ? r : (struct mp_range){ 0 };
}

static bool exchange(unsigned i, uint64_t before, uint64_t after)
{
    return __atomic_compare_exchange_n(&place[i], &before, after, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

static bool join(struct mp_range r)
{
    for (unsigned i = 0; i < MP_OWN_MAPS; i++) {
        const uint64_t word = __atomic_load_n(&place[i], __ATOMIC_RELAXED);
        const struct mp_range range = range_of(word);
        if (!word || (range.to != r.from && range.from != r.to)) continue;
        const struct mp_range joined = { range.to == r.from ? range.from : r.from,
                                         range.to == r.from ? r.to : range.to };
        if (exchange(i, word, word_of(joined))) return true;
    }
    return false;
}

static void add(struct mp_range r)
{
    if (r.from == r.to || join(r)) return;
    for (unsigned i = 0; i < MP_OWN_MAPS; i++)
        if (exchange(i, 0, word_of(r))) return;
}

void mp_own_maps_remove(const void *at, size_t bytes)
{
    const struct mp_range removed = pages_of(at, bytes);
    for (unsigned i = 0; i < MP_OWN_MAPS; i++) {
        const uint64_t word = __atomic_load_n(&place[i], __ATOMIC_RELAXED);
        const struct mp_range range = range_of(word);
        if (!word || within(removed, range).from == within(removed, range).to) continue;
        const struct mp_range below = within(range, (struct mp_range){ 0, removed.from }),
                              above = within(range, (struct mp_range){ removed.to, UINTPTR_MAX });
        /* It changed meanwhile, so try again. */
        if (!exchange(i, word, word_of(below.to ? below : above))) i--;
        else if (below.to) add(above);
    }
}

void mp_own_maps_add(const void *at, size_t bytes)
{
    mp_own_maps_remove(at, bytes);
    add(pages_of(at, bytes));
}

struct mp_range mp_own_maps_first(uintptr_t from, uintptr_t to)
{
    struct mp_range first = { to, to };
    for (unsigned i = 0; i < MP_OWN_MAPS; i++) {
        const uint64_t word = __atomic_load_n(&place[i], __ATOMIC_RELAXED);
        const struct mp_range r = within(range_of(word), (struct mp_range){ from, to });
        if (r.to && r.from < first.from) first = r;
    }
    return first;
}
