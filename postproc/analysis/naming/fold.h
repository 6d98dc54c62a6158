/* Lines whose paths differ in one number only become one: "layers.{0..15}.mlp".
 *
 * Which numbers may vary, places.h says.  Where several do, those that are always the same number
 * are one ("layer {0..15} > [layers.{same}.mlp]"); of the others the one folds that leaves the
 * fewest lines, and then a second one where what the first became is the same everywhere: in "step
 * {0..3} > layer {0..15}" each of the 64 is there.  No other lines are merged.
 *
 * A line that stands out, with over twice the bytes of their median, is told apart, with what its
 * siblings hold; of two lines the median is the smaller one, and both stand as they are. */
#ifndef MPR_FOLD_H
#define MPR_FOLD_H

#include "arena.h"
#include "lines.h"

/* In place, largest first; no two lines may have the same text.  How many are left. */
size_t mpr_fold(struct mpr_arena *arena, struct mpr_line *line, size_t lines);

/* Of lines that one of two sides has alone, those that differ from lines of the other one in
 * numbers only become one with them, whatever their bytes: "step {8,9}".  In place, in no order; a
 * line's first `older` runs are of one side.  How many are left. */
size_t mpr_fold_sides(struct mpr_arena *arena, struct mpr_line *line, size_t lines, size_t older);

/* The bytes over which one of those that are alike stands out; sorts them.  count > 0. */
uint64_t mpr_fold_usual(uint64_t *bytes, size_t count);

/* "{0..15, 31}", "{0,2,5}", "{0..63, 24 of them}": ascending numbers, no two the same. */
const char *mpr_fold_set(struct mpr_arena *arena, const uint64_t *number, size_t numbers);

#endif
