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

#include "arena.h"

struct mpr_telling;

struct mpr_telling *mpr_telling_new(void);
void mpr_telling_free(struct mpr_telling *telling);
/* One more pattern of plumbing, as in plumbing.def; the text must last. */
void mpr_telling_add(struct mpr_telling *telling, const char *pattern);

/* caller: "" where the stack has none that has a name, or ranges stand for it. */
struct mpr_told {
    const char *const *path;
    size_t depth;
    const char *caller;
};

/* Its path, the caller behind the last name: "serve (a.c:9) <- main". */
const char *const *mpr_told_path(struct mpr_arena *arena, const struct mpr_told *told);

/* calls: all names of the path are calls; else a path that looks like a native stack is one, calls
 * of Python are told by their looks, and what stands before them are ranges, which are kept. */
struct mpr_told mpr_telling_of(struct mpr_telling *telling, struct mpr_arena *arena,
                               const char *const *path, size_t depth, bool calls);

/* Returns the outermost call of an allocator that the program has linked under names with a prefix
 * (je_malloc), or NULL if the stack has none. */
const char *mpr_telling_allocator(struct mpr_telling *telling, const char *const *path,
                                  size_t depth);

/* "loss.py:41 < model.py:318 < train.py:212": where the program's own calls of a stack are, the
 * innermost first, the first so many; "": it has none. */
const char *mpr_telling_places(struct mpr_telling *telling, struct mpr_arena *arena,
                               const char *const *path, size_t depth, size_t most);

/* The innermost call of the one that the other does not have there: "main (t.py:3)"; "" where the
 * other is longer and else the same. */
const char *mpr_telling_difference(struct mpr_arena *arena, const char *const *path, size_t depth,
                                   const char *const *other, size_t other_depth);

/* "std::vector<..>::push_back (a.cpp:1)": arguments of templates that are long are left out. */
const char *mpr_telling_short(struct mpr_arena *arena, const char *frame);

/* That of a call; a range's name as it is.  sure: it is a call, else its looks tell. */
const char *mpr_telling_call(struct mpr_arena *arena, const char *name, bool sure);

/* Does the pattern match all of the text?  * is any text. */
bool mpr_telling_matches(const char *pattern, const char *text);
/* Where " (file.c:12)" or " (libfoo.so)" begins in a frame's text; its end where there is none. */
const char *mpr_telling_source(const char *frame);
/* "libfoo.so+0x12": its object file is all that is known. */
bool mpr_telling_is_nameless(const char *frame);
/* The innermost call of a torch.nn.Module, "f [layers.3] (t.py:3)", and where in its text the
 * module's path is; length 0: there is none. */
struct mpr_told_module {
    const char *frame;
    size_t from, length;
};
struct mpr_told_module mpr_telling_module(const char *const *path, size_t depth);
/* "f (t.py:3)": its source is one of Python's. */
bool mpr_telling_is_python(const char *frame);

#endif
