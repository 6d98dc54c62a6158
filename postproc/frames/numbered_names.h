/* Numbers in a name that count similar things: the 3 of "layers.3", "h[3]", "batch 3",
 * "bs=3", "step:3" and "stage_3".
 *
 * The text around a number decides.  A number elsewhere is a part of the name: a source line
 * ("file.py:88"), an address, a version ("libfoo.so.1.2"), a process id ("pid 17"), an operator's
 * name ("AddmmBackward0"). */
#ifndef MPR_NUMBERED_NAMES_H
#define MPR_NUMBERED_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"

/* A number, and its byte offsets in the text. */
struct mpr_name_number {
    size_t from, to;
    uint64_t number;
};

/* Finds the places in a frame's mpr_frame_numbered text, from the left, and returns how many there
 * are, at most `cap`. */
size_t mpr_numbers_find(const struct mpr_frame *frame, struct mpr_name_number *place, size_t cap);
/* Returns the frame with a text in each of its places. */
const struct mpr_frame *mpr_numbers_replace(struct mpr_arena *arena, const struct mpr_frame *frame,
                                            const struct mpr_name_number *place,
                                            const char *const *by, size_t places);
/* Finds the places in the name of a range. */
size_t mpr_numbers_in_name(const char *name, struct mpr_name_number *place, size_t cap);

/* ---- names without these numbers */

/* Returns the name of a range without its numbers: "step 7" and "step:7" become "step", "h[7].mlp"
 * becomes "h[{n}].mlp".  The result is in the arena, or the name itself. */
const char *mpr_name_without_numbers(struct mpr_arena *arena, const char *name);
/* Returns the frame without its numbers; the path of a module becomes "layers.{n}". */
const struct mpr_frame *mpr_frame_without_numbers(struct mpr_arena *arena,
                                                  const struct mpr_frame *frame);
/* Returns the frames' texts joined by " > ", without numbers. */
const char *mpr_path_without_numbers(struct mpr_arena *arena, struct mpr_path path);

#endif
