/* The part of a name that stays the same from build to build and from run to run, so that lines of
 * two runs can be paired.
 *
 *     f (a.c:12)                          f (a.c): a comment above it moves every line
 *     f.constprop.0 (libfoo.so.1.2)       f (libfoo.so): a compiler's copy, a library's version
 *     f (prog-1.3)                        f: the program itself, whose file each build may call
 *                                         otherwise
 *     worker (4243), NCCL 0x9f3c          worker, NCCL: numbers that each run has its own of
 */
#ifndef MPR_STABLE_FRAME_H
#define MPR_STABLE_FRAME_H

#include "frame.h"

/* Returns a frame of what stays the same, made in the arena, or the frame itself.  program: the
 * file name of the program that ran, or "" if unknown. */
const struct mpr_frame *mpr_frame_stable(struct mpr_arena *arena, const char *program,
                                         const struct mpr_frame *frame);
/* The text of such a frame without its source file, which may have another name now: "f". */
const char *mpr_frame_stable_function(struct mpr_arena *arena, const struct mpr_frame *same);

#endif
