#include "instant.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
/* Reports print milliseconds, or more digits: a time with fewer is as long as one of theirs. */
#define WIDEST UINT64_C(1000000)

/* A decimal number times `unit`, exact to the ns; *end is set behind it, *width to what its last
 * digit stands for. */
static bool decimal(const char *text, char **end, uint64_t unit, uint64_t *ns, uint64_t *width)
{
    if (!isdigit((unsigned char)*text)) return false;
    const uint64_t whole = strtoull(text, end, 10);
    uint64_t fraction = 0;
    uint64_t digit = unit;
    if (**end == '.')
        for (++*end; isdigit((unsigned char)**end); ++*end)
            fraction += (uint64_t)(**end - '0') * (digit /= 10);
    *width = digit ? digit : 1;
    return !__builtin_mul_overflow(whole, unit, ns) && !__builtin_add_overflow(*ns, fraction, ns);
}

static bool clock_time(const char *text, uint64_t *ns, uint64_t *width)
{
    uint64_t minutes = 0;
    char *end;
    for (const char *colon; (colon = strchr(text, ':')); text = colon + 1) {
        if (!isdigit((unsigned char)*text)) return false;
        minutes = minutes * 60 + strtoull(text, &end, 10);
        if (end != colon) return false;
    }
    if (minutes > UINT64_MAX / (60 * NS_PER_S) || !decimal(text, &end, NS_PER_S, ns, width) || *end)
        return false;
    return !__builtin_add_overflow(*ns, minutes * 60 * NS_PER_S, ns);
}

/* *width: how much time the last digit stands for. */
static bool parse(const char *text, uint64_t *ns, uint64_t *width)
{
    static const struct {
        const char *suffix;
        uint64_t ns;
    } unit[] = {
        { "", NS_PER_S }, { "s", NS_PER_S }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 }
    };
    if (strchr(text, ':')) return clock_time(text, ns, width);
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        char *end;
        if (decimal(text, &end, unit[i].ns, ns, width) && strcmp(end, unit[i].suffix) == 0)
            return true;
    }
    return false;
}

bool mpr_instant_parse(const char *text, struct mpr_instant *instant)
{
    uint64_t from, width, to;
    if (!parse(text, &from, &width)) return false;
    if (width > WIDEST) width = WIDEST;
    if (__builtin_add_overflow(from, width - 1, &to)) to = UINT64_MAX;
    *instant = (struct mpr_instant){ from, to, false };
    return true;
}
