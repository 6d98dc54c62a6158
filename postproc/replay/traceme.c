/* TSL escapes nothing: a comma is a pair's end only where a key and "=" follow. */
#include "traceme.h"

#include <string.h>

struct piece {
    const char *at, *end;
};

static bool is_key(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Where the value begins; NULL: no key is here. */
static const char *value_of(struct piece pair)
{
    const char *p = pair.at;
    while (p < pair.end && is_key(*p)) p++;
    return p > pair.at && p < pair.end && *p == '=' ? p + 1 : NULL;
}

/* The pair that begins there. */
static struct piece pair_at(const char *at, const char *end)
{
    for (const char *p = at; p < end; p++)
        if (*p == ',' && value_of((struct piece){ p + 1, end })) return (struct piece){ at, p };
    return (struct piece){ at, end };
}

static bool is_number(struct piece value)
{
    for (const char *p = value.at; p < value.end; p++)
        if (*p < '0' || *p > '9') return false;
    return true;
}

static char *put(char *to, const char *separator, struct piece text)
{
    const size_t bytes = (size_t)(text.end - text.at), before = strlen(separator);
    memcpy(to, separator, before);
    memcpy(to + before, text.at, bytes);
    return to + before + bytes;
}

/* "XlaModule" of "XlaModule:#...#". */
static struct piece head_of(const char *name, const char *mark)
{
    const char *end = mark;
    while (end > name && end[-1] == ':') end--;
    return (struct piece){ name, end };
}

bool mpr_traceme_is(const char *name, size_t bytes)
{
    if (bytes < 2 || name[bytes - 1] != '#') return false;
    const char *mark = memchr(name, '#', bytes - 1);
    return mark && mark > name && value_of((struct piece){ mark + 1, name + bytes - 1 });
}

size_t mpr_traceme_plain(const char *name, size_t bytes, char *out)
{
    const char *mark = memchr(name, '#', bytes), *end = name + bytes - 1;
    const struct piece head = head_of(name, mark);
    char *to = put(out, "", head);
    const char *separator = " ";
    for (struct piece pair = pair_at(mark + 1, end);; pair = pair_at(pair.end + 1, end)) {
        const struct piece value = { value_of(pair), pair.end };
        if (!is_number(value)) {
            to = put(to, separator, value);
            separator = ", ";
        }
        if (pair.end == end) return (size_t)(to - out);
    }
}
