/* The rules, each with what it must not take for an index. */
#include "places.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { DIGITS = 9 }; /* more are an id, a time or a hash */

/* Part of a name: numbers are looked for between `from` and `to`. */
struct part {
    const char *from, *to;
    bool modules; /* a path of torch.nn modules */
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }
static bool starts_name(char c) { return isalpha((unsigned char)c) || c == '_'; }

/* ---- the text before a number */

/* Words whose number identifies one thing: two of them are not similar. */
static const char *const names_one[] = { "pid",  "ppid",    "tid",     "uid", "gid", "fd",
                                         "port", "line",    "version", "v",   "id",  "at",
                                         "addr", "address", "seed",    "of" };

static bool names_one_thing(const struct part *p, const char *end)
{
    const char *from = end;
    while (from > p->from && is_word(from[-1])) from--;
    for (size_t i = 0; i < sizeof names_one / sizeof *names_one; i++)
        if (strlen(names_one[i]) == (size_t)(end - from) &&
            strncasecmp(names_one[i], from, (size_t)(end - from)) == 0)
            return true;
    return false;
}

/* "batch 3", "bs=3", "step:3", "rank#3", "stage_3", "stage-3": a word before it that ends in a
 * letter.  Not "12:30", "2026-11", "file.py:88". */
static bool behind_word(const struct part *p, const char *number)
{
    const char *const end = number - 1;
    if (end <= p->from || !strchr(" =:#_-", *end) || !isalpha((unsigned char)end[-1]) ||
        names_one_thing(p, end))
        return false;
    const char *word = end;
    while (word > p->from && is_word(word[-1])) word--;
    return *end != ':' || word == p->from || word[-1] != '.';
}

/* "layers.3", "layers.3.0": not a version, because it follows a name that ends in a letter, or
 * precedes one ("layer1.0.conv1"). */
static bool in_dotted_name(const struct part *p, const char *number, const char *to)
{
    const char *before = number - 1;
    if (before <= p->from || *before != '.') return false;
    if (to + 1 < p->to && *to == '.' && starts_name(to[1])) return is_word(before[-1]);
    const char *component = before;
    while (component > p->from && is_word(component[-1])) component--;
    if (before - component == 2 && strncmp(component, "so", 2) == 0) return false;
    if (starts_name(*component)) return !is_digit(before[-1]);
    return component < before && is_digit(*component) && component > p->from &&
           in_dotted_name(p, component, before);
}

static bool alone(const struct part *p, const char *number, const char *to)
{
    return number == p->from && to == p->to;
}

static bool in_brackets(const struct part *p, const char *number, const char *to)
{
    return number > p->from && number[-1] == '[' && to < p->to && *to == ']' &&
           (number - 1 == p->from || number[-2] != ' ');
}

/* "0", "layers.3", "3.mlp": components of a path of modules. */
static bool is_component(const struct part *p, const char *number, const char *to)
{
    return (number == p->from || number[-1] == '.') && (to == p->to || *to == '.');
}

/* ---- the text after a number */

/* Nothing that makes it a part of a longer number or word: "3.5", "3:30", "3-4", "3rd", "3%". */
static bool ends_well(const struct part *p, const char *to)
{
    if (to == p->to) return true;
    if (strchr(".:-_", *to)) return to + 1 < p->to && !is_digit(to[1]);
    return strchr(" ,;)]}/>", *to) != NULL;
}

/* Part of a file's name. */
static bool is_version(const struct part *p) { return !p->modules && strstr(p->from, ".so."); }

static bool is_index(const struct part *p, const char *number, const char *to)
{
    if (to - number > DIGITS || (*number == '0' && to - number > 1)) return false;
    if (p->modules) return is_component(p, number, to);
    if (alone(p, number, to) || in_brackets(p, number, to)) return true;
    if (in_dotted_name(p, number, to) && (to == p->to || !is_word(*to))) return true;
    return ends_well(p, to) && behind_word(p, number);
}

/* ---- names */

static uint64_t number_of(const char *from, const char *to)
{
    uint64_t number = 0;
    for (; from < to; from++) number = number * 10 + (uint64_t)(*from - '0');
    return number;
}

static size_t find(const struct part *p, struct mpr_place *place, size_t cap)
{
    size_t found = 0;
    if (is_version(p)) return 0;
    for (const char *at = p->from; at < p->to && found < cap;) {
        const char *to = at;
        while (to < p->to && is_digit(*to)) to++;
        const bool whole = to > at && (at == p->from || !is_digit(at[-1]));
        if (whole && is_index(p, at, to))
            place[found++] = (struct mpr_place){ (size_t)(at - p->from), (size_t)(to - p->from),
                                                 to - at > DIGITS ? 0 : number_of(at, to) };
        at = to > at ? to : at + 1;
    }
    return found;
}

size_t mpr_places_find(const struct mpr_frame *frame, struct mpr_place *place, size_t cap)
{
    const char *text = mpr_frame_numbered(frame);
    const struct part p = { text, text + strlen(text), frame->kind == MPR_FRAME_PYTHON };
    return find(&p, place, cap);
}

const struct mpr_frame *mpr_places_replace(struct mpr_arena *arena, const struct mpr_frame *frame,
                                           const struct mpr_place *place, const char *const *by,
                                           size_t places)
{
    const char *from = mpr_frame_numbered(frame), *text = "";
    size_t end = 0;
    for (size_t i = 0; i < places; i++) {
        text = mpr_arena_format(arena, "%s%.*s%s", text, (int)(place[i].from - end), from + end,
                                by[i]);
        end = place[i].to;
    }
    return mpr_frame_renumbered(arena, frame, mpr_arena_format(arena, "%s%s", text, from + end));
}

size_t mpr_places_in_name(const char *name, struct mpr_place *place, size_t cap)
{
    const struct part p = { name, name + strlen(name), false };
    return find(&p, place, cap);
}
