/* Lines whose paths differ in only one number become one: "layers.{0..15}.mlp".
 *
 * numbered_names.h says which numbers may vary.  Several numbers that are always equal count as one
 * ("layer {0..15} > [layers.{same}.mlp]").  If others vary, the number that leaves the fewest lines
 * is grouped first; a second number is grouped only if the set of the first is the same in all of
 * its lines: "step {0..3} > layer {0..15}" has all 64 pairs.
 *
 * A line with more than twice the median bytes of the lines that it would be grouped with is an
 * outlier. It stays a separate line and has the range of its siblings' bytes.  The median of two
 * lines is the smaller one, so both stay. */
#ifndef MPR_NUMBERED_LINES_H
#define MPR_NUMBERED_LINES_H

#include "arena.h"
#include "row.h"

/* Groups lines in place, largest first, and returns how many are left.  No two lines may have the
 * same text. */
size_t mpr_lines_group(struct mpr_arena *arena, struct mpr_line *line, size_t lines);

/* Groups lines that only one of two sides has with lines of the other side if they differ only in
 * numbers, whatever their bytes: "step {8,9}".  In place, in no order; a line's first `older` runs
 * are of one side.  Returns how many lines are left. */
size_t mpr_lines_group_sides(struct mpr_arena *arena, struct mpr_line *line, size_t lines,
                             size_t older);

/* Returns the bytes above which one of similar lines is an outlier.  Sorts bytes; count > 0. */
uint64_t mpr_outlier_limit(uint64_t *bytes, size_t count);

/* "{0..15, 31}", "{0,2,5}", "{0..63, 24 of them}": ascending numbers, no two the same. */
const char *mpr_number_set(struct mpr_arena *arena, const uint64_t *number, size_t numbers);

#endif
