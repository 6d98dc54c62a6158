/* Shortens a call stack to one line: the innermost call in the program's own code, its caller, and
 * the library function that it called.
 *
 * "Module.f > main (t.py:3) > Linear._wrapped_call_impl [0] (module.py:1779) > Linear.forward [0]
 * (linear.py:134)" becomes "[0] main (t.py:3)" and "Linear.forward".  hidden_frames.def lists the
 * frames that are not the program's own code, and users can add patterns. */
#ifndef MPR_USER_FRAME_H
#define MPR_USER_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "frame.h"

struct mpr_user_frames;

struct mpr_user_frames *mpr_user_frames_new(void);
void mpr_user_frames_free(struct mpr_user_frames *user_frames);
/* Adds a pattern of frames to hide, as in hidden_frames.def; the text is not copied. */
void mpr_user_frames_hide(struct mpr_user_frames *user_frames, const char *pattern);

struct mpr_frame_summary {
    struct mpr_path path;
    const char *caller; /* of the first call of the path, or "" if no caller has a name, or if the
                           path has ranges */
};

/* Returns its path with the caller as the first frame: "main > serve (a.c:9)". */
struct mpr_path mpr_frame_summary_path(struct mpr_arena *arena,
                                       const struct mpr_frame_summary *summary);
/* Returns the text of a path with the caller before it, or @text if the caller is "". */
const char *mpr_frame_with_caller(struct mpr_arena *arena, const char *text, const char *caller);

/* Shortens a path.
 * @calls: all frames are calls; otherwise the ranges before the calls are kept */
struct mpr_frame_summary mpr_user_frames_summary(struct mpr_user_frames *user_frames,
                                                 struct mpr_arena *arena, struct mpr_path path,
                                                 bool calls);

/* Returns true if the innermost call of the path is in the program's own code. */
bool mpr_user_frames_is_own(struct mpr_user_frames *user_frames, struct mpr_arena *arena,
                            struct mpr_path path);

/* Returns true if the frame is not the program's own: it is in an installed package, or a pattern
 * matches it.  A call without a name counts as the program's. */
bool mpr_user_frames_is_foreign(struct mpr_user_frames *user_frames, const struct mpr_frame *frame);

/* Returns the outermost call of an allocator that the program has linked under names with a prefix
 * (je_malloc), or NULL if the stack has none. */
const struct mpr_frame *mpr_user_frames_allocator(struct mpr_user_frames *user_frames,
                                                  struct mpr_path path);

/* Returns the places of a stack's calls in the program's own code, outermost first:
 * "train.py:212 > model.py:318 > loss.py:41", or "".  If there are more than @max, "..." replaces
 * the outer ones. */
const char *mpr_user_frames_places(struct mpr_user_frames *user_frames, struct mpr_arena *arena,
                                   struct mpr_path path, size_t max);

/* Returns the depth of the innermost call in which `path` differs from `other`, from 1; 0 if
 * `other` only has more outer calls. */
size_t mpr_frame_difference(struct mpr_path path, struct mpr_path other);

/* Returns the frame without the long template arguments of a native call:
 * "std::vector<..>::push_back (a.cpp:1)". */
const struct mpr_frame *mpr_frame_short(struct mpr_arena *arena, const struct mpr_frame *frame);

/* Returns the innermost call of a torch.nn.Module, or NULL. */
const struct mpr_frame *mpr_frame_module(struct mpr_path path);

#endif
