/* Frames as tests write them: "f [layers.3] (t.py:3)". Only tests parse such texts. memprof-report
 * makes frames from the log and from symbols. */
#ifndef FRAME_TEXT_H
#define FRAME_TEXT_H

#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "mpf/event.h"

/* Removes "(...)" or "[...]" from the end of the name and returns the text inside. */
static inline const char *frame_text_tail(struct mpr_arena *arena, struct mpr_frame *f, char open)
{
    const char *at = strrchr(f->name, open);
    const char *inside = mpr_arena_format(arena, "%.*s", (int)strlen(at) - 2, at + 1);
    f->name = mpr_arena_format(arena, "%.*s", (int)(at - 1 - f->name), f->name);
    return inside;
}

static inline bool frame_text_has_tail(const char *name, char open, char close)
{
    const char *at = strrchr(name, open);
    return at && at > name && at[-1] == ' ' && at[1] != close && name[strlen(name) - 1] == close;
}

/* Makes a Python call if the source is a .py file, in memory, or a script in bin/, and a native
 * call otherwise. */
static inline void frame_text_place(struct mpr_arena *arena, struct mpr_frame *f, const char *place)
{
    const char *colon = strrchr(place, ':');
    const bool python = strstr(place, ".py:") || *place == '<' || strncmp(place, "bin/", 4) == 0;
    f->kind = python ? MPR_FRAME_PYTHON : MPR_FRAME_NATIVE;
    if (!colon) f->object = place;
    else f->file = mpr_arena_format(arena, "%.*s", (int)(colon - place), place);
    if (colon) f->line = strtoul(colon + 1, NULL, 10);
}

/* @call: makes a native call of a text without a source; otherwise such a text is a range. */
static inline const struct mpr_frame *frame_of(struct mpr_arena *arena, const char *text, bool call)
{
    static const char backward[] = "backward of ";
    struct mpr_frame f = { .kind = call ? MPR_FRAME_NATIVE : MPR_FRAME_RANGE, .name = text };
    const char *plus = strstr(text, "+0x"), *colon = strrchr(text, ':');
    f.is_backward = strncmp(text, backward, strlen(backward)) == 0;
    if (f.is_backward) f.name += strlen(backward);
    if (strncmp(text, MPF_CUT_BEGIN, strlen(MPF_CUT_BEGIN)) == 0) f.kind = MPR_FRAME_CUT;
    else if ((plus && !strchr(text, ' ')) || strncmp(text, "0x", 2) == 0) {
        f.kind = MPR_FRAME_ADDRESS;
        if (plus) f.object = mpr_arena_format(arena, "%.*s", (int)(plus - text), text);
    } else if (frame_text_has_tail(f.name, '(', ')') &&
               (call || strstr(text, ".so") || (colon && strspn(colon + 1, "0123456789")))) {
        frame_text_place(arena, &f, frame_text_tail(arena, &f, '('));
        f.module_first = *f.name == '[';
        if (f.module_first) {
            const char *end = strchr(f.name, ']');
            f.module = mpr_arena_format(arena, "%.*s", (int)(end - f.name - 1), f.name + 1);
            f.name = end + 2;
        } else if (frame_text_has_tail(f.name, '[', ']') && f.kind == MPR_FRAME_PYTHON)
            f.module = frame_text_tail(arena, &f, '[');
    }
    f.text = mpr_arena_text(arena, text);
    return mpr_frame_new(arena, f);
}

static inline struct mpr_path path_of(struct mpr_arena *arena, const char *const *text,
                                      size_t depth, bool calls)
{
    const struct mpr_frame **frame = mpr_arena_alloc(arena, depth * sizeof *frame);
    for (size_t i = 0; i < depth; i++) frame[i] = frame_of(arena, text[i], calls);
    return (struct mpr_path){ frame, depth };
}

#endif
