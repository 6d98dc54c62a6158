#include "unnumbered.h"

#include <string.h>

#include "places.h"

const char *mpr_unnumbered(struct mpr_arena *arena, const char *name)
{
    enum { PLACES = 8 };
    struct mpr_place place[PLACES];
    const size_t places = mpr_places_find(name, place, PLACES), length = strlen(name);
    size_t at = 0, from = 0;
    if (!places) return name;
    char *text = mpr_arena_alloc(arena, length + places * strlen("{n}") + 1);
    for (size_t i = 0; i < places; i++) {
        memcpy(text + at, name + from, place[i].from - from);
        at += place[i].from - from;
        from = place[i].to;
        size_t end = at;
        while (end && strchr(" =:#_-.", text[end - 1])) end--;
        if (from == length && end) at = end;
        else at = (size_t)(stpcpy(text + at, "{n}") - text);
    }
    strcpy(text + at, name + from);
    return text;
}
