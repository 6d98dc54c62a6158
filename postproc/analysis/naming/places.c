/* The rules, each with what it must not take for an index. */
#include "places.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { DIGITS = 9 }; /* more are an id, a time or a hash */

/* Part of a name: numbers are looked for between `from` and `to`. */
struct part {
    const char *from, *to;
    bool modules; /* a path of torch.nn modules, in brackets */
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }
static bool starts_name(char c) { return isalpha((unsigned char)c) || c == '_'; }

/* ---- what a number is behind */

/* Words whose number names one thing of its own: two of them are not alike. */
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

/* "layers.3", "layers.3.0": no version, for it comes after a name that ends in a letter, or before
 * one ("layer1.0.conv1"). */
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

/* ---- what is behind a number */

/* Nothing that makes it a part of a longer number or word: "3.5", "3:30", "3-4", "3rd", "3%". */
static bool ends_well(const struct part *p, const char *to)
{
    if (to == p->to) return true;
    if (strchr(".:-_", *to)) return to + 1 < p->to && !is_digit(to[1]);
    return strchr(" ,;)]}/>", *to) != NULL;
}

static bool is_index(const struct part *p, const char *number, const char *to)
{
    if (to - number > DIGITS || (*number == '0' && to - number > 1)) return false;
    if (p->modules) return is_component(p, number, to);
    if (alone(p, number, to) || in_brackets(p, number, to)) return true;
    if (in_dotted_name(p, number, to) && (to == p->to || !is_word(*to))) return true;
    return ends_well(p, to) && behind_word(p, number);
}

/* ---- frames */

/* A range of PyTorch's own, "torch:FSDP::post_backward_reduce (layers.0)": no frame, and what is in
 * its parentheses no file. */
static bool is_range_of_torch(const char *name)
{
    if (strncmp(name, "FSDP::", 6) == 0) return true;
    return strncmp(name, "torch:", 6) == 0 && name[6] != ':';
}

/* " (file.py:12)" or " (libfoo.so.1)" at the end; NULL: a range's name. */
static const char *source_of(const char *name)
{
    if (is_range_of_torch(name)) return NULL;
    const size_t length = strlen(name);
    const char *open = length && name[length - 1] == ')' ? strrchr(name, '(') : NULL;
    if (!open || open < name + 2 || open[-1] != ' ' ||
        strspn(open + 1, "0123456789") == strlen(open) - 2)
        return NULL;
    return strpbrk(open, ".:") ? open - 1 : NULL;
}

/* Of a frame, the path of its module: "[layers.3] f (x.py:1)" or "f [layers.3] (x.py:1)"; not
 * operator[] or [abi:cxx11]. */
static bool module_path(const char *name, const char *source, struct part *p)
{
    const char *open = *name == '[' ? name : NULL;
    if (!open && source > name && source[-1] == ']') {
        for (open = source - 1; open > name && *open != '['; open--) continue;
        if (open == name || open[-1] != ' ') return false;
    }
    const char *close = open ? strchr(open, ']') : NULL;
    if (!close) return false;
    *p = (struct part){ open + 1, close, true };
    return true;
}

static bool is_address(const char *name)
{
    return strstr(name, "+0x") || strncmp(name, "0x", 2) == 0;
}

static bool part_of(const char *name, struct part *p)
{
    const char *source = source_of(name);
    if (source) return module_path(name, source, p);
    *p = (struct part){ name, name + strlen(name), false };
    return !is_address(name) && !strstr(name, ".so.");
}

static uint64_t number_of(const char *from, const char *to)
{
    uint64_t number = 0;
    for (; from < to; from++) number = number * 10 + (uint64_t)(*from - '0');
    return number;
}

size_t mpr_places_find(const char *name, struct mpr_place *place, size_t cap)
{
    struct part p;
    size_t found = 0;
    if (!part_of(name, &p)) return 0;
    for (const char *at = p.from; at < p.to && found < cap;) {
        const char *to = at;
        while (to < p.to && is_digit(*to)) to++;
        const bool whole = to > at && (at == p.from || !is_digit(at[-1]));
        if (whole && is_index(&p, at, to))
            place[found++] = (struct mpr_place){ (size_t)(at - name), (size_t)(to - name),
                                                 to - at > DIGITS ? 0 : number_of(at, to) };
        at = to > at ? to : at + 1;
    }
    return found;
}
