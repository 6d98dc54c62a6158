#include "matching.h"

#include <string.h>

static const char *up_to(struct mpr_arena *arena, const char *name, const char *end)
{
    return end && *end ? mpr_arena_format(arena, "%.*s", (int)(end - name), name) : name;
}

/* "libfoo.so" of a library that tells its version. */
static const char *without_version(struct mpr_arena *arena, const char *object)
{
    const char *so = strstr(object, ".so.");
    return up_to(arena, object, so ? so + strlen(".so") : NULL);
}

/* Without what a compiler of native code added to the function's name: it copies functions, and
 * takes parts of them out. */
static const char *function_of(struct mpr_arena *arena, const struct mpr_frame *frame)
{
    static const char *const added[] = { ".constprop.", ".isra.",     ".part.",
                                         ".cold",       ".lto_priv.", " [clone " };
    const char *first = NULL;
    if (frame->kind != MPR_FRAME_NATIVE) return mpr_frame_function(arena, frame);
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        const char *at = strstr(frame->name, added[i]);
        if (at && (!first || at < first)) first = at;
    }
    return up_to(arena, frame->name, first);
}

static const char *in_file(struct mpr_arena *arena, const struct mpr_frame *frame,
                           const char *program)
{
    const char *function = function_of(arena, frame);
    if (*frame->file) return mpr_arena_format(arena, "%s (%s)", function, frame->file);
    if (*program && strcmp(frame->object, program) == 0) return function;
    return mpr_arena_format(arena, "%s (%s)", function, without_version(arena, frame->object));
}

const char *mpr_matching_name(struct mpr_arena *arena, const char *program,
                              const struct mpr_frame *frame)
{
    switch (frame->kind) {
    case MPR_FRAME_LABEL: return frame->name;
    case MPR_FRAME_OBJECT: return without_version(arena, frame->object);
    case MPR_FRAME_PYTHON:
    case MPR_FRAME_NATIVE: return in_file(arena, frame, program);
    default: return frame->text;
    }
}

const char *mpr_matching_function(struct mpr_arena *arena, const char *program,
                                  const struct mpr_frame *frame)
{
    return *frame->file ? function_of(arena, frame) : mpr_matching_name(arena, program, frame);
}
