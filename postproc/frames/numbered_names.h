/* Finds numbers in a name that count similar things: the 3 of "layers.3", "h[3]", "batch 3",
 * "bs=3", "step:3" and "stage_3".
 *
 * The text around a number decides.  Other numbers are parts of the name: a source line
 * ("file.py:88"), an address, a version ("libfoo.so.1.2"), a process id ("pid 17"), or a part of an
 * operator's name ("AddmmBackward0"). */
#ifndef MPR_NUMBERED_NAMES_H
#define MPR_NUMBERED_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "frame.h"
#include "row.h"

/* A number, and its byte offsets in the text. */
struct mpr_name_number {
    size_t from, to;
    uint64_t number;
};

/* Finds the numbers in the text from mpr_frame_numbered, from the left, and returns how many there
 * are, at most `cap`. */
size_t mpr_numbers_find(const struct mpr_frame *frame, struct mpr_name_number *place, size_t cap);
/* Returns the frame with each of these numbers replaced by a text. */
const struct mpr_frame *mpr_numbers_replace(struct mpr_arena *arena, const struct mpr_frame *frame,
                                            const struct mpr_name_number *place,
                                            const char *const *by, size_t places);
/* Finds the numbers in the name of a range. */
size_t mpr_numbers_in_name(const char *name, struct mpr_name_number *place, size_t cap);

/* ---- names without these numbers */

/* Returns the name of a range without its numbers: "step 7" and "step:7" become "step", "h[7].mlp"
 * becomes "h[{n}].mlp".  The result is in the arena, or the name itself. */
const char *mpr_name_without_numbers(struct mpr_arena *arena, const char *name);
/* Returns the frame without its numbers; the path of a module becomes "layers.{n}". */
const struct mpr_frame *mpr_frame_without_numbers(struct mpr_arena *arena,
                                                  const struct mpr_frame *frame);
/* Returns the texts of the frames joined by " > ", without these numbers. */
const char *mpr_path_without_numbers(struct mpr_arena *arena, struct mpr_path path);

/* ---- lines
 *
 * Lines whose paths differ in only one number become one: "layers.{0..15}.mlp".
 *
 * Several numbers that are always equal count as one ("layer {0..15} > [layers.{same}.mlp]").  If
 * others vary, the number that leaves the fewest lines is grouped first; a second number is grouped
 * only if the set of the first is the same in all of its lines: "step {0..3} > layer {0..15}" has
 * all 64 pairs.
 *
 * A line with more than twice the median bytes of the similar lines is an outlier: it stays a
 * separate line, with the range of its siblings' bytes.  The median of two lines is the smaller
 * one. */

/* Groups lines in place, largest first, and returns how many are left.  No two lines may have the
 * same text. */
size_t mpr_lines_group(struct mpr_arena *arena, struct mpr_line *line, size_t lines);

/* For a comparison of older with newer runs: groups a line that only one side has with lines of the
 * other side that differ only in numbers, however large they are: "step {8,9}".  Works in place, in
 * no order, and returns how many lines are left.
 * @older: number of older runs, the first ones of each line, which must not be 0 */
size_t mpr_lines_group_sides(struct mpr_arena *arena, struct mpr_line *line, size_t lines,
                             size_t older);

/* Returns the bytes above which one of similar lines is an outlier.  Sorts the array, which must
 * not be empty. */
uint64_t mpr_outlier_limit(uint64_t *bytes, size_t count);

/* Returns a set of ascending numbers as text: "{0..15, 31}", "{0,2,5}", "{0..63, 24 of them}". */
const char *mpr_number_set(struct mpr_arena *arena, const uint64_t *number, size_t numbers);

#endif
