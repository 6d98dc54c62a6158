#include "numbered_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { DIGITS = 9 }; /* more are an id, a time or a hash */

/* A name in which numbers are looked for. */
struct text {
    const char *from, *to;
    bool modules; /* a path of torch.nn modules */
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }
static bool starts_name(char c) { return isalpha((unsigned char)c) || c == '_'; }

/* ---- the text before a number */

/* Returns true for "batch 3", "bs=3", "step:3", "rank#3", "stage_3", "stage-3", where a word that
 * ends with a letter precedes the number.  False for "12:30", "2026-11", "file.py:88", and after
 * words whose number identifies one thing. */
static bool follows_word(const struct text *p, const char *number)
{
    static const char *const identifies[] = { "pid",  "ppid",    "tid",     "uid", "gid", "fd",
                                              "port", "line",    "version", "v",   "id",  "at",
                                              "addr", "address", "seed",    "of" };
    const char *const end = number - 1, *word = end;
    if (end <= p->from || !strchr(" =:#_-", *end) || !isalpha((unsigned char)end[-1])) return false;
    while (word > p->from && is_word(word[-1])) word--;
    for (size_t i = 0; i < sizeof identifies / sizeof *identifies; i++)
        if (strlen(identifies[i]) == (size_t)(end - word) &&
            strncasecmp(identifies[i], word, (size_t)(end - word)) == 0)
            return false;
    return *end != ':' || word == p->from || word[-1] != '.';
}

/* Returns true for "layers.3", "layers.3.0" and "layer1.0.conv1", and false for versions, which
 * neither follow a name that ends with a letter nor precede a name. */
static bool in_dotted_name(const struct text *p, const char *number, const char *to)
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

/* ---- the text after a number */

/* Returns false if the number is a part of "3.5", "3:30", "3-4", "3rd" or "3%". */
static bool is_complete(const struct text *p, const char *to)
{
    if (to == p->to) return true;
    if (strchr(".:-_", *to)) return to + 1 < p->to && !is_digit(to[1]);
    return strchr(" ,;)]}/>", *to) != NULL;
}

static bool is_index(const struct text *p, const char *number, const char *to)
{
    const bool at_begin = number == p->from, at_end = to == p->to;
    if (to - number > DIGITS || (*number == '0' && to - number > 1)) return false;
    if (p->modules) /* "0", "layers.3", "3.mlp" */
        return (at_begin || number[-1] == '.') && (at_end || *to == '.');
    const bool in_brackets = !at_begin && !at_end && number[-1] == '[' && *to == ']' &&
                             (number - 1 == p->from || number[-2] != ' ');
    if ((at_begin && at_end) || in_brackets) return true;
    if (in_dotted_name(p, number, to) && (to == p->to || !is_word(*to))) return true;
    return is_complete(p, to) && follows_word(p, number);
}

/* ---- names */

static size_t find(const char *text, bool modules, struct mpr_name_number *place, size_t cap)
{
    const struct text p = { text, text + strlen(text), modules };
    size_t found = 0;
    if (!modules && strstr(text, ".so.")) return 0; /* the version of a library */
    for (const char *at = text; at < p.to && found < cap;) {
        const char *to = at;
        uint64_t number = 0;
        for (; to < p.to && is_digit(*to); to++)
            if (to - at < DIGITS) number = number * 10 + (uint64_t)(*to - '0');
        if (to > at && is_index(&p, at, to))
            place[found++] =
                (struct mpr_name_number){ (size_t)(at - text), (size_t)(to - text), number };
        at = to > at ? to : at + 1;
    }
    return found;
}

size_t mpr_numbers_find(const struct mpr_frame *frame, struct mpr_name_number *place, size_t cap)
{
    return find(mpr_frame_numbered(frame), frame->kind == MPR_FRAME_PYTHON, place, cap);
}

const struct mpr_frame *mpr_numbers_replace(struct mpr_arena *arena, const struct mpr_frame *frame,
                                            const struct mpr_name_number *place,
                                            const char *const *by, size_t places)
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

size_t mpr_numbers_in_name(const char *name, struct mpr_name_number *place, size_t cap)
{
    return find(name, false, place, cap);
}

/* ---- names without these numbers */

enum { PLACES = 8 };

/* @whole: the text is a whole name, so a number at its end is removed, and not replaced by "{n}" */
static const char *remove_numbers(struct mpr_arena *arena, const char *text, bool whole,
                                  const struct mpr_name_number *place, size_t places)
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

const char *mpr_name_without_numbers(struct mpr_arena *arena, const char *name)
{
    struct mpr_name_number place[PLACES];
    const size_t places = mpr_numbers_in_name(name, place, PLACES);
    return places ? remove_numbers(arena, name, true, place, places) : name;
}

const struct mpr_frame *mpr_frame_without_numbers(struct mpr_arena *arena,
                                                  const struct mpr_frame *frame)
{
    struct mpr_name_number place[PLACES];
    const size_t places = mpr_numbers_find(frame, place, PLACES);
    if (!places) return frame;
    const char *text =
        remove_numbers(arena, mpr_frame_numbered(frame), !*frame->module, place, places);
    return mpr_frame_renumbered(arena, frame, text);
}

const char *mpr_path_without_numbers(struct mpr_arena *arena, struct mpr_path path)
{
    const struct mpr_frame **alike = mpr_arena_alloc(arena, path.depth * sizeof *alike);
    for (size_t i = 0; i < path.depth; i++)
        alike[i] = mpr_frame_without_numbers(arena, path.frame[i]);
    return mpr_frame_path_text(arena, (struct mpr_path){ alike, path.depth });
}
