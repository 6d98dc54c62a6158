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

/* Returns the end of a set of folded numbers, "{0..15, 31}" or "{same}", or NULL. */
static const char *set_end(const char *text)
{
    static const char same[] = "{same}", more[] = " of them}";
    if (strncmp(text, same, strlen(same)) == 0) return text + strlen(same);
    if (text[0] != '{' || !strchr("0123456789", text[1]) || !text[1]) return NULL;
    const char *end = text + 1 + strspn(text + 1, "0123456789., ");
    if (*end == '}') return end + 1;
    return strncmp(end - 1, more, strlen(more)) == 0 ? end - 1 + strlen(more) : NULL;
}

/* Replaces each set by one number. */
static const char *without_sets(struct mpr_arena *arena, const char *name)
{
    if (!strchr(name, '{')) return name;
    char *text = mpr_arena_alloc(arena, strlen(name) + 1);
    size_t at = 0;
    while (*name) {
        const char *end = set_end(name);
        text[at++] = end ? '0' : *name;
        name = end ? end : name + 1;
    }
    return text;
}

const char *mpr_alike_path(struct mpr_arena *arena, struct mpr_path path)
{
    const struct mpr_frame **alike = mpr_arena_alloc(arena, path.depth * sizeof *alike);
    for (size_t i = 0; i < path.depth; i++) {
        const char *text = mpr_frame_numbered(path.frame[i]), *one = without_sets(arena, text);
        const struct mpr_frame *frame =
            one == text ? path.frame[i] : mpr_frame_renumbered(arena, path.frame[i], one);
        alike[i] = mpr_unnumbered_frame(arena, frame);
    }
    return mpr_frame_path_text(arena, (struct mpr_path){ alike, path.depth });
}
