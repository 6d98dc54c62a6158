/* A frame: one name of a path, which is a range, a call, or a label such as a thread's.
 *
 * Frames are made in analysis/reader and never change; a path is an array of pointers to frames,
 * outermost first.  Each part of a name has a field, so that no code parses the text again.  A
 * frame and its texts live as long as the arena in which it was made. */
#ifndef MPR_FRAME_H
#define MPR_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "index.h"

enum mpr_frame_kind {
    MPR_FRAME_LABEL,  /* a thread, a size class, a heap, "(no communicator)" */
    MPR_FRAME_RANGE,  /* NVTX, or PyTorch's record_function */
    MPR_FRAME_OBJECT, /* an object file */
    MPR_FRAME_PYTHON, /* a call; so are the following kinds */
    MPR_FRAME_NATIVE,
    MPR_FRAME_ADDRESS, /* a native call without a name */
    MPR_FRAME_CUT      /* replaces unknown native callers */
};

#define MPR_ANY_LINE UINT64_MAX

/* Texts are never NULL, but "" if unknown. */
struct mpr_frame {
    uint64_t id; /* unique, also after the frame is freed; tables of frames use it as their key */
    enum mpr_frame_kind kind;
    const char *text;   /* all that is shown */
    const char *name;   /* the function, the range, or the thread without its number */
    const char *module; /* PYTHON: the path of its torch.nn module, "layers.3" */
    const char *path;   /* of a call: the whole path of the source, or else of the object file */
    const char *file;   /* the source, as it is shown: "t.py", "torch/nn/modules/module.py" */
    const char *object; /* NATIVE, ADDRESS, OBJECT: the object file, "libfoo.so.1" */
    uint64_t line;      /* in the source, or MPR_ANY_LINE; of a thread: the kernel's number, or 0 */
    bool module_first;  /* "[layers.3] f (t.py:3)", not "f [layers.3] (t.py:3)" */
    bool is_backward;   /* it ran in the backward pass of that function */
};

/* Frames, outermost first.  For a path of depth 0 reports show "outside any range" or the like. */
struct mpr_path {
    const struct mpr_frame *const *frame;
    size_t depth;
};

/* A frame whose texts are all "". */
extern const struct mpr_frame mpr_frame_none;

/* Returns a frame with these fields in the arena.  A NULL field becomes ""; a NULL text is composed
 * of the other fields.  The texts are not copied. */
const struct mpr_frame *mpr_frame_new(struct mpr_arena *arena, struct mpr_frame fields);
/* Returns a frame with only a name, which is not copied. */
const struct mpr_frame *mpr_frame_named(struct mpr_arena *arena, enum mpr_frame_kind kind,
                                        const char *name);
/* Returns a path of labels, which are not copied. */
struct mpr_path mpr_frame_labels(struct mpr_arena *arena, const char *const *label, size_t labels);
/* The words of a frame's text, which has a blank between two of them. */
enum mpr_frame_word_kind {
    MPR_WORD_OTHER,
    MPR_WORD_NAME,
    MPR_WORD_MODULE, /* "[layers.3]" */
    MPR_WORD_PLACE,  /* "(t.py:12)", "(t.py)" for any line */
    MPR_WORD_OBJECT  /* "(libfoo.so)" */
};
struct mpr_frame_word {
    enum mpr_frame_word_kind kind;
    const char *text;         /* without the brackets */
    const char *open, *close; /* the brackets, or "" */
    uint64_t line;            /* follows the text; MPR_ANY_LINE: none */
};
enum { MPR_FRAME_WORDS = 4 };
size_t mpr_frame_words(const struct mpr_frame *frame, struct mpr_frame_word word[MPR_FRAME_WORDS]);

/* Returns the name with the module, if it has one: "Linear.forward [layers.3]". */
const char *mpr_frame_function(struct mpr_arena *arena, const struct mpr_frame *frame);
/* Returns the place of a call: "t.py:12", or the object file if the source is unknown, or "". */
const char *mpr_frame_place(struct mpr_arena *arena, const struct mpr_frame *frame);

static inline bool mpr_frame_is_call(const struct mpr_frame *frame)
{
    return frame->kind >= MPR_FRAME_PYTHON;
}

/* Copies of frames in another arena, one of each frame.  At first only the arena is set. */
struct mpr_frame_copies {
    struct mpr_arena *arena;
    const struct mpr_frame **copy;
    uint32_t count, cap;
    struct mpr_index by_id; /* index in `copy` + 1 */
};
/* Copies a path with its frames and texts. */
struct mpr_path mpr_frame_copy_path(struct mpr_frame_copies *copies, struct mpr_path path);
void mpr_frame_copies_free(struct mpr_frame_copies *copies);

/* Returns the text in which numbers may count similar things (numbered_names.h): the module path of
 * a Python call, the text of a range or label, or "" for other frames. */
const char *mpr_frame_numbered(const struct mpr_frame *frame);
/* Returns the frame with another such text, and with that as its name if the old text was. */
const struct mpr_frame *mpr_frame_renumbered(struct mpr_arena *arena, const struct mpr_frame *frame,
                                             const char *text);

/* Returns the part of a frame that is the same in other builds and runs, so that lines of two runs
 * can be compared.  It is in the arena, or the frame itself.
 *
 *     f (a.c:12)                       f (a.c), because lines move when the file is edited
 *     f.constprop.0 (libfoo.so.1.2)    f (libfoo.so), without the compiler's suffix and the version
 *     f (prog-1.3)                     f, because builds may give the program different names
 *     worker (4243), NCCL 0x9f3c       worker, NCCL, without the numbers of one run
 *
 * @program: the file name of the program that ran, or "" if unknown */
const struct mpr_frame *mpr_frame_stable(struct mpr_arena *arena, const char *program,
                                         const struct mpr_frame *frame);
/* Returns the text of such a frame without its source file, which may have been renamed: "f". */
const char *mpr_frame_stable_function(struct mpr_arena *arena, const struct mpr_frame *stable);

/* Compare the texts of frames and of paths, as strcmp does. */
int mpr_frame_compare(const struct mpr_frame *a, const struct mpr_frame *b);
int mpr_frame_compare_paths(struct mpr_path a, struct mpr_path b);
/* Returns a path of one frame.  The pointer must live as long as the path. */
static inline struct mpr_path mpr_frame_alone(const struct mpr_frame *const *frame)
{
    return (struct mpr_path){ frame, 1 };
}
/* Returns the texts of a path joined by " > ", or "" for an empty path. */
const char *mpr_frame_path_text(struct mpr_arena *arena, struct mpr_path path);

/* ---- patterns of names and paths, from hidden_frames.def and from users */

/* Returns true if the pattern matches the whole text.  * is any text. */
bool mpr_pattern_matches(const char *pattern, const char *text);

/* Does the same for a path whose names are joined by " > ": "step *", "** > forward".  * is any
 * text of one name, ** any text of several names.  "** > " at the beginning also matches no name.
 */
bool mpr_pattern_matches_path(const char *pattern, const char *path);

#endif
