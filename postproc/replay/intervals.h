/* A set of address intervals in order, each with a number: the memory that is mapped, the object
 * files that are loaded, and so on.
 *
 * It is an array of leaves, each an array of up to some hundred intervals.  A change moves the rest
 * of a leaf, and the array of leaves only if a leaf is full or becomes empty.  No leaf is empty.
 * Positions are valid until the next change. */
#ifndef MPR_INTERVALS_H
#define MPR_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mpr_interval {
    uint64_t start, end;
    uint32_t value;
    bool writable;
};

struct mpr_intervals {
    struct mpr_interval_leaf **leaf;
    size_t leaves, cap;
};
struct mpr_position {
    size_t leaf, at;
};

/* Returns start + size, or UINT64_MAX if that overflows. */
static inline uint64_t mpr_interval_end(uint64_t start, uint64_t size)
{
    return size > UINT64_MAX - start ? UINT64_MAX : start + size;
}

void mpr_intervals_free(struct mpr_intervals *s);
/* Returns the position of the first interval that ends after `address`. */
struct mpr_position mpr_intervals_after(const struct mpr_intervals *s, uint64_t address);
/* Returns the interval at a position, or NULL after the last one. */
struct mpr_interval *mpr_intervals_at(const struct mpr_intervals *s, struct mpr_position place);
/* Returns the first interval that ends after `address`, or NULL if there is none. */
static inline struct mpr_interval *mpr_intervals_find(const struct mpr_intervals *s,
                                                      uint64_t address)
{
    return mpr_intervals_at(s, mpr_intervals_after(s, address));
}
struct mpr_position mpr_intervals_next(const struct mpr_intervals *s, struct mpr_position place);
/* Runs its body for each `span` from `place` on that begins before `end`. */
#define MPR_INTERVALS_EACH(span, s, place, end)                                                    \
    for (struct mpr_position each_place = (place);                                                 \
         ((span) = mpr_intervals_at(s, each_place)) && (span)->start < (end);                      \
         each_place = mpr_intervals_next(s, each_place))
/* Inserts an interval. */
void mpr_intervals_insert(struct mpr_intervals *s, const struct mpr_interval *span);
/* Inserts an interval instead of all that it overlaps. */
void mpr_intervals_replace(struct mpr_intervals *s, const struct mpr_interval *span);
/* Returns how many intervals from the place on begin before `end`. */
size_t mpr_intervals_count(const struct mpr_intervals *s, struct mpr_position place, uint64_t end);
/* Removes `count` intervals from the place on. */
void mpr_intervals_remove(struct mpr_intervals *s, struct mpr_position place, size_t count);

#endif
