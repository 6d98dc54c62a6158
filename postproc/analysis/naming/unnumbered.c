#include "unnumbered.h"

#include <string.h>

#include "places.h"

enum { PLACES = 8 };

/* whole: the text is a name, at whose end nothing is left of the number. */
static const char *without(struct mpr_arena *arena, const char *text, bool whole,
                           const struct mpr_place *place, size_t places)
{
    const size_t length = strlen(text);
    size_t at = 0, from = 0;
    char *out = mpr_arena_alloc(arena, length + places * strlen("{n}") + 1);
    for (size_t i = 0; i < places; i++) {
        memcpy(out + at, text + from, place[i].from - from);
        at += place[i].from - from;
        from = place[i].to;
        size_t end = at;
        while (end && strchr(" =:#_-.", out[end - 1])) end--;
        if (whole && from == length && end) at = end;
        else at = (size_t)(stpcpy(out + at, "{n}") - out);
    }
    strcpy(out + at, text + from);
    return out;
}

const char *mpr_unnumbered(struct mpr_arena *arena, const char *name)
{
    struct mpr_place place[PLACES];
    const size_t places = mpr_places_in_name(name, place, PLACES);
    return places ? without(arena, name, true, place, places) : name;
}

const struct mpr_frame *mpr_unnumbered_frame(struct mpr_arena *arena, const struct mpr_frame *frame)
{
    struct mpr_place place[PLACES];
    const size_t places = mpr_places_find(frame, place, PLACES);
    if (!places) return frame;
    return mpr_frame_renumbered(
        arena, frame, without(arena, mpr_frame_numbered(frame), !*frame->module, place, places));
}
