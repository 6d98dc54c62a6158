#include "path_pattern.h"

#include <string.h>

#define ARROW   " > "
#define OUTSIDE "**" ARROW

/* The position of a star, and the text that it has matched so far. */
struct star {
    const char *pattern, *text;
};

static bool ends_name(const char *text) { return strncmp(text, ARROW, strlen(ARROW)) == 0; }

static bool matches(const char *pattern, const char *text)
{
    struct star one = { NULL, NULL }, any = { NULL, NULL };
    while (*text) {
        if (strncmp(pattern, "**", 2) == 0) {
            pattern += strspn(pattern, "*");
            any = (struct star){ pattern, text };
            one.pattern = NULL;
        } else if (*pattern == '*') {
            one = (struct star){ ++pattern, text };
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (one.pattern && !ends_name(one.text)) {
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

bool mpr_path_pattern_matches(const char *pattern, const char *path)
{
    if (matches(pattern, path)) return true;
    return strncmp(pattern, OUTSIDE, strlen(OUTSIDE)) == 0 &&
           matches(pattern + strlen(OUTSIDE), path);
}
