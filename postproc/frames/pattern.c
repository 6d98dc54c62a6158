#include "pattern.h"

#include <string.h>

#define ARROW   " > "
#define OUTSIDE "**" ARROW

/* The pattern after a star, and the text after what it has matched so far. */
struct star {
    const char *pattern, *text;
};

/* path: a single * does not match beyond the end of a name. */
static bool matches(const char *pattern, const char *text, bool path)
{
    struct star one = { NULL, NULL }, any = { NULL, NULL };
    while (*text) {
        if (*pattern == '*' && (!path || pattern[1] == '*')) {
            pattern += strspn(pattern, "*");
            any = (struct star){ pattern, text };
            one.pattern = NULL;
        } else if (*pattern == '*') {
            one = (struct star){ ++pattern, text };
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (one.pattern && strncmp(one.text, ARROW, strlen(ARROW)) != 0) {
            pattern = one.pattern;
            text = ++one.text;
        } else if (any.pattern) {
            pattern = any.pattern;
            text = ++any.text;
            one.pattern = NULL;
        } else return false;
    }
    return !pattern[strspn(pattern, "*")];
}

bool mpr_pattern_matches(const char *pattern, const char *text)
{
    return matches(pattern, text, false);
}

bool mpr_pattern_matches_path(const char *pattern, const char *path)
{
    if (matches(pattern, path, true)) return true;
    return strncmp(pattern, OUTSIDE, strlen(OUTSIDE)) == 0 &&
           matches(pattern + strlen(OUTSIDE), path, true);
}
