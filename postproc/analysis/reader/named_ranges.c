#include "named_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "nearest.h"
#include "utf8.h"

enum { NONE = MPR_NAMES_MAX + 1, LISTED = 5, WIDTH = 60 };

void mpr_named_ranges_begin(struct mpr_named_ranges *n, const char *name, const char *other)
{
    *n = (struct mpr_named_ranges){ .repeats = mpr_repeats_new(), .name = { name, other } };
}

void mpr_named_ranges_free(struct mpr_named_ranges *n)
{
    mpr_repeats_free(n->repeats);
    free(n->which);
    *n = (struct mpr_named_ranges){ .repeats = NULL };
}

static uint8_t compare(struct mpr_named_ranges *n, const struct mpr_replay *r, uint32_t node)
{
    for (uint8_t i = 0; i < MPR_NAMES_MAX; i++)
        if (n->name[i] && mpr_repeats_named(n->repeats, r, node, n->name[i])) return i + 1;
    return NONE;
}

uint32_t mpr_named_ranges_which(void *named, const struct mpr_replay *r, uint32_t node)
{
    struct mpr_named_ranges *n = named;
    MPR_REACH(n->which, node, n->nodes);
    if (!n->which[node]) n->which[node] = compare(n, r, node);
    const uint32_t repeat = mpr_repeats_of(n->repeats, r, node);
    if (repeat) n->repeats->repeat[repeat].instances++;
    if (n->which[node] == NONE) return 0;
    n->any = true;
    return n->which[node];
}

/* Returns true if the text is the name without its domain, or without the part after '#': for
 * "torch:Optimizer.step#AdamW.step" that is "Optimizer.step#AdamW.step" or "Optimizer.step". */
static bool is_short_for(const char *text, const char *name)
{
    const size_t length = strlen(text);
    const char *colon = strchr(name, ':'), *from = colon ? colon + 1 : name;
    if (!length) return false;
    if (strncmp(name, text, length) == 0) from = name;
    return strncmp(from, text, length) == 0 && (!from[length] || from[length] == '#');
}

static const char *near(const struct mpr_repeats *s, const char *text)
{
    struct mpr_nearest nearest = { .text = text };
    for (uint32_t i = 0; i < s->names; i++) {
        mpr_nearest_try(&nearest, s->name[i].unnumbered);
        mpr_nearest_try(&nearest, s->name[i].label);
    }
    for (uint32_t i = 0; !nearest.word && i < s->names; i++)
        if (is_short_for(text, s->name[i].unnumbered)) nearest.word = s->name[i].unnumbered;
    return nearest.word;
}

/* Orders ranges: those of the program first, then by the number of instances. */
static bool precedes(const struct mpr_repeat *a, const struct mpr_repeat *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->instances > b->instances;
}

/* Returns the first name in that order that is not listed yet, or NULL. */
static const char *next_name(const struct mpr_repeats *s, const char *const *listed, size_t count)
{
    const struct mpr_repeat *best = NULL;
    for (uint32_t i = 1; i < s->repeats; i++) {
        size_t k = 0;
        while (k < count && strcmp(listed[k], s->repeat[i].name) != 0) k++;
        if (k == count && (!best || precedes(&s->repeat[i], best))) best = &s->repeat[i];
    }
    return best ? best->name : NULL;
}

/* Returns "; found: step; forward; ...". */
static const char *list_names(const struct mpr_repeats *s, struct mpr_arena *arena)
{
    const char *listed[LISTED], *name, *text = "; found: ";
    size_t count = 0;
    while ((name = next_name(s, listed, count)) && count < LISTED) {
        text = mpr_arena_format(arena, "%s%s%s", text, count ? "; " : "",
                                mpr_utf8_shortened(arena, name, WIDTH));
        listed[count++] = name;
    }
    if (!count) return "; the log has no ranges";
    return name ? mpr_arena_format(arena, "%s; ...", text) : text;
}

const char *mpr_named_ranges_hint(const struct mpr_named_ranges *n, struct mpr_arena *arena)
{
    for (size_t i = 0; i < MPR_NAMES_MAX && n->name[i]; i++) {
        const char *word = near(n->repeats, n->name[i]);
        if (word) return mpr_arena_format(arena, "; did you mean %s?", word);
    }
    return list_names(n->repeats, arena);
}
