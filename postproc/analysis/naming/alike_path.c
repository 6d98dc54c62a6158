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
