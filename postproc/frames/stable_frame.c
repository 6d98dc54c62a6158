#include "stable_frame.h"

#include <string.h>

static const char *up_to(struct mpr_arena *arena, const char *name, const char *end)
{
    return end && *end ? mpr_arena_format(arena, "%.*s", (int)(end - name), name) : name;
}

/* Returns "libfoo.so" for "libfoo.so.1.2". */
static const char *without_version(struct mpr_arena *arena, const char *object)
{
    const char *so = strstr(object, ".so.");
    return up_to(arena, object, so ? so + strlen(".so") : NULL);
}

/* Returns the function's name without suffixes that a compiler adds when it copies a function or
 * moves a part out of it. */
static const char *function_of(struct mpr_arena *arena, const struct mpr_frame *frame)
{
    static const char *const added[] = { ".constprop.", ".isra.",     ".part.",
                                         ".cold",       ".lto_priv.", " [clone " };
    const char *first = NULL;
    if (frame->kind != MPR_FRAME_NATIVE) return frame->name;
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        const char *at = strstr(frame->name, added[i]);
        if (at && (!first || at < first)) first = at;
    }
    return up_to(arena, frame->name, first);
}

static const struct mpr_frame *in_any_build(struct mpr_arena *arena, const char *program,
                                            const struct mpr_frame *frame)
{
    struct mpr_frame fields = *frame;
    fields.text = NULL;
    fields.line = MPR_ANY_LINE;
    fields.name = function_of(arena, frame);
    fields.object = *program && strcmp(frame->object, program) == 0
                        ? ""
                        : without_version(arena, frame->object);
    return mpr_frame_new(arena, fields);
}

const struct mpr_frame *mpr_frame_stable(struct mpr_arena *arena, const char *program,
                                         const struct mpr_frame *frame)
{
    const char *object = without_version(arena, frame->object);
    switch (frame->kind) {
    case MPR_FRAME_LABEL: return mpr_frame_named(arena, MPR_FRAME_LABEL, frame->name);
    case MPR_FRAME_OBJECT:
        return mpr_frame_new(
            arena,
            (struct mpr_frame){ .kind = MPR_FRAME_OBJECT, .name = object, .object = object });
    case MPR_FRAME_PYTHON:
    case MPR_FRAME_NATIVE: return in_any_build(arena, program, frame);
    default: return frame;
    }
}

const char *mpr_frame_stable_function(struct mpr_arena *arena, const struct mpr_frame *same)
{
    struct mpr_frame fields = *same;
    if (!*same->file) return same->text;
    fields.text = NULL;
    fields.file = fields.object = "";
    return mpr_frame_new(arena, fields)->text;
}
