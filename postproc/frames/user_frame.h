/* Shortens a call stack to the user's frame, which is the innermost call in the program's own code,
 * the library function that it called, and its caller.
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
    const char *caller; /* "" if no caller has a name, or if the path has ranges */
};

/* Returns the path with the caller after the last name: "serve (a.c:9) <- main". */
struct mpr_path mpr_frame_summary_path(struct mpr_arena *arena,
                                       const struct mpr_frame_summary *summary);

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

/* Returns the places of at most `max` calls in the program's own code, innermost first:
 * "loss.py:41 < model.py:318 < train.py:212", or "". */
const char *mpr_user_frames_places(struct mpr_user_frames *user_frames, struct mpr_arena *arena,
                                   struct mpr_path path, size_t max);

/* Returns the innermost call of `path` that is not in `other` at the same depth from the inside, or
 * NULL if `other` ends with the whole path. */
const struct mpr_frame *mpr_frame_difference(struct mpr_path path, struct mpr_path other);

/* Returns the frame without the long template arguments of a native call:
 * "std::vector<..>::push_back (a.cpp:1)". */
const struct mpr_frame *mpr_frame_short(struct mpr_arena *arena, const struct mpr_frame *frame);

/* Returns the innermost call of a torch.nn.Module, or NULL. */
const struct mpr_frame *mpr_frame_module(struct mpr_path path);

#endif
