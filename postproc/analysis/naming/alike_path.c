#include "alike_path.h"

#include <string.h>

#include "unnumbered.h"

/* The end of what numbers were folded to, "{0..15, 31}", "{same}"; NULL: it is none. */
static const char *set_end(const char *text)
{
    static const char same[] = "{same}", more[] = " of them}";
    if (strncmp(text, same, strlen(same)) == 0) return text + strlen(same);
    if (text[0] != '{' || !strchr("0123456789", text[1]) || !text[1]) return NULL;
    const char *end = text + 1 + strspn(text + 1, "0123456789., ");
    if (*end == '}') return end + 1;
    return strncmp(end - 1, more, strlen(more)) == 0 ? end - 1 + strlen(more) : NULL;
}

/* One number in place of a set: then both are told alike. */
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

const char *mpr_alike_path(struct mpr_arena *arena, const char *const *path, size_t depth)
{
    const char **name = mpr_arena_alloc(arena, depth * sizeof *name);
    for (size_t i = 0; i < depth; i++)
        name[i] = mpr_unnumbered(arena, without_sets(arena, path[i]));
    return mpr_arena_path(arena, name, depth);
}
