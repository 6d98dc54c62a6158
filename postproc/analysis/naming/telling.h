/* What a call stack tells in one line: the innermost call in the program's own code, what that
 * called of a library, and who called it.
 *
 * "Module.f > main (t.py:3) > Linear._wrapped_call_impl [0] (module.py:1779) > Linear.forward [0]
 * (linear.py:134)" is told by "[0] main (t.py:3)" and "Linear.forward".  What is nobody's own code
 * is a list (plumbing.def), to which the user can add. */
#ifndef MPR_TELLING_H
#define MPR_TELLING_H

#include <stdbool.h>
#include <stddef.h>

#include "frame.h"

struct mpr_telling;

struct mpr_telling *mpr_telling_new(void);
void mpr_telling_free(struct mpr_telling *telling);
/* One more pattern of plumbing, as in plumbing.def; the text must last. */
void mpr_telling_add(struct mpr_telling *telling, const char *pattern);

/* caller: "" where the stack has none that has a name, or ranges stand for it. */
struct mpr_told {
    struct mpr_path path;
    const char *caller;
};

/* Its path, the caller behind the last name: "serve (a.c:9) <- main". */
struct mpr_path mpr_telling_called(struct mpr_arena *arena, const struct mpr_told *told);

/* calls: all frames count as calls; otherwise ranges before the calls are kept. */
struct mpr_told mpr_telling_of(struct mpr_telling *telling, struct mpr_arena *arena,
                               struct mpr_path path, bool calls);

/* Returns the outermost call of an allocator that the program has linked under names with a prefix
 * (je_malloc), or NULL if the stack has none. */
const struct mpr_frame *mpr_telling_allocator(struct mpr_telling *telling, struct mpr_path path);

/* "loss.py:41 < model.py:318 < train.py:212": where the program's own calls of a stack are, the
 * innermost first, the first so many; "": it has none. */
const char *mpr_telling_places(struct mpr_telling *telling, struct mpr_arena *arena,
                               struct mpr_path path, size_t most);

/* Returns the innermost call in which `path` differs from `other`; NULL if `other` only has more
 * outer calls. */
const struct mpr_frame *mpr_telling_difference(struct mpr_path path, struct mpr_path other);

/* "std::vector<..>::push_back (a.cpp:1)": of native calls long arguments of templates are left
 * out. */
const struct mpr_frame *mpr_telling_short(struct mpr_arena *arena, const struct mpr_frame *frame);

/* Does the pattern match all of the text?  * is any text. */
bool mpr_telling_matches(const char *pattern, const char *text);
/* Returns the innermost call of a torch.nn.Module, or NULL. */
const struct mpr_frame *mpr_telling_module(struct mpr_path path);

#endif
